//! Searches the tables of one segment.

use std::ops::Range;

use super::ask::Ask;
use super::descended::Descended;
use super::descent::Descent;
use super::prefetch::{self, Ahead, PAGES_AHEAD};
use super::work::SearchWork;
use crate::block::{Candidate, Reading};
use crate::error::Result;
use crate::execution::Stop;
use crate::segment::Tables;
use crate::snapshot::union::Match;
use crate::table::Table;

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

/// Matches of other tables that a survivor is compared with.
const MAX_KNOWN: usize = 8;

/// A search in the tables of one segment after the other, and its buffers.
pub(super) struct TableSearch {
    descent: Descent,
    numbers: Vec<u32>,
    /// Keys of a block that is decoded whole.
    decoded: Vec<u64>,
    survivors: Vec<Survivor>,
    /// Keys of matches in the order of the table at hand.
    known: Vec<u64>,
    pub(super) matches: Vec<Match>,
    /// The first match of the segment at hand.
    of_segment: usize,
    pub(super) work: SearchWork,
    pub(super) counts_bytes: bool,
}

/// A key that may be near, by what has been compared of it.
struct Survivor {
    /// Number of its block among the candidates of all tables.
    candidate: u32,
    /// Its number in the block.
    number: u32,
}

impl TableSearch {
    pub(super) fn new() -> Self {
        Self {
            descent: Descent::new(),
            numbers: Vec::new(),
            decoded: Vec::new(),
            survivors: Vec::new(),
            known: Vec::new(),
            matches: Vec::new(),
            of_segment: 0,
            work: SearchWork::default(),
            counts_bytes: false,
        }
    }

    /// Forgets what the last search has found.
    pub(super) fn clear(&mut self) {
        self.work = SearchWork::default();
    }

    /// Begins with another segment.
    fn begin(&mut self) {
        self.of_segment = self.matches.len();
        // An error may have left these.
        self.numbers.clear();
        self.survivors.clear();
    }

    /// Whether the matches that were found are too many.
    fn gives_up(&self, ask: Ask) -> bool {
        self.matches.len() > ask.most
    }

    /// Finds the matches of a segment, some perhaps several times.
    pub(super) fn search(
        &mut self,
        segment: &Tables,
        ask: Ask,
        cold: bool,
        stop: &Stop,
    ) -> Result<()> {
        if !self.descent.descend(segment, ask.fingerprint, ask.k, cold) {
            return self.scan(segment, ask, stop);
        }
        self.begin();
        self.search_candidates(segment, ask, stop)
    }

    /// As [`Self::search`], in all blocks of the identity table.
    pub(super) fn scan(&mut self, segment: &Tables, ask: Ask, stop: &Stop) -> Result<()> {
        self.work.full_scans += 1;
        self.begin();
        let blocks = segment.identity().block_count() as u32;
        for start in (0..blocks).step_by(SCANNED) {
            let part = start..blocks.min(start.saturating_add(SCANNED as u32));
            self.descent.scan(part, ask.fingerprint, ask.k);
            self.search_candidates(segment, ask, stop)?;
            if self.gives_up(ask) {
                break;
            }
        }
        Ok(())
    }

    /// Finds the matches in the candidates.
    fn search_candidates(&mut self, segment: &Tables, ask: Ask, stop: &Stop) -> Result<()> {
        if self.counts_bytes {
            self.work.bytes_touched += self.descent.scanned_bytes(segment);
        }
        let mut ahead = Ahead::new();
        let mut start = 0;
        let mut looked_into = 0;
        for at in 0..self.descent.tables.len() {
            let Descended { number, query, candidates_end, .. } = self.descent.tables[at];
            let table = &segment.all()[number];
            if table.geometry().planes() == 0 {
                start = self.decode(table, query, ask, start..candidates_end, stop)?;
                if self.gives_up(ask) {
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
                stop.check()?;
                let end = candidates_end.min(start + sifted);
                if self.descent.reading == Reading::Parts {
                    // The pages of the first were asked for before.
                    let far = (end + sifted).min(candidates_end);
                    let asked =
                        if start < PAGES_AHEAD || start > table_start { end } else { start };
                    let next = asked.max(PAGES_AHEAD).min(far)..far;
                    prefetch::pages(table, &self.descent.candidates[next]);
                }
                self.sift(segment, table, (query, ask.k), start..end, &mut ahead)?;
                start = end;
                if self.survivors.len() >= GATHERED || ask.most == 0 {
                    looked_into = self.look_into_survivors(segment, ask, looked_into)?;
                    if self.gives_up(ask) {
                        self.work.blocks_scanned += start as u64;
                        return Ok(());
                    }
                }
            }
        }
        self.work.blocks_scanned += start as u64;
        self.look_into_survivors(segment, ask, looked_into)?;
        Ok(())
    }

    /// Gathers the survivors of some candidates of one table.
    #[inline]
    fn sift(
        &mut self,
        segment: &Tables,
        table: &Table,
        (query, k): (u64, u32),
        candidates: Range<usize>,
        ahead: &mut Ahead,
    ) -> Result<()> {
        let Descent { candidates: all, tables, reading, .. } = &self.descent;
        let asks = *reading == Reading::Parts;
        let start = candidates.start;
        let survivors = &mut self.survivors;
        let survived = |place, number| {
            survivors.push(Survivor { candidate: (start + place) as u32, number });
        };
        let asked = || {
            if asks {
                ahead.prefetch(segment, tables, all);
            }
        };
        table.sift((&all[candidates], *reading), query, k, asked, survived)
    }

    /// Finds the matches in candidates of a table without a column, some at a time where these are
    /// adjacent. Gives the end of those that were decoded: all of them, unless the search gives up.
    fn decode(
        &mut self,
        table: &Table,
        query: u64,
        ask: Ask,
        candidates: Range<usize>,
        stop: &Stop,
    ) -> Result<usize> {
        let mut at = candidates.start;
        while at < candidates.end && !self.gives_up(ask) {
            stop.check()?;
            let rest = &self.descent.candidates[at..candidates.end];
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
                if distance <= ask.k && self.matches.len() <= ask.most {
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

    /// Finds the matches among the survivors, and forgets these. The first survivor is of table
    /// `first_table` or a later one. Gives the table of the last.
    fn look_into_survivors(
        &mut self,
        segment: &Tables,
        ask: Ask,
        first_table: usize,
    ) -> Result<usize> {
        let descent = &self.descent;
        let mut table = first_table;
        let mut kept = 0;
        for i in 0..self.survivors.len() {
            let Survivor { candidate, number } = self.survivors[i];
            table = descent.table_of(table, candidate);
            let candidate = descent.candidates[candidate as usize];
            let Descended { number: of_segment, query, .. } = descent.tables[table];
            if segment.all()[of_segment].refine(candidate, query, number)? {
                self.survivors.swap(kept, i);
                kept += 1;
            }
        }
        self.survivors.truncate(kept);
        table = first_table;
        for of_block in self.survivors.chunk_by(|a, b| a.candidate == b.candidate) {
            let candidate = of_block[0].candidate;
            table = descent.table_of(table, candidate);
            let Descended { number: of_segment, query, .. } = descent.tables[table];
            let of_segment = &segment.all()[of_segment];
            let permutation = of_segment.permutation();
            // What other tables of this segment have found need not be decoded again.
            self.known.clear();
            let known = self.matches[self.of_segment..].iter().take(MAX_KNOWN);
            self.known.extend(known.map(|found| permutation.key(found.fingerprint)));
            self.numbers.clear();
            self.numbers.extend(of_block.iter().map(|survivor| survivor.number));
            let matches = &mut self.matches;
            let found = |key: u64| {
                // One too many tells that there are.
                if matches.len() <= ask.most {
                    let distance = (key ^ query).count_ones();
                    matches.push(Match { fingerprint: permutation.fingerprint(key), distance });
                }
            };
            let block = descent.candidates[candidate as usize].block;
            let numbers = (&mut self.numbers, &mut self.decoded);
            let decoded = of_segment.matches(block, query, ask.k, &self.known, numbers, found)?;
            self.work.blocks_decoded += u64::from(decoded);
            if decoded && self.counts_bytes {
                self.work.bytes_touched += of_segment.stream_bytes();
            }
        }
        self.survivors.clear();
        Ok(table)
    }
}

/// Bytes that a search of a table may take, but for the matches, and 8 for each candidate block.
pub(super) fn most_bytes(table: &Table) -> u64 {
    // Keys, and with a column also survivors, twice.
    let bytes = if table.geometry().planes() == 0 { 8 } else { 24 };
    bytes * table.geometry().most_keys().max(1 << 15)
}
