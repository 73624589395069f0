//! Online search: all fingerprints within Hamming distance k of one (section 3 of the paper).

use std::ops::Range;
use std::time::Instant;

use crate::block::{Candidate, Reading};
use crate::costs::DiskCosts;
use crate::error::Result;
use crate::router::Probe;
use crate::segment::Segment;
use crate::table::Table;

/// Blocks of all tables together that are asked for ahead of the scan.
const AHEAD: usize = 8;
/// Blocks of all tables together whose pages are asked for before the first is scanned.
const PAGES_AHEAD: usize = 64;
/// Bytes of a page, as far as is known here.
const PAGE_BYTES: usize = 4096;

/// Survivors of the first planes that are gathered before they are looked into. The bytes that this
/// takes are on their way meanwhile.
const GATHERED: usize = 256;

/// Blocks that are sifted before the survivors are counted, and keys that these may hold, unless it
/// is a single block: each may survive.
const SIFTED: usize = 64;
const SIFTED_KEYS: u64 = 1 << 17;
/// [`SIFTED`] blocks of so many bytes, with a column, hold no more keys than that.
const SMALL_BLOCK_BYTES: u32 = 2048;

/// Blocks without a column that are decoded together, where they are adjacent.
const SIDE_BY_SIDE: usize = 4;
/// Blocks of a scan that are candidates at a time.
const SCANNED: usize = 1 << 16;

/// Of so many searches that did not wait for the disk, one is timed: a clock takes as long as some
/// blocks.
const TIMED: u32 = 16;

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
    /// The tables that are descended.
    tables: Vec<Descended>,
    probes: Vec<Probe>,
    candidates: Vec<Candidate>,
    reading: Reading,
    numbers: Vec<u32>,
    /// Keys of a block that is decoded whole.
    decoded: Vec<u64>,
    survivors: Vec<Survivor>,
    matches: Vec<Match>,
    /// Keys of matches in the order of the table at hand.
    known: Vec<u64>,
    work: SearchWork,
    counts_bytes: bool,
    /// What waiting for the disk costs.
    costs: DiskCosts,
    /// Whether the last search that was timed seems to have waited for the disk.
    cold: bool,
    /// Searches until one is timed.
    untimed: u32,
    /// Whether one match is enough.
    any: bool,
    /// Matches, as often as they are found, after which a search gives up; and whether it has.
    most: usize,
    gave_up: bool,
}

/// A table that a search descends.
struct Descended {
    number: usize,
    /// The query in the order of the table.
    query: u64,
    threshold: u32,
    /// The end of its probes and of its candidates among those of all tables.
    probes_end: usize,
    candidates_end: usize,
}

/// A key that may be near, by what has been compared of it.
struct Survivor {
    /// Number of its block among the candidates of all tables.
    candidate: u32,
    /// Its number in the block.
    number: u32,
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
    /// Bytes of blocks that were read: headers, the columns as far as they were compared, and of
    /// decoded blocks the rest. 0 unless [`Searcher::count_bytes`] asked for them.
    pub bytes_touched: u64,
}

impl<'a> Searcher<'a> {
    pub(crate) fn new(segments: &'a [Segment], costs: &DiskCosts) -> Self {
        Self {
            segments,
            tables: Vec::new(),
            probes: Vec::new(),
            candidates: Vec::new(),
            reading: Reading::Parts,
            numbers: Vec::new(),
            decoded: Vec::new(),
            survivors: Vec::new(),
            matches: Vec::new(),
            known: Vec::new(),
            work: SearchWork::default(),
            counts_bytes: false,
            costs: *costs,
            cold: false,
            untimed: 0,
            any: false,
            most: usize::MAX,
            gave_up: false,
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

    /// As [`Self::search`], unless more than `most` matches are found, some perhaps several times:
    /// then `None`. The matches that are held are hardly more.
    pub(crate) fn search_up_to(
        &mut self,
        fingerprint: u64,
        k: u32,
        most: usize,
    ) -> Result<Option<&[Match]>> {
        self.most = most;
        let found = self.search_with(fingerprint, k, false).map(|_| ());
        self.most = usize::MAX;
        found?;
        Ok((!self.gave_up).then_some(&self.matches))
    }

    /// Whether any stored fingerprint is within `k` of `fingerprint`; `k` over 64 is 64. Looks into one
    /// table after the other, and ends with the first match.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn any_within(&mut self, fingerprint: u64, k: u32) -> Result<bool> {
        self.any = true;
        let found = self.search_with(fingerprint, k, false).map(|matches| !matches.is_empty());
        self.any = false;
        found
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

    /// Whether searches count [`SearchWork::bytes_touched`], by the average number of keys in a block.
    /// Takes a nanosecond or so per block.
    pub fn count_bytes(&mut self, count: bool) {
        self.counts_bytes = count;
    }

    /// What the last search did.
    pub fn work(&self) -> SearchWork {
        self.work
    }

    fn search_with(&mut self, fingerprint: u64, k: u32, by_scan: bool) -> Result<&[Match]> {
        let k = k.min(64);
        self.matches.clear();
        // An error may have left these.
        self.numbers.clear();
        self.survivors.clear();
        self.work = SearchWork::default();
        let start = (self.cold || self.untimed == 0).then(Instant::now);
        for segment in self.segments {
            if by_scan || !self.descend(segment, fingerprint, k) {
                self.scan(segment, fingerprint, k)?;
            } else {
                self.search_candidates(segment, k, self.matches.len())?;
            }
            if self.is_done() {
                break;
            }
        }
        self.untimed = self.untimed.checked_sub(1).unwrap_or(TIMED - 1);
        if let Some(start) = start {
            let blocks = self.work.blocks_scanned as f64;
            let warm_ns = self.costs.waited_ns + self.costs.waited_block_ns * blocks;
            self.cold = start.elapsed().as_nanos() as f64 > warm_ns;
        }
        // Before those that were found several times become one.
        self.gave_up = self.matches.len() > self.most;
        self.matches.sort_unstable_by_key(|found| (found.distance, found.fingerprint));
        self.matches.dedup();
        Ok(&self.matches)
    }

    /// Collects the blocks of all tables that can hold matches; false if a scan touches fewer.
    fn descend(&mut self, segment: &Segment, fingerprint: u64, k: u32) -> bool {
        let Some(thresholds) = segment.thresholds(k) else { return false };
        self.reading = Reading::Parts;
        self.tables.clear();
        self.probes.clear();
        self.candidates.clear();
        for (number, (table, threshold)) in segment.tables().iter().zip(thresholds).enumerate() {
            let Some(threshold) = *threshold else { continue };
            let query = table.permutation().key(fingerprint);
            table.probe(query, k, threshold, &mut self.probes);
            let probes_end = self.probes.len();
            self.tables.push(Descended { number, query, threshold, probes_end, candidates_end: 0 });
        }
        let scan_blocks = segment.identity().block_count() as usize;
        let mut probes_start = 0;
        for descended in &mut self.tables {
            let table = &segment.tables()[descended.number];
            let start = self.candidates.len();
            let limit = scan_blocks.saturating_sub(start);
            let Descended { query, threshold, probes_end, .. } = *descended;
            let probes = &self.probes[probes_start..probes_end];
            if !table.descend(query, k, threshold, probes, limit, &mut self.candidates) {
                return false;
            }
            probes_start = probes_end;
            descended.candidates_end = self.candidates.len();
        }
        self.prefetch_first(segment);
        // Where blocks are not in memory, all of them are on their way together.
        let mut start = 0;
        for &Descended { number, candidates_end, .. } in &self.tables {
            segment.tables()[number].will_need(&self.candidates[start..candidates_end], self.cold);
            start = candidates_end;
        }
        true
    }

    /// Asks for the first candidates. Where the CPU has to look up the address of a page, a request
    /// holds up all that follows, but several go on together if one comes right after the other; so
    /// the first line of each page comes before all else.
    fn prefetch_first(&self, segment: &Segment) {
        let mut start = 0;
        for &Descended { number, candidates_end, .. } in &self.tables {
            let table = &segment.tables()[number];
            let end = candidates_end.min(PAGES_AHEAD).max(start);
            prefetch_pages(table, &self.candidates[start..end]);
            start = candidates_end;
        }
        let mut start = 0;
        for &Descended { number, candidates_end, .. } in &self.tables {
            for &candidate in &self.candidates[start..candidates_end.min(AHEAD).max(start)] {
                segment.tables()[number].prefetch_block(candidate);
            }
            start = candidates_end;
        }
    }

    /// Whether the matches that were found are enough, or too many.
    fn is_done(&self) -> bool {
        self.matches.len() > if self.any { 0 } else { self.most }
    }

    /// Searches all blocks of the identity table.
    fn scan(&mut self, segment: &Segment, fingerprint: u64, k: u32) -> Result<()> {
        self.work.full_scans += 1;
        self.reading = Reading::Whole;
        let earlier = self.matches.len();
        let blocks = segment.identity().block_count() as u32;
        for start in (0..blocks).step_by(SCANNED) {
            let part = start..blocks.min(start.saturating_add(SCANNED as u32));
            self.candidates.clear();
            self.candidates.extend(part.map(|block| Candidate { block, budget: k }));
            self.tables.clear();
            self.tables.push(Descended {
                number: 0,
                query: fingerprint,
                threshold: k,
                probes_end: 0,
                candidates_end: self.candidates.len(),
            });
            self.search_candidates(segment, k, earlier)?;
            if self.is_done() {
                break;
            }
        }
        Ok(())
    }

    /// Finds the matches in the candidates; those from number `earlier` on are of this segment.
    fn search_candidates(&mut self, segment: &Segment, k: u32, earlier: usize) -> Result<()> {
        if self.counts_bytes {
            self.work.bytes_touched += self.scanned_bytes(segment);
        }
        let mut ahead = Ahead::new();
        let mut start = 0;
        let mut looked_into = 0;
        for at in 0..self.tables.len() {
            let Descended { number, query, candidates_end, .. } = self.tables[at];
            let table = &segment.tables()[number];
            if table.geometry().planes() == 0 {
                start = self.decode_candidates(table, query, k, start..candidates_end)?;
                if self.is_done() {
                    break;
                }
                continue;
            }
            let table_start = start;
            // Divisions take as long as some blocks.
            let sifted = match table.geometry().block_bytes {
                ..=SMALL_BLOCK_BYTES => SIFTED,
                _ => (SIFTED_KEYS / table.geometry().most_keys()).clamp(1, SIFTED as u64) as usize,
            };
            while start < candidates_end {
                let end = candidates_end.min(start + sifted);
                if self.reading == Reading::Parts {
                    // The pages of the first were asked for before.
                    let far = (end + sifted).min(candidates_end);
                    let asked =
                        if start < PAGES_AHEAD || start > table_start { end } else { start };
                    prefetch_pages(table, &self.candidates[asked.max(PAGES_AHEAD).min(far)..far]);
                }
                let sifted = (&self.candidates[start..end], self.reading);
                let asks = self.reading.asks_ahead(table.header().block_bytes);
                let survivors = &mut self.survivors;
                let survived = |place, number| {
                    survivors.push(Survivor { candidate: (start + place) as u32, number });
                };
                let (candidates, tables) = (&self.candidates, &self.tables);
                table.sift(
                    sifted,
                    query,
                    k,
                    || {
                        if asks {
                            ahead.prefetch(segment, tables, candidates);
                        }
                    },
                    survived,
                )?;
                start = end;
                if self.survivors.len() >= GATHERED || self.any {
                    looked_into = self.look_into_survivors(segment, k, earlier, looked_into)?;
                    if self.is_done() {
                        self.work.blocks_scanned += start as u64;
                        return Ok(());
                    }
                }
            }
        }
        self.work.blocks_scanned += start as u64;
        self.look_into_survivors(segment, k, earlier, looked_into)?;
        Ok(())
    }

    /// Finds the matches in candidates of a table without a column, some at a time where these are
    /// adjacent. Gives the end of those that were decoded: all of them, unless the search is done.
    fn decode_candidates(
        &mut self,
        table: &Table,
        query: u64,
        k: u32,
        candidates: Range<usize>,
    ) -> Result<usize> {
        let mut at = candidates.start;
        while at < candidates.end && !self.is_done() {
            let rest = &self.candidates[at..candidates.end];
            let first = u64::from(rest[0].block);
            let follow = |&(i, candidate): &(usize, &Candidate)| {
                i < SIDE_BY_SIDE && u64::from(candidate.block) == first + i as u64
            };
            let adjacent = rest.iter().enumerate().take_while(follow).count() as u64;
            let (end, _) = table.blocks_within(first..first + adjacent, SIFTED_KEYS);
            let count = (end - first) as usize;
            if let Some(next) = rest.get(count) {
                table.prefetch_whole(*next);
            }
            table.decode_blocks(first..end, &mut self.decoded)?;
            for &key in &self.decoded {
                let distance = (key ^ query).count_ones();
                // One too many tells that there are.
                if distance <= k && self.matches.len() <= self.most {
                    let fingerprint = table.permutation().fingerprint(key);
                    self.matches.push(Match { fingerprint, distance });
                }
            }
            at += count;
            self.work.blocks_decoded += count as u64;
            if self.counts_bytes {
                self.work.bytes_touched += count as u64 * table.stream_bytes();
            }
        }
        Ok(at)
    }

    /// Bytes that a searcher of these segments may take, but for the matches, and 8 for each candidate
    /// block.
    pub(crate) fn most_bytes(segments: &[Segment]) -> u64 {
        let tables = segments.iter().flat_map(Segment::tables);
        let of_table = |table: &Table| {
            // Keys, and with a column also survivors, twice.
            let bytes = if table.geometry().planes() == 0 { 8 } else { 24 };
            bytes * table.geometry().most_keys().max(1 << 15)
        };
        tables.map(of_table).max().unwrap_or(0)
    }

    /// Bytes of headers and columns that the candidates of a segment stand for.
    fn scanned_bytes(&self, segment: &Segment) -> u64 {
        let mut start = 0;
        let mut bytes = 0;
        for &Descended { number, candidates_end, .. } in &self.tables {
            let table = &segment.tables()[number];
            let of_table = self.candidates[start..candidates_end].iter();
            bytes += of_table.map(|&candidate| table.scanned_bytes(candidate)).sum::<u64>();
            start = candidates_end;
        }
        bytes
    }

    /// Finds the matches among the survivors, and forgets these. Of the matches, those from number
    /// `earlier` on are of this segment; the first survivor is of table `first_table` or a later
    /// one. Gives the table of the last.
    fn look_into_survivors(
        &mut self,
        segment: &Segment,
        k: u32,
        earlier: usize,
        first_table: usize,
    ) -> Result<usize> {
        let tables = &self.tables;
        let table_of = |from: usize, candidate: u32| {
            let behind = tables[from..].iter();
            from + behind.take_while(|table| table.candidates_end <= candidate as usize).count()
        };
        let mut table = first_table;
        let mut kept = 0;
        for i in 0..self.survivors.len() {
            let Survivor { candidate, number } = self.survivors[i];
            table = table_of(table, candidate);
            let candidate = self.candidates[candidate as usize];
            let Descended { number: of_segment, query, .. } = tables[table];
            if segment.tables()[of_segment].refine(candidate, query, number)? {
                self.survivors.swap(kept, i);
                kept += 1;
            }
        }
        self.survivors.truncate(kept);
        table = first_table;
        for of_block in self.survivors.chunk_by(|a, b| a.candidate == b.candidate) {
            let candidate = of_block[0].candidate;
            table = table_of(table, candidate);
            let Descended { number: of_segment, query, .. } = tables[table];
            let of_segment = &segment.tables()[of_segment];
            let permutation = of_segment.permutation();
            // What other tables of this segment have found need not be decoded again.
            self.known.clear();
            let known = self.matches[earlier..].iter().take(MAX_KNOWN);
            self.known.extend(known.map(|found| permutation.key(found.fingerprint)));
            self.numbers.clear();
            self.numbers.extend(of_block.iter().map(|survivor| survivor.number));
            let matches = &mut self.matches;
            let most = self.most;
            let found = |key: u64| {
                // One too many tells that there are.
                if matches.len() <= most {
                    let distance = (key ^ query).count_ones();
                    matches.push(Match { fingerprint: permutation.fingerprint(key), distance });
                }
            };
            let block = self.candidates[candidate as usize].block;
            let known = &self.known;
            let numbers = (&mut self.numbers, &mut self.decoded);
            let decoded = of_segment.matches(block, query, k, known, numbers, found)?;
            self.work.blocks_decoded += u64::from(decoded);
            if decoded && self.counts_bytes {
                self.work.bytes_touched += of_segment.stream_bytes();
            }
        }
        self.survivors.clear();
        Ok(table)
    }
}

/// Asks for the first line of each page in which one of the candidates begins.
fn prefetch_pages(table: &Table, candidates: &[Candidate]) {
    let mut last_page = None;
    for &candidate in candidates {
        let page = table.block_offset(candidate) / PAGE_BYTES;
        if last_page.replace(page) != Some(page) {
            table.prefetch_header(candidate);
        }
    }
}

/// Asks for candidates of all tables, one after the other.
struct Ahead {
    /// The next candidate.
    candidate: usize,
    /// Its table, among those that are descended.
    table: usize,
}

impl Ahead {
    fn new() -> Self {
        Self { candidate: AHEAD, table: 0 }
    }

    /// Asks for the next candidate.
    #[inline(always)]
    fn prefetch(&mut self, segment: &Segment, tables: &[Descended], candidates: &[Candidate]) {
        if let Some(&candidate) = candidates.get(self.candidate) {
            while tables[self.table].candidates_end <= self.candidate {
                self.table += 1;
            }
            segment.tables()[tables[self.table].number].prefetch_block(candidate);
            self.candidate += 1;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::format::{MANIFEST_NAME, Manifest, ids_name, table_name};
    use crate::store::{Packer, Store};

    /// A store whose segments are these sets.
    pub(crate) fn store_of_segments(path: &Path, sets: &[&[u64]]) -> Store {
        store_of_packed(path, sets.len(), |set, part| {
            Packer::new().pack(part, sets[set]).unwrap();
        })
    }

    /// A store whose segments are those that `pack` writes.
    pub(crate) fn store_of_packed(
        path: &Path,
        segments: usize,
        pack: impl Fn(usize, &Path),
    ) -> Store {
        let mut whole = Manifest {
            radius: 3,
            next_segment: 1,
            store_id: 1,
            generation: 1,
            segments: Vec::new(),
            id_map: None,
            skipped: Vec::new(),
        };
        fs::create_dir(path).unwrap();
        for set in 0..segments {
            let part = path.join("part");
            pack(set, &part);
            let manifest = Manifest::decode(&fs::read(part.join(MANIFEST_NAME)).unwrap()).unwrap();
            let mut segment = manifest.segments[0].clone();
            for table in 0..segment.tables.len() {
                let name = table_name(whole.next_segment, table);
                fs::rename(part.join(table_name(1, table)), path.join(name)).unwrap();
            }
            if segment.ids.is_some() {
                let name = ids_name(whole.next_segment);
                fs::rename(part.join(ids_name(1)), path.join(name)).unwrap();
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

    #[test]
    fn ids_are_those_of_all_segments_and_each_comes_once() {
        let temporary = tempfile::tempdir().unwrap();
        let pairs: [&[(u64, u64)]; 2] = [&[(1, 5), (1, 9), (2, 7)], &[(1, 6), (1, 9), (3, 0)]];
        let store = store_of_packed(&temporary.path().join("store"), 3, |set, part| {
            match pairs.get(set) {
                Some(pairs) => Packer::new().pack_with_ids(part, pairs.iter().copied()).unwrap(),
                None => Packer::new().pack(part, [1, 4]).unwrap(),
            };
        });
        store.verify().unwrap();
        assert!(store.has_ids());
        let ids = |fp| store.ids(fp).unwrap().collect::<Result<Vec<u64>>>().unwrap();
        assert_eq!((ids(1), ids(2), ids(3)), (vec![5, 6, 9], vec![7], vec![0]));
        assert_eq!((ids(4), ids(5)), (vec![], vec![]));
        assert_eq!(store.ids(1).unwrap().len(), 4, "of both segments");
    }
}
