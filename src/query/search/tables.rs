//! Searches the tables of one segment, so much of a table at a time.

use std::ops::Range;

use super::descent::{BLOCKS_AHEAD, Descended, Descent, LANES, PAGES_AHEAD};
use super::hot::{HotRuns, SearchingHot};
use super::leads::{Leads, tell};
use super::work::{Ask, SearchWork};
use crate::block::{Candidate, Reading, Survivor, sift};
use crate::costs::Costs;
use crate::cover::Differs;
use crate::error::Result;
use crate::execution::Stop;
use crate::segment::{ChosenPath, MayUse, Tables};
use crate::simd::Work;
use crate::snapshot::union::Match;
use crate::table::{Lead, PrefixFilter, Table};

/// Adjacent blocks that are decoded before their keys are looked at.
const DECODED: u64 = 16;
/// A search in the tables of one segment after the other, and its buffers.
pub(super) struct TableSearch {
    pub(super) descent: Descent,
    hot_runs: HotRuns,
    pub(super) survivors: Vec<Survivor>,
    /// Survivors that are still near by all that is seen of them, and are told by no other table.
    kept: Vec<Survivor>,
    /// Keys of blocks, or their middles.
    scratch: Vec<u64>,
    /// Where keys of short tables lead to.
    pub(super) leads: Leads,
    pub(super) matches: Vec<Match>,
    pub(super) work: SearchWork,
    pub(super) counts_bytes: bool,
    /// What searches may use of what is in memory.
    pub(super) uses: MayUse,
    /// Whether they build more there.
    pub(super) builds: bool,
    /// Whether the last search went by filters somewhere.
    pub(super) went_by_filters: bool,
}

impl TableSearch {
    pub(super) fn new() -> Self {
        Self {
            descent: Descent::new(),
            hot_runs: HotRuns::default(),
            survivors: Vec::new(),
            kept: Vec::new(),
            scratch: Vec::new(),
            leads: Leads::default(),
            matches: Vec::new(),
            work: SearchWork::default(),
            counts_bytes: false,
            uses: MayUse { hot_index: true, filters: false },
            builds: true,
            went_by_filters: false,
        }
    }

    /// Forgets what the last search has found.
    pub(super) fn clear(&mut self) {
        self.work = SearchWork::default();
        self.went_by_filters = false;
    }

    /// Whether the matches that were found are too many.
    pub(super) fn gives_up(&self, ask: Ask) -> bool {
        self.matches.len() > ask.most
    }

    /// Whether to look into no further blocks: then, or where a scan is to come.
    fn is_over(&self, ask: Ask) -> bool {
        self.gives_up(ask) || self.leads.is_exceeded()
    }

    /// Finds the matches of a segment, some perhaps several times.
    pub(super) fn search(
        &mut self,
        segment: &Tables,
        ask: Ask,
        cold: bool,
        stop: &Stop,
    ) -> Result<()> {
        let level = segment.identity().level();
        let path = segment.path(ask.k, self.uses);
        if let ChosenPath::HotIndex(index) = path {
            let Self { hot_runs: runs, matches, work, .. } = self;
            return level.run(SearchingHot { runs, index, level, ask, stop, matches, work });
        }
        if self.builds && self.uses.hot_index {
            let search_ns = || segment.search_ns(ask.k, &Costs::shipped().search);
            segment.hot().build_some(segment.identity(), search_ns, stop);
        }
        // An error may have left these.
        self.survivors.clear();
        self.leads.start(segment.identity().most_leads());
        let done = match path {
            ChosenPath::Tables => level.run(Descending { search: self, segment, ask, cold, stop }),
            ChosenPath::Filters(filters) => {
                self.went_by_filters = true;
                level.run(Filtering { search: self, segment, filters, ask, stop })
            }
            ChosenPath::Scan | ChosenPath::HotIndex(_) => None,
        };
        // What was not found that way, since it would have touched more blocks, is scanned for.
        match done {
            Some(Ok(())) if !self.gives_up(ask) => match self.leads.unite() {
                Some(0) => Ok(()),
                Some(_) => level.run(Following { search: self, segment, ask, cold, stop }),
                None => self.scan(segment, ask, stop),
            },
            Some(done) => done,
            None => self.scan(segment, ask, stop),
        }
    }

    /// Finds the matches in the candidates.
    #[inline(always)]
    pub(super) fn search_candidates(
        &mut self,
        segment: &Tables,
        ask: Ask,
        stop: &Stop,
    ) -> Result<()> {
        if self.counts_bytes {
            self.work.bytes_touched += self.descent.scanned_bytes(segment);
        }
        let mut start = 0;
        let mut table = 0;
        while table < self.descent.tables.len() && !self.is_over(ask) {
            // The tables from here on that have a column.
            let tables = self.descent.tables[table..].iter();
            let sifted = tables.map_while(|of| blocks_sifted(&segment.all()[of.number]));
            let (count, sifted) = sifted.fold((0, SIFTED), |(n, least), of| (n + 1, of.min(least)));
            if let Some(last) = (table + count).checked_sub(1).filter(|_| count > 0) {
                let end = self.descent.tables[last].candidates_end;
                self.search_columns(segment, ask, (start..end, sifted), stop)?;
                start = end;
            } else {
                start = self.decode(segment, table, ask, start, stop)?;
            }
            table += count.max(1);
        }
        Ok(())
    }

    /// Finds the matches in some candidates of tables that have a column, so many of them at a
    /// time.
    #[inline(always)]
    fn search_columns(
        &mut self,
        segment: &Tables,
        ask: Ask,
        (candidates, sifted): (Range<usize>, usize),
        stop: &Stop,
    ) -> Result<()> {
        let mut looked_into = 0;
        let mut start = candidates.start;
        while start < candidates.end && !self.is_over(ask) {
            stop.check()?;
            let end = candidates.end.min(start + sifted);
            let descent = &self.descent;
            if descent.reading == Reading::Parts {
                // The pages of the first were asked for before.
                let next = end.max(PAGES_AHEAD)..end + sifted;
                descent.sieves(segment, ask.k, next).for_each(|(_, next)| next.prefetch_pages());
            }
            self.sift(segment, ask.k, start..end)?;
            self.work.blocks_scanned += (end - start) as u64;
            start = end;
            if self.survivors.len() >= GATHERED || ask.most == 0 || end == candidates.end {
                looked_into = self.look_into_survivors(segment, ask, looked_into)?;
            }
        }
        Ok(())
    }

    /// Gathers the survivors of some candidates.
    #[inline(always)]
    fn sift(&mut self, segment: &Tables, k: u32, candidates: Range<usize>) -> Result<()> {
        let descent = &self.descent;
        if !descent.is_checked {
            for (table, of_table) in descent.by_table(candidates.clone()) {
                segment.all()[table.number].check(&descent.candidates[of_table])?;
            }
        }
        let sieves = |candidates| descent.sieves(segment, k, candidates).map(|(_, sieve)| sieve);
        let ahead = match descent.reading {
            Reading::Parts => candidates.start + BLOCKS_AHEAD..candidates.end + BLOCKS_AHEAD,
            Reading::Whole => 0..0,
        };
        let (level, survivors) = (segment.identity().level(), &mut self.survivors);
        let sifted = sift(level, sieves(candidates.clone()), sieves(ahead), survivors);
        sifted.map_err(|(place, corruption)| {
            let table =
                descent.by_table(candidates).nth(place).map_or(0, |(table, _)| table.number);
            segment.all()[table].block_error(corruption.block().unwrap_or_default(), corruption)
        })
    }

    /// Finds the matches in the candidates from `start` on of the table at `at`, which has no
    /// column, some at a time where these are adjacent. Gives the end of those that were decoded:
    /// all of them, unless the search gives up.
    #[inline(always)]
    fn decode(
        &mut self,
        segment: &Tables,
        at: usize,
        ask: Ask,
        start: usize,
        stop: &Stop,
    ) -> Result<usize> {
        let Descended { number, candidates_end, .. } = self.descent.tables[at];
        let table = &segment.all()[number];
        let mut next = start;
        while next < candidates_end && !self.is_over(ask) {
            let rest = &self.descent.candidates[next..candidates_end];
            let first = u64::from(rest[0].block);
            let follow = |&(i, candidate): &(usize, &Candidate)| {
                i < LANES as usize && u64::from(candidate.block) == first + i as u64
            };
            let adjacent = rest.iter().enumerate().take_while(follow).count();
            if let Some(next) = rest.get(adjacent) {
                table.prefetch_whole(*next);
            }
            self.decode_adjacent(segment, at, ask, first..first + adjacent as u64, stop)?;
            next += adjacent;
        }
        Ok(next)
    }

    /// Finds the matches in adjacent blocks of the table at `at`, by decoding them.
    #[inline(always)]
    pub(super) fn decode_adjacent(
        &mut self,
        segment: &Tables,
        at: usize,
        ask: Ask,
        mut blocks: Range<u64>,
        stop: &Stop,
    ) -> Result<()> {
        let Descended { number, query, .. } = self.descent.tables[at];
        let table = &segment.all()[number];
        let most_keys = most_decoded(table);
        while !blocks.is_empty() && !self.is_over(ask) {
            stop.check()?;
            let some = blocks.start..blocks.end.min(blocks.start + DECODED);
            let (end, _) = table.blocks_within(some, most_keys);
            table.decode_blocks(blocks.start..end, &mut self.scratch)?;
            let behind = self.descent.behind(segment, at);
            let seen = table.key_mask();
            for &key in &self.scratch {
                let (bits, found) = (key ^ query, (&mut self.leads, &mut self.matches));
                if bits.count_ones() <= ask.k && !behind.find(Differs { bits, seen }) {
                    tell((segment, number), (key, bits.count_ones()), ask, found);
                }
            }
            let count = end - blocks.start;
            self.work.blocks_scanned += count;
            self.work.blocks_decoded += count;
            if self.counts_bytes {
                self.work.bytes_touched += count * table.stream_bytes();
            }
            blocks.start = end;
        }
        Ok(())
    }

    /// Finds the matches among the survivors, and forgets these. The first survivor is of the table
    /// at `first` or a later one. Gives the place of the last.
    #[inline(always)]
    fn look_into_survivors(&mut self, segment: &Tables, ask: Ask, first: usize) -> Result<usize> {
        let Self { descent, survivors, kept, scratch, leads, matches, work, .. } = self;
        let mut at = first;
        kept.clear();
        for of_block in survivors.chunk_by(|a, b| a.candidate == b.candidate) {
            let candidate = of_block[0].candidate;
            at = descent.table_of(at, candidate);
            let Descended { number, query, .. } = descent.tables[at];
            let candidate = descent.candidates[candidate as usize];
            let behind = descent.behind(segment, at);
            let wants = |differs| !behind.find(differs);
            segment.all()[number].refine(candidate, query, of_block, wants, kept)?;
        }
        survivors.clear();
        at = first;
        for of_block in kept.chunk_by(|a, b| a.candidate == b.candidate) {
            let candidate = of_block[0].candidate;
            at = descent.table_of(at, candidate);
            let Descended { number, query, .. } = descent.tables[at];
            let table = &segment.all()[number];
            let behind = descent.behind(segment, at);
            let seen = table.key_mask();
            let found = |key: u64| {
                let bits = key ^ query;
                if !behind.find(Differs { bits, seen }) {
                    tell((segment, number), (key, bits.count_ones()), ask, (leads, matches));
                }
            };
            let block = descent.candidates[candidate as usize].block;
            table.matches(block, (query, ask.k), of_block, scratch, found)?;
            let decoded = of_block[of_block.len() - 1].number > 0;
            work.blocks_decoded += u64::from(decoded);
            if decoded && self.counts_bytes {
                work.bytes_touched += table.stream_bytes();
            }
        }
        Ok(at)
    }
}

/// A search by the routers, in the blocks that they give.
struct Descending<'a> {
    search: &'a mut TableSearch,
    segment: &'a Tables,
    ask: Ask,
    cold: bool,
    stop: &'a Stop,
}

impl Work for Descending<'_> {
    /// `None` where a scan touches fewer blocks.
    type Output = Option<Result<()>>;

    #[inline(always)]
    fn work(self) -> Self::Output {
        let Self { search, segment, ask, cold, stop } = self;
        if !search.descent.descend(segment, ask.fingerprint, ask.k, cold) {
            return None;
        }
        Some(search.search_candidates(segment, ask, stop))
    }
}

/// A search by the filters of all tables, in the blocks that they lead to.
struct Filtering<'a> {
    search: &'a mut TableSearch,
    segment: &'a Tables,
    filters: &'a [PrefixFilter],
    ask: Ask,
    stop: &'a Stop,
}

impl Work for Filtering<'_> {
    /// `None` where a scan touches fewer blocks.
    type Output = Option<Result<()>>;

    #[inline(always)]
    fn work(self) -> Self::Output {
        let Self { search, segment, filters, ask, stop } = self;
        let query = (ask.fingerprint, ask.k);
        match search.descent.descend_filtered(segment, filters, query, stop) {
            Ok(true) => Some(search.search_candidates(segment, ask, stop)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// A search where the keys of short tables lead to.
struct Following<'a> {
    search: &'a mut TableSearch,
    segment: &'a Tables,
    ask: Ask,
    cold: bool,
    stop: &'a Stop,
}

impl Work for Following<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn work(self) -> Result<()> {
        let Self { search, segment, ask, cold, stop } = self;
        let TableSearch { descent, leads, .. } = &mut *search;
        descent.follow(segment, ask.fingerprint, ask.k, (leads.all(), cold), stop)?;
        search.search_candidates(segment, ask, stop)
    }
}

/// Survivors of the first planes that are gathered before they are looked into. The bytes that this
/// takes are on their way meanwhile.
pub(super) const GATHERED: usize = 256;

/// Blocks that are sifted before the survivors are counted, and keys that these may hold, unless it
/// is a single block: each may survive.
pub(super) const SIFTED: usize = 64;
const SIFTED_KEYS: u64 = 1 << 17;
/// [`SIFTED`] blocks of so many bytes, with a column, hold no more keys than that.
const SMALL_BLOCK_BYTES: u32 = 2048;

/// Blocks of a table with a column that are sifted before the survivors are counted.
#[inline]
pub(super) fn blocks_sifted(table: &Table) -> Option<usize> {
    let geometry = table.geometry();
    // Divisions take as long as some blocks.
    (geometry.planes() > 0).then(|| match geometry.block_bytes {
        ..=SMALL_BLOCK_BYTES => SIFTED,
        _ => (SIFTED_KEYS / geometry.most_keys()).clamp(1, SIFTED as u64) as usize,
    })
}

/// Bytes that a search of a table may take, but for the matches, and 8 for each candidate block.
pub(super) fn most_bytes(table: &Table) -> u64 {
    // Keys, and with a column also survivors, twice.
    let bytes = if table.geometry().planes() == 0 { 8 } else { 24 };
    bytes * most_decoded(table)
}

/// Keys that are decoded before they are looked at.
pub(super) fn most_decoded(table: &Table) -> u64 {
    table.geometry().most_keys().max(1 << 15)
}

/// Bytes that a search with filters takes for what that of a table tells.
pub(super) fn filter_bytes(table: &Table) -> u64 {
    // A list that grows to twice of what it holds.
    (2 * size_of::<Lead>() * (table.most_leads() + PrefixFilter::MOST_OF_GROUP)) as u64
}

/// Bytes that the leads of a search take.
pub(super) fn lead_bytes(identity: &Table) -> u64 {
    // Twice as many until equal ones are removed, in a list that grows to twice of that.
    (4 * size_of::<Lead>() * identity.most_leads()) as u64
}
