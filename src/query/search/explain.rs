//! What a search does in each segment, beside what it was predicted to take.

use std::time::Instant;

use super::work::{Ask, SearchWork};
use super::{Searcher, uses_filters};
use crate::costs::Costs;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::segment::AccessPath;

/// What a search did in a segment ([`Searcher::explain`]).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SegmentSearched {
    /// Number of the segment.
    pub segment: u64,
    /// Distinct fingerprints that it holds.
    pub fingerprints: u64,
    /// The way that was chosen.
    pub path: AccessPath,
    /// The predicted time, with a match, in nanoseconds: with all that it touches in memory, unless
    /// the searches before have waited for the disk.
    pub predicted_ns: f64,
    /// The time that it took, in nanoseconds.
    pub ns: f64,
    /// What it did. A [full scan](SearchWork::full_scans) by another path is its second choice: it
    /// would have touched more blocks than there are.
    pub work: SearchWork,
    /// What it found, some perhaps several times.
    pub matches: usize,
}

impl<F: Fingerprint> Searcher<F> {
    /// Searches as [`Self::search`] does, and tells of each segment how: `EXPLAIN ANALYZE` of a
    /// database. What was written last stands in no segment yet, and is left out.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn explain(&mut self, fingerprint: F, k: u32) -> Result<Vec<SegmentSearched>> {
        let ask = Ask { fingerprint, k: k.min(F::BITS), most: usize::MAX };
        let costs = Costs::shipped();
        let Self { snapshot, search, stop, waiting, forced } = self;
        search.tables.uses.filters = uses_filters(*forced, waiting);
        let mut explained = Vec::new();
        for segment in snapshot.segments() {
            search.clear();
            let path = segment.path(ask.k, search.tables.uses);
            let disk_ns = if waiting.is_cold() { segment.disk_ns(ask.k, costs) } else { 0.0 };
            let predicted_ns = segment.path_ns(path, ask.k, &costs.search) + disk_ns;
            let start = Instant::now();
            search.search(segment, ask, waiting.is_cold(), stop)?;
            let ns = start.elapsed().as_nanos() as f64;
            let (work, matches) = (search.work(), search.matches.len());
            let (segment, fingerprints) = (segment.number(), segment.count());
            explained.push(SegmentSearched {
                segment,
                fingerprints,
                path,
                predicted_ns,
                ns,
                work,
                matches,
            });
        }
        Ok(explained)
    }
}
