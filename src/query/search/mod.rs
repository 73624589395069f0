//! Online search: all fingerprints within Hamming distance k of one (section 3 of the paper).

mod descent;
mod explain;
mod hot;
mod leads;
mod nearest;
mod scan;
mod segment;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod waiting;
mod work;

use std::time::Instant;

pub use explain::SegmentSearched;
use segment::SegmentSearch;
use waiting::Waiting;
use work::Ask;
pub use work::SearchWork;

use crate::costs::DiskCosts;
use crate::error::Result;
use crate::execution::Stop;
use crate::fingerprint::Fingerprint;
use crate::segment::AccessPath;
use crate::snapshot::Snapshot;
use crate::snapshot::union::{self, Match};

/// Searches a snapshot again and again without allocating: it keeps its buffers from one query to
/// the next.
///
/// One searcher serves one thread at a time; each thread makes its own with [`Snapshot::searcher`].
pub struct Searcher<F: Fingerprint = u64> {
    snapshot: Snapshot<F>,
    search: SegmentSearch<F>,
    stop: Stop,
    waiting: Waiting,
    /// The path that searches are to take, where there is one.
    forced: Option<AccessPath>,
}

impl<F: Fingerprint> Searcher<F> {
    pub(crate) fn new(snapshot: Snapshot<F>, costs: &DiskCosts) -> Self {
        let (search, stop) = (SegmentSearch::new(), Stop::default());
        Self { snapshot, search, stop, waiting: Waiting::new(costs), forced: None }
    }

    /// Searches another snapshot from now on, with the buffers that it has.
    pub fn turn_to(&mut self, snapshot: Snapshot<F>) {
        self.snapshot = snapshot;
    }

    /// Stops, as work does of which it is a part.
    pub(crate) fn stopped_by(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Builds no hot indexes and no filters: their memory is not that of the work of which this is
    /// a part.
    pub(crate) fn building_nothing(mut self) -> Self {
        self.search.tables.builds = false;
        self
    }

    /// All stored fingerprints within `k` of `fingerprint`, by distance, then by value. `k` over
    /// the width is the width.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a block that is needed is damaged;
    /// [`Error::DeadlineExceeded`](crate::Error::DeadlineExceeded) after the
    /// [deadline](Self::deadline).
    pub fn search(&mut self, fingerprint: F, k: u32) -> Result<&[Match<F>]> {
        self.ask(Ask { fingerprint, k: k.min(F::BITS), most: usize::MAX }, false)
    }

    /// As [`Self::search`], unless more than `most` matches are found, some perhaps several times:
    /// then `None`. Memory is that of hardly more than `most` matches, however many there are.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn search_up_to(
        &mut self,
        fingerprint: F,
        k: u32,
        most: usize,
    ) -> Result<Option<&[Match<F>]>> {
        let ask = Ask { fingerprint, k: k.min(F::BITS), most };
        self.search.clear();
        self.run(ask, false)?;
        // Before those that were found several times become one.
        if self.search.gives_up(ask) {
            return Ok(None);
        }
        union::of_matches(self.snapshot.parts(), &mut self.search.matches)?;
        Ok(Some(&self.search.matches))
    }

    /// Whether any stored fingerprint is within `k` of `fingerprint`; `k` over the width is the
    /// width. Looks into one table after the other, and ends with the first match.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn any_within(&mut self, fingerprint: F, k: u32) -> Result<bool> {
        // Where something may be hidden, the first match may be.
        let most = if self.snapshot.parts().hides() { usize::MAX } else { 0 };
        let found = self.ask(Ask { fingerprint, k: k.min(F::BITS), most }, false);
        found.map(|matches| !matches.is_empty())
    }

    /// As [`Self::search`], reading every column of one table instead of descending. The answer is
    /// the same; it is there to measure and to check.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn search_by_scan(&mut self, fingerprint: F, k: u32) -> Result<&[Match<F>]> {
        self.ask(Ask { fingerprint, k: k.min(F::BITS), most: usize::MAX }, true)
    }

    /// The path that searches take, in segments that have it; `None` for the one that is chosen.
    /// The answers are the same; it is there to measure and to check.
    ///
    /// [`AccessPath::Tables`] goes without what is in memory, which is what a
    /// [`Planner`](crate::plan::Planner) predicts of a search. [`AccessPath::Filters`] builds them
    /// now, whatever memory they take, unless the files are read into memory.
    pub fn force(&mut self, path: Option<AccessPath>) {
        self.forced = path;
        self.search.tables.uses.hot_index = matches!(path, None | Some(AccessPath::HotIndex));
        if path == Some(AccessPath::Filters) {
            self.snapshot.segments().iter().for_each(|segment| segment.build_filters());
        }
    }

    /// The time at which a search gives up, if there is one: it is looked at again after some
    /// dozens of blocks, that is within microseconds, or what the disk takes to bring one.
    pub fn deadline(&mut self, deadline: Option<Instant>) {
        self.stop = Stop::at(deadline);
    }

    /// Whether searches count [`SearchWork::bytes_touched`], by the average number of keys in a
    /// block. Takes a nanosecond or so per block.
    pub fn count_bytes(&mut self, count: bool) {
        self.search.tables.counts_bytes = count;
    }

    /// What the last search did.
    pub fn work(&self) -> SearchWork {
        self.search.work()
    }

    /// What is searched.
    pub fn snapshot(&self) -> &Snapshot<F> {
        &self.snapshot
    }

    fn ask(&mut self, ask: Ask<F>, by_scan: bool) -> Result<&[Match<F>]> {
        self.search.clear();
        self.run(ask, by_scan)?;
        union::of_matches(self.snapshot.parts(), &mut self.search.matches)?;
        Ok(&self.search.matches)
    }

    /// Gathers the matches of all segments, some perhaps several times.
    fn run(&mut self, ask: Ask<F>, by_scan: bool) -> Result<()> {
        let Self { snapshot, search, stop, waiting, forced } = self;
        stop.check()?;
        search.tables.uses.filters = uses_filters(*forced, waiting);
        let begun = waiting.begin();
        for segment in snapshot.segments() {
            if by_scan || *forced == Some(AccessPath::Scan) {
                search.scan(segment, ask, stop)?;
            } else {
                search.search(segment, ask, waiting.is_cold(), stop)?;
            }
            if search.gives_up(ask) {
                break;
            }
        }
        // Tails are in memory: a long one is no sign that segments wait for the disk.
        if search.tables.went_by_filters {
            waiting.end_filtered();
        } else if let Some(waited_ns) =
            begun.and_then(|begun| waiting.end(begun, search.work().looks()))
            && search.tables.builds
        {
            let of_each = waited_ns / snapshot.segments().len().max(1) as f64;
            snapshot.segments().iter().for_each(|segment| segment.waited(of_each));
        }
        if !search.gives_up(ask) {
            search.search_tails(snapshot.parts(), ask);
        }
        Ok(())
    }

    /// Bytes that a searcher of a snapshot may take, but for the matches, and 8 for each candidate
    /// block.
    pub(crate) fn most_bytes(snapshot: &Snapshot<F>) -> u64 {
        let segments = snapshot.segments().iter();
        segments.map(|segment| segment::most_bytes(segment)).max().unwrap_or(0)
    }
}

/// Whether a search goes by filters, where there are some.
fn uses_filters(forced: Option<AccessPath>, waiting: &Waiting) -> bool {
    forced.map_or_else(|| waiting.uses_filters(), |path| path == AccessPath::Filters)
}
