//! Searches in the hot index of a segment: runs of keys are looked up, and compared as they stand.

use std::cell::Cell;
use std::ops::Range;

use super::work::{Ask, SearchWork};
use crate::block::{KeyRow, runs_within, within};
use crate::cover::{self, Differs};
use crate::error::Result;
use crate::execution::Stop;
use crate::flips;
use crate::hot_index::{self, HotClaims, HotIndex, MOST_RUNS, Parts};
use crate::simd::{Level, Work};
use crate::snapshot::union::Match;

/// Keys that are compared, or a few more, before it is looked whether to stop.
const COMPARED: usize = 1 << 12;

/// The same where few matches are enough.
const COMPARED_FOR_SOME: usize = 1 << 7;

/// The first keys of a look whose radius narrows: all of them may be within it.
const FIRST_NARROWED: usize = 64;

/// The runs of a search, those of a part after those of the one before.
#[derive(Default)]
pub(super) struct HotRuns {
    /// Numbers of keys, of the runs that are not empty. Before these are known, the prefixes of all
    /// runs stand in their place, as starts.
    runs: Vec<Range<u32>>,
    of_parts: Vec<OfPart>,
}

/// What a search looks up in a part.
struct OfPart {
    /// The query as a key of the part.
    query: u64,
    /// Where its prefixes end.
    prefixes_end: usize,
    /// Where its runs end.
    runs_end: usize,
}

impl HotRuns {
    /// Bytes of the runs of a search at most, but for some of each part.
    pub(super) const MOST_BYTES: u64 = MOST_RUNS as u64 * size_of::<Range<u32>>() as u64;
}

/// A search in a hot index.
pub(super) struct SearchingHot<'a> {
    /// A buffer.
    pub(super) runs: &'a mut HotRuns,
    pub(super) index: &'a HotIndex,
    pub(super) level: Level,
    pub(super) ask: Ask,
    pub(super) stop: &'a Stop,
    pub(super) matches: &'a mut Vec<Match>,
    pub(super) work: &'a mut SearchWork,
}

impl Work for SearchingHot<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn work(mut self) -> Self::Output {
        let (index, parts) = (self.index, self.index.parts());
        match index.plan(self.ask.k).and_then(|plan| plan.claims.as_ref()) {
            Some(claims) => match self.look_up(claims, parts) {
                // In crowded sets the runs may hold more keys than there are fingerprints.
                found if found > index.count() => self.compare_all()?,
                found if found <= COMPARED_FOR_SOME => self.compare_few(claims, parts, found)?,
                _ => self.compare_runs(claims, parts)?,
            },
            None => self.compare_all()?,
        }
        self.stop.check()
    }
}

impl SearchingHot<'_> {
    /// Finds the runs that are not empty, and gives the number of their keys.
    #[inline(always)]
    fn look_up(
        &mut self,
        HotClaims { parts: used, claims }: &HotClaims,
        parts: Parts<'_>,
    ) -> usize {
        let Self { runs: HotRuns { runs, of_parts }, ask, .. } = self;
        runs.clear();
        of_parts.clear();
        for (&part, claim) in used.iter().zip(claims) {
            let part = parts.get(part);
            let query = part.key(ask.fingerprint);
            let prefix = part.prefix(query);
            flips::up_to(part.prefix_bits(), claim.flips, |flipped| {
                part.prefetch(prefix ^ flipped);
                runs.push((prefix ^ flipped) as u32..0);
                true
            });
            of_parts.push(OfPart { query, prefixes_end: runs.len(), runs_end: 0 });
        }
        self.work.runs_looked_up += runs.len() as u64;
        let (mut start, mut count, mut all) = (0, 0, 0);
        for (&part, OfPart { prefixes_end, runs_end, .. }) in used.iter().zip(of_parts.iter_mut()) {
            let part = parts.get(part);
            for at in start..*prefixes_end {
                let run = part.run(runs[at].start as usize);
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

    /// As [`Self::compare_runs`], of runs with so few keys that none is cut into pieces.
    #[inline(always)]
    fn compare_few(&mut self, claims: &HotClaims, parts: Parts<'_>, found: usize) -> Result<()> {
        let Self { runs, level, ask, stop, matches, work, .. } = self;
        stop.check()?;
        let mut start = 0;
        let rows = claims.parts.iter().zip(&runs.of_parts).enumerate();
        let rows = rows.map(|(table, (&part, of_part))| {
            let some = runs.runs[start..of_part.runs_end].iter();
            start = of_part.runs_end;
            let row = KeyRow { keys: parts.get(part).lines(), query: of_part.query, table };
            (row, some.map(|run| run.start as usize..run.end as usize))
        });
        runs_within(*level, rows, ask.k, |row, number| {
            report(claims, row, number, *ask, matches);
        });
        work.keys_compared += found as u64;
        Ok(())
    }

    /// Finds the matches in the runs.
    #[inline(always)]
    fn compare_runs(&mut self, claims: &HotClaims, parts: Parts<'_>) -> Result<()> {
        let Self { runs, level, ask, stop, matches, work, .. } = self;
        let most = if ask.most < COMPARED { COMPARED_FOR_SOME } else { COMPARED };
        let pieces = Pieces::of(runs, most);
        let row = |table: usize| KeyRow {
            keys: parts.get(claims.parts[table]).lines(),
            query: runs.of_parts[table].query,
            table,
        };
        loop {
            stop.check()?;
            let rows = pieces.parts().map(|(table, runs)| (row(table), runs));
            runs_within(*level, rows, ask.k, |row, number| {
                report(claims, row, number, *ask, matches);
            });
            let compared = pieces.compared.take();
            work.keys_compared += compared as u64;
            if matches.len() > ask.most || compared < most {
                return Ok(());
            }
        }
    }

    /// Finds the matches among all fingerprints.
    #[inline(always)]
    fn compare_all(&mut self) -> Result<()> {
        let Self { index, level, ask, stop, matches, work, .. } = self;
        work.full_scans += 1;
        let query = ask.fingerprint;
        for some in index.fingerprints().chunks(COMPARED) {
            within(*level, some, (query, ask.k), |number| {
                ask.tell(matches, some[number], (some[number] ^ query).count_ones());
            });
            work.keys_compared += some.len() as u64;
            if matches.len() > ask.most {
                break;
            }
            stop.check()?;
        }
        Ok(())
    }
}

/// Adds a key of a part that is within k, unless a later part of the search reports it.
#[inline(always)]
fn report(
    HotClaims { parts: used, claims }: &HotClaims,
    row: &KeyRow<'_>,
    number: usize,
    ask: Ask,
    matches: &mut Vec<Match>,
) {
    let fingerprint = hot_index::fingerprint(used[row.table], row.keys[number]);
    let differs = Differs::all(fingerprint ^ ask.fingerprint);
    let later = claims[row.table + 1..].iter().copied();
    // A run may hold keys whose part differs in more bits than its prefix does: another part finds
    // those.
    if claims[row.table].finds(differs) && cover::reports(later, differs) {
        ask.tell(matches, fingerprint, differs.bits.count_ones());
    }
}

/// The runs of a search, a long one in pieces.
struct Pieces<'a> {
    all: &'a HotRuns,
    /// Keys of pieces after which iterators end.
    most: usize,
    /// The first part and the first run that are not done.
    part: Cell<usize>,
    run: Cell<usize>,
    /// The keys of that run before this one are done.
    from: Cell<u32>,
    /// Keys of the pieces that came, until the caller takes their number.
    compared: Cell<usize>,
}

impl<'a> Pieces<'a> {
    fn of(all: &'a HotRuns, most: usize) -> Self {
        Self {
            all,
            most,
            part: Cell::default(),
            run: Cell::default(),
            from: Cell::default(),
            compared: Cell::default(),
        }
    }

    /// The parts with runs that are not done, and the pieces of these. All end once `most` keys
    /// have come.
    #[inline(always)]
    fn parts(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = Range<usize>>)> {
        std::iter::from_fn(move || {
            if self.compared.get() >= self.most {
                return None;
            }
            loop {
                let part = self.part.get();
                let end = self.all.of_parts.get(part)?.runs_end;
                if self.run.get() < end {
                    return Some((part, std::iter::from_fn(move || self.next_before(end))));
                }
                self.part.set(part + 1);
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

/// A look at all fingerprints of a hot index, within a radius that narrows.
pub(super) struct NarrowingHot<'a> {
    pub(super) fingerprints: &'a [u64],
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

impl Work for NarrowingHot<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn work(self) -> Self::Output {
        let Self { fingerprints: mut rest, level, query, mut k, stop, matches, work, take } = self;
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
