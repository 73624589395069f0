//! Online search: all fingerprints within Hamming distance k of one (section 3 of the paper).

use crate::error::Result;
use crate::router::Candidate;
use crate::segment::Segment;
use crate::table::Scratch;

/// Blocks that are asked for ahead of the scan.
const AHEAD: usize = 8;

/// A stored fingerprint near a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    /// The stored fingerprint.
    pub fingerprint: u64,
    /// Its Hamming distance from the query, in bits.
    pub distance: u32,
}

/// Searches a store again and again without allocating: it keeps its buffers from one query to the
/// next.
///
/// One searcher serves one thread at a time; each thread makes its own with
/// [`Store::searcher`](crate::Store::searcher).
pub struct Searcher<'a> {
    segments: &'a [Segment],
    candidates: Vec<Candidate>,
    /// For each table that was descended, its number and the end of its candidates.
    tables: Vec<(usize, usize)>,
    scratch: Scratch,
    matches: Vec<Match>,
    work: SearchWork,
}

/// What the last search of a [`Searcher`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchWork {
    /// Blocks whose low columns were compared.
    pub blocks_scanned: u64,
    /// Blocks that were decoded, at least in part.
    pub blocks_decoded: u64,
    /// Segments of which one table was scanned whole, since descending would have touched more.
    pub full_scans: u64,
}

impl<'a> Searcher<'a> {
    pub(crate) fn new(segments: &'a [Segment]) -> Self {
        Self {
            segments,
            candidates: Vec::new(),
            tables: Vec::new(),
            scratch: Scratch::default(),
            matches: Vec::new(),
            work: SearchWork::default(),
        }
    }

    /// All stored fingerprints within `k` of `fingerprint`, by distance, then by value. `k` over 64
    /// is 64.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a block that is needed is damaged.
    pub fn search(&mut self, fingerprint: u64, k: u32) -> Result<&[Match]> {
        self.search_with(fingerprint, k, false)
    }

    /// As [`Self::search`], reading every column of one table instead of descending. The answer is
    /// the same; it is there to measure and to check.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn search_by_scan(&mut self, fingerprint: u64, k: u32) -> Result<&[Match]> {
        self.search_with(fingerprint, k, true)
    }

    /// What the last search did.
    pub fn work(&self) -> SearchWork {
        self.work
    }

    fn search_with(&mut self, fingerprint: u64, k: u32, by_scan: bool) -> Result<&[Match]> {
        let k = k.min(64);
        self.matches.clear();
        self.work = SearchWork::default();
        for segment in self.segments {
            if by_scan || !self.descend(segment, fingerprint, k) {
                self.plan_scan(segment, k);
            }
            self.search_candidates(segment, fingerprint, k)?;
        }
        self.matches.sort_unstable_by_key(|found| (found.distance, found.fingerprint));
        self.matches.dedup();
        Ok(&self.matches)
    }

    /// Collects the blocks of all tables that can hold matches; false if a scan touches fewer.
    fn descend(&mut self, segment: &Segment, fingerprint: u64, k: u32) -> bool {
        let Some(thresholds) = segment.thresholds(k) else { return false };
        self.candidates.clear();
        self.tables.clear();
        let scan_blocks = segment.identity().block_count() as usize;
        for (number, (table, threshold)) in segment.tables().iter().zip(thresholds).enumerate() {
            let Some(threshold) = *threshold else { continue };
            let query = table.permutation().key(fingerprint);
            let limit = scan_blocks.saturating_sub(self.candidates.len());
            if !table.descend(query, k, threshold, limit, &mut self.candidates) {
                return false;
            }
            self.tables.push((number, self.candidates.len()));
        }
        true
    }

    /// Makes every block of the identity table a candidate.
    fn plan_scan(&mut self, segment: &Segment, k: u32) {
        self.work.full_scans += 1;
        self.candidates.clear();
        self.tables.clear();
        let blocks = segment.identity().block_count() as u32;
        self.candidates.extend((0..blocks).map(|block| Candidate { block, budget: k }));
        self.tables.push((0, self.candidates.len()));
    }

    fn search_candidates(&mut self, segment: &Segment, fingerprint: u64, k: u32) -> Result<()> {
        let mut start = 0;
        for &(number, end) in &self.tables {
            let table = &segment.tables()[number];
            let permutation = table.permutation();
            let query = permutation.key(fingerprint);
            let candidates = &self.candidates[start..end];
            candidates.iter().take(AHEAD).for_each(|c| table.prefetch_block(c.block));
            for (i, &candidate) in candidates.iter().enumerate() {
                if let Some(next) = candidates.get(i + AHEAD) {
                    table.prefetch_block(next.block);
                }
                let matches = &mut self.matches;
                let decoded =
                    table.search_block(candidate, query, k, &mut self.scratch, |key| {
                        let distance = (key ^ query).count_ones();
                        matches.push(Match { fingerprint: permutation.fingerprint(key), distance });
                    })?;
                self.work.blocks_decoded += u64::from(decoded);
            }
            self.work.blocks_scanned += (end - start) as u64;
            start = end;
        }
        Ok(())
    }
}
