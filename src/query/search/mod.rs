//! Online search: all fingerprints within Hamming distance k of one (section 3 of the paper).

mod amounts;
mod ask;
mod descended;
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
mod work;

use std::time::Instant;

use ask::Ask;
pub use explain::SegmentSearched;
use segment::SegmentSearch;
pub use work::SearchWork;

use crate::costs::DiskCosts;
use crate::error::Result;
use crate::execution::Stop;
use crate::fingerprint::Fingerprint;
use crate::snapshot::Snapshot;
use crate::snapshot::union::{self, Match};

/// Of so many searches that did not wait for the disk, one is timed: a clock takes as long as some
/// blocks.
const TIMED: u32 = 16;

/// Searches a snapshot again and again without allocating: it keeps its buffers from one query to
/// the next.
///
/// One searcher serves one thread at a time; each thread makes its own with [`Snapshot::searcher`].
pub struct Searcher<F: Fingerprint = u64> {
    snapshot: Snapshot<F>,
    search: SegmentSearch<F>,
    stop: Stop,
    /// What waiting for the disk costs.
    costs: DiskCosts,
    /// Whether the last search that was timed seems to have waited for the disk.
    cold: bool,
    /// Searches until one is timed.
    untimed: u32,
}

impl<F: Fingerprint> Searcher<F> {
    pub(crate) fn new(snapshot: Snapshot<F>, costs: &DiskCosts) -> Self {
        let (search, stop) = (SegmentSearch::new(), Stop::default());
        Self { snapshot, search, stop, costs: *costs, cold: false, untimed: 0 }
    }

    /// Searches another snapshot from now on.
    pub(crate) fn turn_to(&mut self, snapshot: Snapshot<F>) {
        self.snapshot = snapshot;
    }

    /// Stops, as work does of which it is a part.
    pub(crate) fn stopped_by(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Builds no hot indexes: their memory is not that of the work of which this is a part.
    pub(crate) fn building_no_hot(mut self) -> Self {
        self.search.tables.builds_hot = false;
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
    /// then `None`. The matches that are held are hardly more.
    pub(crate) fn search_up_to(
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

    /// Whether searches descend the routers even where there is a hot index. The answers are the
    /// same; it is there to measure and to check: what a [`Planner`](crate::Planner) predicts of a
    /// search are descents.
    pub fn by_descents(&mut self, always: bool) {
        self.search.tables.uses_hot = !always;
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
        let Self { snapshot, search, stop, costs, cold, untimed } = self;
        stop.check()?;
        let start = (*cold || *untimed == 0).then(Instant::now);
        for segment in snapshot.segments() {
            if by_scan {
                search.scan(segment, ask, stop)?;
            } else {
                search.search(segment, ask, *cold, stop)?;
            }
            if search.gives_up(ask) {
                break;
            }
        }
        if !search.gives_up(ask) {
            search.search_tails(snapshot.parts(), ask);
        }
        *untimed = untimed.checked_sub(1).unwrap_or(TIMED - 1);
        if let Some(start) = start {
            let warm_ns = costs.waited_ns + costs.waited_block_ns * search.work().looks() as f64;
            *cold = start.elapsed().as_nanos() as f64 > warm_ns;
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
