//! Searches by runs: of each table the keys whose top begins as that of the query, from the place where the first of them
//! stands. What makes it faster than a descent to blocks: the look-up of a place takes no branch, keys of other prefixes in the same
//! blocks are not looked at, and all of a column is compared at once, with the rule that tells which table gives a match.

use std::ops::Range;

use super::ask::Ask;
use super::leads::{Leads, tell};
use super::work::SearchWork;
use crate::block::{KeyPlace, LANES, NearKeys, sift_runs, within};
use crate::error::Result;
use crate::execution::Stop;
use crate::segment::{RunTable, Tables};
use crate::simd::Work;
use crate::snapshot::union::Match;
use crate::table::{Starts, Table};

/// Blocks of a run at most: of longer ones, a descent looks at fewer blocks.
const MOST_BLOCKS: u32 = 512;

/// A search by runs, and its buffers.
#[derive(Default)]
pub(super) struct RunSearch {
    runs: Vec<Run>,
    near: Vec<NearKeys>,
    /// Numbers of near keys of a block.
    numbers: Vec<u32>,
}

/// A run of a table.
struct Run {
    /// The query in the order of the table.
    query: u64,
    places: Range<KeyPlace>,
}

/// A search by runs in the tables of a segment.
pub(super) struct Running<'a> {
    pub(super) search: &'a mut RunSearch,
    pub(super) segment: &'a Tables,
    pub(super) tables: &'a [RunTable],
    pub(super) starts: &'a [Starts],
    pub(super) ask: Ask,
    pub(super) stop: &'a Stop,
    pub(super) counts_bytes: bool,
    /// Keys of blocks, or their middles.
    pub(super) scratch: &'a mut Vec<u64>,
    /// Where keys of short tables lead to.
    pub(super) leads: &'a mut Leads,
    pub(super) matches: &'a mut Vec<Match>,
    pub(super) work: &'a mut SearchWork,
}

impl Work for Running<'_> {
    /// `None` where runs are too long.
    type Output = Option<Result<()>>;

    #[inline(always)]
    fn work(mut self) -> Self::Output {
        self.look_up();
        let is_long = |run: &Run| run.places.end.block - run.places.start.block > MOST_BLOCKS;
        if self.search.runs.iter().any(is_long) {
            return None;
        }
        Some(self.sift().and_then(|()| self.look_into_near()))
    }
}

impl Running<'_> {
    /// Finds the runs.
    #[inline(always)]
    fn look_up(&mut self) {
        let Self { search, segment, tables, starts, ask, .. } = self;
        search.runs.clear();
        for table in *tables {
            let query = segment.all()[table.number].key(ask.fingerprint);
            starts[table.number].prefetch(query);
            search.runs.push(Run { query, places: Range::default() });
        }
        for (table, run) in tables.iter().zip(&mut search.runs) {
            run.places = starts[table.number].run(run.query);
            let of_segment = &segment.all()[table.number];
            of_segment.run_sieve((run.query, ask.k), &run.places, &[]).prefetch_page();
        }
    }

    /// Gathers the keys of the runs that are near by their columns, and that no table behind gives.
    #[inline(always)]
    fn sift(&mut self) -> Result<()> {
        let Self { search, segment, tables, ask, work, .. } = self;
        let RunSearch { runs, near, .. } = &mut **search;
        let sieves = tables.iter().zip(&*runs).map(|(table, run)| {
            let of_segment = &segment.all()[table.number];
            of_segment.run_sieve((run.query, ask.k), &run.places, &table.behind_in_column)
        });
        sieves.clone().for_each(|sieve| sieve.prefetch());
        near.clear();
        sift_runs(segment.identity().level(), sieves, near).map_err(|(at, corruption)| {
            let table = &segment.all()[tables[at].number];
            table.block_error(corruption.block().unwrap_or_default(), corruption)
        })?;
        for (table, run) in tables.iter().zip(&*runs) {
            let Range { start, end } = run.places;
            work.blocks_scanned += u64::from(end.block - start.block + u32::from(end.number > 0));
            if self.counts_bytes {
                work.bytes_touched += segment.all()[table.number].run_bytes(&run.places);
            }
        }
        Ok(())
    }

    /// Finds the matches among the near keys.
    #[inline(always)]
    fn look_into_near(&mut self) -> Result<()> {
        let near = std::mem::take(&mut self.search.near);
        let mut rest = &near[..];
        while let Some((&keys, others)) = rest.split_first() {
            let run = keys.run;
            self.stop.check()?;
            if self.matches.len() > self.ask.most || self.leads.is_exceeded() {
                break;
            }
            if self.shows_middle(run as usize) {
                self.look_at_shown(run as usize, keys)?;
                rest = others;
                continue;
            }
            // The next blocks of the same table, and where the near keys of each end.
            let mut blocks = [(0, 0); LANES];
            let (mut count, mut end) = (0, 0);
            while count < LANES
                && let Some(first) = rest.get(end).filter(|first| first.run == run)
            {
                let same = |keys: &&NearKeys| (keys.run, keys.block) == (run, first.block);
                end += rest[end..].iter().take_while(same).count();
                blocks[count] = (first.block, end);
                count += 1;
            }
            let run = run as usize;
            if count == LANES {
                self.look_into_blocks(run, blocks, rest)?;
            } else {
                (_, end) = blocks[0];
                self.look_into_block(run, blocks[0].0, &rest[..end])?;
            }
            rest = &rest[end..];
        }
        self.search.near = near;
        Ok(())
    }

    /// Finds the matches among near keys of a run whose prefix is all that columns do not show: all of them are.
    #[inline(always)]
    fn look_at_shown(&mut self, run: usize, near: NearKeys) -> Result<()> {
        let (table, query) = (self.table(run), self.search.runs[run].query);
        let Self { segment, tables, ask, leads, matches, .. } = &mut *self;
        let mut telling = Telling { segment, of: &tables[run], query, ask: *ask, leads, matches };
        table.shown_keys(near, query, |key| telling.tell_unless_behind(key))
    }

    /// Finds the matches in some blocks of a run: each with the end of its keys among the near ones.
    #[inline(always)]
    fn look_into_blocks(
        &mut self,
        run: usize,
        blocks: [(u32, usize); LANES],
        near: &[NearKeys],
    ) -> Result<()> {
        let (table, query) = (self.table(run), self.search.runs[run].query);
        let counts = table.decode_apart(blocks.map(|(block, _)| block), self.scratch)?;
        self.count_decoded(table, LANES as u64);
        let level = table.level();
        let (mut start, mut near_start) = (0, 0);
        for ((_, near_end), count) in blocks.into_iter().zip(counts) {
            let of_block = &near[near_start..near_end];
            let Self { segment, tables, ask, leads, matches, scratch, .. } = &mut *self;
            let keys = scratch.get(start..start + count).unwrap_or_default();
            let mut telling =
                Telling { segment, of: &tables[run], query, ask: *ask, leads, matches };
            within(level, keys, (query, ask.k), |number| {
                if of_block.iter().any(|keys| keys.has(number as u32)) {
                    telling.tell_unless_behind(keys[number]);
                }
            });
            (start, near_start) = (start + count, near_end);
        }
        Ok(())
    }

    /// Finds the matches in a block of a run.
    #[inline(always)]
    fn look_into_block(&mut self, run: usize, block: u32, near: &[NearKeys]) -> Result<()> {
        let (table, query) = (self.table(run), self.search.runs[run].query);
        let single = match near {
            [keys] => keys.single(),
            _ => None,
        };
        let Self { search, segment, tables, ask, leads, matches, scratch, .. } = &mut *self;
        let numbers = &mut search.numbers;
        numbers.clear();
        match single {
            Some(number) => numbers.push(number),
            None => near.iter().for_each(|keys| numbers.extend(keys.numbers())),
        }
        let is_decoded = numbers.last().is_some_and(|last| *last > 0);
        let survivors = numbers.iter().copied();
        let mut telling = Telling { segment, of: &tables[run], query, ask: *ask, leads, matches };
        let found = |key| telling.tell_unless_behind(key);
        table.matches_among(block, (query, ask.k), survivors, scratch, found)?;
        if is_decoded {
            self.count_decoded(table, 1);
        }
        Ok(())
    }
}

impl<'a> Running<'a> {
    #[inline(always)]
    fn table(&self, run: usize) -> &'a Table {
        &self.segment.all()[self.tables[run].number]
    }

    #[inline(always)]
    fn shows_middle(&self, run: usize) -> bool {
        let number = self.tables[run].number;
        self.starts[number].prefix_bits() >= self.table(run).geometry().middle_bits()
    }

    #[inline(always)]
    fn count_decoded(&mut self, table: &Table, blocks: u64) {
        self.work.blocks_decoded += blocks;
        if self.counts_bytes {
            self.work.bytes_touched += blocks * table.stream_bytes();
        }
    }
}

/// Where what is found in a table of a search goes.
struct Telling<'a, 'o> {
    segment: &'a Tables,
    of: &'a RunTable,
    /// The query in the order of the table.
    query: u64,
    ask: Ask,
    leads: &'o mut Leads,
    matches: &'o mut Vec<Match>,
}

impl Telling<'_, '_> {
    /// Adds a match of the table, or where it leads to, unless a table behind finds it.
    #[inline(always)]
    fn tell_unless_behind(&mut self, key: u64) {
        let Self { segment, of, query, ask, leads, matches } = self;
        let bits = key ^ *query;
        if !of.behind.iter().any(|top| top & bits == 0) {
            tell((segment, of.number), (key, bits.count_ones()), *ask, (leads, matches));
        }
    }
}
