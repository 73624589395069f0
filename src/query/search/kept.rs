//! Searches in segments whose keys are kept decoded: a table takes some prefixes, those of the query with up to so many bits flipped, whose runs are compared as
//! they stand.

use std::cell::Cell;
use std::ops::Range;

use super::ask::Ask;
use super::work::SearchWork;
use crate::block::{KeyRow, runs_within, within};
use crate::error::Result;
use crate::execution::Stop;
use crate::flips;
use crate::segment::{KeptTable, MOST_KEPT_RUNS, Tables};
use crate::simd::{Level, Work};
use crate::snapshot::union::Match;
use crate::table::KeptKeys;

/// Keys that are compared, or a few more, before it is looked whether to stop.
const COMPARED: usize = 1 << 12;

/// Those where few matches are enough: searches of imagehash and devset for one, within 6 and 8, take 0.9 to 1.0 of the time, p99 0.6 to 0.75.
const COMPARED_FOR_SOME: usize = 1 << 7;

/// The first ones of a look whose radius narrows: all of them may be within it.
const FIRST_NARROWED: usize = 64;

/// The runs of a search, those of a table after those of the one before.
#[derive(Default)]
pub(super) struct KeptRuns {
    /// Numbers of keys, of the runs that are not empty; before these are known, the prefixes of all runs stand in their place, as starts.
    runs: Vec<Range<u32>>,
    of_tables: Vec<OfTable>,
}

/// What a search looks up in a table.
struct OfTable {
    /// The query in the order of the table.
    query: u64,
    /// Where its prefixes end.
    prefixes_end: usize,
    /// Where its runs end.
    runs_end: usize,
}

impl KeptRuns {
    /// Bytes of the runs of a search at most, but for some of each table.
    pub(super) const MOST_BYTES: u64 = MOST_KEPT_RUNS as u64 * size_of::<Range<u32>>() as u64;
}

/// A search in the kept keys of a segment.
pub(super) struct SearchingKept<'a> {
    /// A buffer.
    pub(super) runs: &'a mut KeptRuns,
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
            Some(tables) => match self.look_up(tables) {
                // Of crowded sets the runs may hold more than there are in a table.
                found if found > all => self.compare_all()?,
                found if found <= COMPARED_FOR_SOME => self.compare_few(tables, found)?,
                _ => self.compare_runs(tables)?,
            },
            None => self.compare_all()?,
        }
        self.stop.check()
    }
}

impl SearchingKept<'_> {
    /// Finds the runs that are not empty, and gives the number of their keys.
    #[inline(always)]
    fn look_up(&mut self, tables: &[KeptTable]) -> usize {
        let Self { runs: KeptRuns { runs, of_tables }, segment, keys, ask, .. } = self;
        runs.clear();
        of_tables.clear();
        for of_table in tables {
            let keys = &keys[of_table.number];
            let query = segment.all()[of_table.number].permutation().key(ask.fingerprint);
            let prefix = keys.prefix(query);
            flips::up_to(keys.prefix_bits(), of_table.flips, |flipped| {
                keys.prefetch(prefix ^ flipped);
                runs.push((prefix ^ flipped) as u32..0);
                true
            });
            of_tables.push(OfTable { query, prefixes_end: runs.len(), runs_end: 0 });
        }
        self.work.runs_looked_up += runs.len() as u64;
        let (mut start, mut count, mut all) = (0, 0, 0);
        for (of_table, OfTable { query, prefixes_end, runs_end }) in tables.iter().zip(of_tables) {
            let keys = &keys[of_table.number];
            for at in start..*prefixes_end {
                let mut run = keys.run(runs[at].start as usize);
                if of_table.flips == 0 {
                    run = keys.with_top(run, *query);
                }
                all += run.len();
                // The next one takes the place of an empty one: nothing tells before which are.
                let is_empty = run.is_empty();
                runs[count] = run;
                count += usize::from(!is_empty);
            }
            (start, *runs_end) = (*prefixes_end, count);
        }
        all
    }

    /// As [`Self::compare_runs`], of runs with so few keys that none is cut into pieces: `quarters` within 3 takes 0.8 to 0.95 of the time.
    #[inline(always)]
    fn compare_few(&mut self, tables: &[KeptTable], found: usize) -> Result<()> {
        let Self { runs, segment, keys, ask, stop, matches, work, .. } = self;
        stop.check()?;
        let mut start = 0;
        let rows = tables.iter().zip(&runs.of_tables).enumerate().map(|(table, (of, at))| {
            let some = runs.runs[start..at.runs_end].iter();
            start = at.runs_end;
            let row = KeyRow { keys: keys[of.number].lines(), query: at.query, table };
            (row, some.map(|run| run.start as usize..run.end as usize))
        });
        runs_within(segment.identity().level(), rows, ask.k, |row, number| {
            tell(segment, &tables[row.table], (row.keys[number], row.query), *ask, matches);
        });
        work.keys_compared += found as u64;
        Ok(())
    }

    /// Finds the matches in the runs, each in the last table that finds it.
    #[inline(always)]
    fn compare_runs(&mut self, tables: &[KeptTable]) -> Result<()> {
        let Self { runs, segment, keys, ask, stop, matches, work, .. } = self;
        let level = segment.identity().level();
        let most = if ask.most < COMPARED { COMPARED_FOR_SOME } else { COMPARED };
        let pieces = Pieces::of(runs, most);
        let row = |table: usize| KeyRow {
            keys: keys[tables[table].number].lines(),
            query: runs.of_tables[table].query,
            table,
        };
        loop {
            stop.check()?;
            let rows = pieces.tables().map(|(table, runs)| (row(table), runs));
            runs_within(level, rows, ask.k, |row, number| {
                tell(segment, &tables[row.table], (row.keys[number], row.query), *ask, matches);
            });
            let compared = pieces.compared.take();
            work.keys_compared += compared as u64;
            if matches.len() > ask.most || compared < most {
                return Ok(());
            }
        }
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

/// Adds a match of a table, unless another table of the search tells it.
#[inline(always)]
fn tell(
    segment: &Tables,
    of_table: &KeptTable,
    (key, query): (u64, u64),
    ask: Ask,
    matches: &mut Vec<Match>,
) {
    let bits = key ^ query;
    if of_table.tells(bits) {
        let table = &segment.all()[of_table.number];
        ask.tell(matches, table.permutation().fingerprint(key), bits.count_ones());
    }
}

/// The runs of a search, a long one in pieces.
struct Pieces<'a> {
    all: &'a KeptRuns,
    /// Keys of pieces after which iterators end.
    most: usize,
    /// The first table and the first run that are not done.
    table: Cell<usize>,
    run: Cell<usize>,
    /// The keys of that run before this one are done.
    from: Cell<u32>,
    /// Keys of the pieces that came, until the caller takes their number.
    compared: Cell<usize>,
}

impl<'a> Pieces<'a> {
    fn of(all: &'a KeptRuns, most: usize) -> Self {
        Self {
            all,
            most,
            table: Cell::default(),
            run: Cell::default(),
            from: Cell::default(),
            compared: Cell::default(),
        }
    }

    /// The tables with runs that are not done, and the pieces of these. All end once `most` keys have come.
    #[inline(always)]
    fn tables(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = Range<usize>>)> {
        std::iter::from_fn(move || {
            if self.compared.get() >= self.most {
                return None;
            }
            loop {
                let table = self.table.get();
                let end = self.all.of_tables.get(table)?.runs_end;
                if self.run.get() < end {
                    return Some((table, std::iter::from_fn(move || self.next_before(end))));
                }
                self.table.set(table + 1);
            }
        })
    }

    /// The next piece of the runs before this one.
    #[inline(always)]
    fn next_before(&self, end: usize) -> Option<Range<usize>> {
        let at = self.run.get();
        if at >= end || self.compared.get() >= self.most {
            return None;
        }
        let run = &self.all.runs[at];
        let start = run.start.max(self.from.get());
        let is_long = (run.end - start) as usize > self.most;
        let end = if is_long { start + self.most as u32 } else { run.end };
        self.from.set(if is_long { end } else { 0 });
        self.run.set(at + usize::from(!is_long));
        self.compared.set(self.compared.get() + (end - start) as usize);
        Some(start as usize..end as usize)
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
