//! Searches in segments whose keys are kept decoded: a table takes some prefixes, those of the query with up to so many bits flipped, whose runs are compared as
//! they stand.

use std::ops::Range;

use super::ask::Ask;
use super::work::SearchWork;
use crate::block::within;
use crate::error::Result;
use crate::execution::Stop;
use crate::flips;
use crate::segment::{KeptTable, MOST_KEPT_RUNS, Tables};
use crate::simd::{Level, Work};
use crate::snapshot::union::Match;
use crate::table::KeptKeys;

/// Keys that are compared before it is looked whether to stop.
const COMPARED: usize = 1 << 12;

/// The first ones of a look whose radius narrows: all of them may be within it.
const FIRST_NARROWED: usize = 64;

/// A run of a table.
pub(super) struct KeptRun {
    /// The place of the table among those of the search.
    table: usize,
    /// The query in the order of the table.
    query: u64,
    prefix: usize,
    /// Numbers of keys.
    keys: Range<u32>,
}

impl KeptRun {
    /// Bytes of the runs of a search at most.
    pub(super) const MOST_BYTES: u64 = MOST_KEPT_RUNS as u64 * size_of::<Self>() as u64;
}

/// A search in the kept keys of a segment.
pub(super) struct SearchingKept<'a> {
    /// A buffer.
    pub(super) runs: &'a mut Vec<KeptRun>,
    pub(super) segment: &'a Tables,
    /// `None` to compare all keys.
    pub(super) tables: Option<&'a [KeptTable]>,
    pub(super) keys: &'a [KeptKeys],
    pub(super) ask: Ask,
    pub(super) stop: &'a Stop,
    pub(super) matches: &'a mut Vec<Match>,
    pub(super) work: &'a mut SearchWork,
}

impl Work for SearchingKept<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn work(mut self) -> Self::Output {
        let (tables, all) = (self.tables, self.keys.first().map_or(0, |keys| keys.all().len()));
        match tables {
            // Of crowded sets the runs may hold more than there are in a table.
            Some(tables) if self.look_up(tables) <= all => self.compare_runs(tables)?,
            _ => self.compare_all()?,
        }
        self.stop.check()
    }
}

impl SearchingKept<'_> {
    /// Finds the runs, and gives the number of their keys.
    #[inline(always)]
    fn look_up(&mut self, tables: &[KeptTable]) -> usize {
        let Self { runs, segment, keys, ask, .. } = self;
        runs.clear();
        for (table, of_table) in tables.iter().enumerate() {
            let keys = &keys[of_table.number];
            let query = segment.all()[of_table.number].permutation().key(ask.fingerprint);
            let prefix = keys.prefix(query);
            flips::up_to(keys.prefix_bits(), of_table.flips, |flipped| {
                keys.prefetch(prefix ^ flipped);
                runs.push(KeptRun { table, query, prefix: prefix ^ flipped, keys: 0..0 });
                true
            });
        }
        let mut all = 0;
        for run in &mut **runs {
            let of_table = &tables[run.table];
            let keys = &keys[of_table.number];
            run.keys = keys.run(run.prefix);
            if of_table.flips == 0 {
                run.keys = keys.with_top(run.keys.clone(), run.query);
            }
            all += run.keys.len();
        }
        self.work.runs_looked_up += runs.len() as u64;
        all
    }

    /// Finds the matches in the runs, each in the last table that finds it.
    #[inline(always)]
    fn compare_runs(&mut self, tables: &[KeptTable]) -> Result<()> {
        let Self { runs, segment, keys, ask, stop, matches, work, .. } = self;
        let level = segment.identity().level();
        stop.check()?;
        let mut unchecked = 0;
        for run in runs.iter().filter(|run| !run.keys.is_empty()) {
            let of_table = &tables[run.table];
            let table = &segment.all()[of_table.number];
            for keys in keys[of_table.number].keys(&run.keys).chunks(COMPARED) {
                within(level, keys, (run.query, ask.k), |number| {
                    let bits = keys[number] ^ run.query;
                    if of_table.tells(bits) {
                        let fingerprint = table.permutation().fingerprint(keys[number]);
                        ask.tell(matches, fingerprint, bits.count_ones());
                    }
                });
                work.keys_compared += keys.len() as u64;
                if matches.len() > ask.most {
                    return Ok(());
                }
                unchecked += keys.len();
                if unchecked >= COMPARED {
                    stop.check()?;
                    unchecked = 0;
                }
            }
        }
        Ok(())
    }

    /// Finds the matches among all keys of the identity table.
    #[inline(always)]
    fn compare_all(&mut self) -> Result<()> {
        let Self { segment, keys, ask, stop, matches, work, .. } = self;
        work.full_scans += 1;
        let (level, query) = (segment.identity().level(), ask.fingerprint);
        let keys = keys.first().map_or(&[][..], KeptKeys::all);
        for keys in keys.chunks(COMPARED) {
            within(level, keys, (query, ask.k), |number| {
                ask.tell(matches, keys[number], (keys[number] ^ query).count_ones());
            });
            work.keys_compared += keys.len() as u64;
            if matches.len() > ask.most {
                break;
            }
            stop.check()?;
        }
        Ok(())
    }
}

/// A look at all kept keys of the identity table, within a radius that narrows.
pub(super) struct NarrowingKept<'a> {
    pub(super) keys: &'a [u64],
    pub(super) level: Level,
    pub(super) query: u64,
    pub(super) k: u32,
    pub(super) stop: &'a Stop,
    /// A buffer.
    pub(super) matches: &'a mut Vec<Match>,
    pub(super) work: &'a mut SearchWork,
    /// Takes what was found, and says how far the next may be.
    pub(super) take: &'a mut dyn FnMut(&[Match]) -> Result<u32>,
}

impl Work for NarrowingKept<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn work(self) -> Self::Output {
        let Self { keys: mut rest, level, query, mut k, stop, matches, work, take } = self;
        let mut count = FIRST_NARROWED;
        while !rest.is_empty() {
            stop.check()?;
            let (keys, behind) = rest.split_at(count.min(rest.len()));
            matches.clear();
            within(level, keys, (query, k), |number| {
                let distance = (keys[number] ^ query).count_ones();
                matches.push(Match { fingerprint: keys[number], distance });
            });
            work.keys_compared += keys.len() as u64;
            k = take(matches)?;
            rest = behind;
            count = (2 * count).min(COMPARED);
        }
        matches.clear();
        Ok(())
    }
}
