//! Online search: all fingerprints within Hamming distance k of one (section 3 of the paper).

use crate::error::Result;
use crate::router::Candidate;
use crate::segment::Segment;
use crate::table::Scratch;

/// Blocks of all tables together that are asked for ahead of the scan.
const AHEAD: usize = 16;

/// Matches of other tables that a survivor is compared with.
const MAX_KNOWN: usize = 8;

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
    /// Keys of matches in the order of the table at hand.
    known: Vec<u64>,
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
            known: Vec::new(),
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
            let start = self.candidates.len();
            let limit = scan_blocks.saturating_sub(start);
            if !table.descend(query, k, threshold, limit, &mut self.candidates) {
                return false;
            }
            // The first blocks come while the routers of the other tables are descended.
            let first = &self.candidates[start..];
            for candidate in first.iter().take(AHEAD.saturating_sub(start)) {
                table.prefetch_block(candidate.block);
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
        let earlier = self.matches.len();
        let mut ahead = Ahead { segment, tables: &self.tables, next: AHEAD };
        let mut start = 0;
        for &(number, end) in &self.tables {
            let table = &segment.tables()[number];
            let permutation = table.permutation();
            let query = permutation.key(fingerprint);
            // What other tables of this segment have found need not be decoded again.
            self.known.clear();
            let known = self.matches[earlier..].iter().take(MAX_KNOWN);
            self.known.extend(known.map(|found| permutation.key(found.fingerprint)));
            for &candidate in &self.candidates[start..end] {
                ahead.prefetch(&self.candidates);
                let (matches, known) = (&mut self.matches, &self.known[..]);
                let found = |key: u64| {
                    let distance = (key ^ query).count_ones();
                    matches.push(Match { fingerprint: permutation.fingerprint(key), distance });
                };
                let scratch = &mut self.scratch;
                let decoded = table.search_block(candidate, query, k, known, scratch, found)?;
                self.work.blocks_decoded += u64::from(decoded);
            }
            self.work.blocks_scanned += (end - start) as u64;
            start = end;
        }
        Ok(())
    }
}

/// Asks for blocks of all tables, one after the other.
struct Ahead<'a> {
    segment: &'a Segment,
    /// The tables whose candidates are still to come, and where they end.
    tables: &'a [(usize, usize)],
    /// Number of the next candidate.
    next: usize,
}

impl Ahead<'_> {
    /// Asks for the next candidate.
    #[inline]
    fn prefetch(&mut self, candidates: &[Candidate]) {
        while let [(number, end), rest @ ..] = self.tables {
            if self.next < *end {
                self.segment.tables()[*number].prefetch_block(candidates[self.next].block);
                break;
            }
            self.tables = rest;
        }
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::format::{MANIFEST_NAME, Manifest, table_name};
    use crate::store::{Packer, Store};

    /// A store whose segments are these sets.
    fn store_of_segments(path: &Path, sets: &[&[u64]]) -> Store {
        let mut whole = Manifest { radius: 3, next_segment: 1, segments: Vec::new() };
        fs::create_dir(path).unwrap();
        for set in sets {
            let part = path.join("part");
            Packer::new().pack(&part, *set).unwrap();
            let manifest = Manifest::decode(&fs::read(part.join(MANIFEST_NAME)).unwrap()).unwrap();
            let mut segment = manifest.segments[0].clone();
            for table in 0..segment.tables.len() {
                let name = table_name(whole.next_segment, table);
                fs::rename(part.join(table_name(1, table)), path.join(name)).unwrap();
            }
            segment.number = whole.next_segment;
            whole.segments.push(segment);
            whole.next_segment += 1;
            fs::remove_dir_all(part).unwrap();
        }
        fs::write(path.join(MANIFEST_NAME), whole.encode()).unwrap();
        Store::open(path).unwrap()
    }

    #[test]
    fn a_match_in_one_segment_hides_none_with_the_same_low_bits_in_another() {
        let temporary = tempfile::tempdir().unwrap();
        // Alike but for bit 10, which both tables keep out of the low column of one of them.
        let (one, other) = (0x8000_0000_8000_0000, 0x8020_0000_8000_0000);
        let sets: [&[u64]; 2] = [&[1, one, u64::MAX], &[1, other, u64::MAX]];
        let store = store_of_segments(&temporary.path().join("store"), &sets);
        let pair = |fingerprint: u64, distance| Match { fingerprint, distance };
        assert_eq!(store.search(one, 2).unwrap(), [pair(one, 0), pair(other, 1)]);
        assert_eq!(store.search(other, 2).unwrap(), [pair(other, 0), pair(one, 1)]);
        // What stands in both is found once.
        assert_eq!(store.search(u64::MAX, 0).unwrap(), [pair(u64::MAX, 0)]);
        let all: Vec<u64> = store.iter().collect::<Result<_>>().unwrap();
        assert_eq!(all, [1, one, other, u64::MAX]);
    }
}
