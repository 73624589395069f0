//! Searches one segment: probes groups of part tables, gathers the rows of their keys, and compares
//! these with the base.

use std::collections::VecDeque;
use std::iter;
use std::ops::Range;

use super::MultiIndex;
use super::kernel::{Filled, Kernel, Probe, Run};
use super::part::PartTable;
use super::thresholds::{Around, Steps};
use crate::cover::{self, Step};
use crate::error::Result;
use crate::execution::Stop;
use crate::fingerprint::Fingerprint;
use crate::flips;
use crate::format::GROUP_BITS;
use crate::mapped::prefetch_one;
use crate::simd::{Level, by_level};

/// Groups that are gathered, of one part or of several, before the first of them is looked at:
/// those of most searches, so that what is asked for ahead runs dry once. The runs of as many take
/// less than [`Probing::MOST_BYTES`].
const GROUPS: usize = 1920;
/// Groups that are looked at in one step, while what the next ones need is on its way.
const STEP: usize = 16;
/// Runs, and rows, that wait for the cache.
const RUNS_ON_THE_WAY: usize = 32;
const ROWS_ON_THE_WAY: usize = 64;
/// Rows of a run that are taken together at most, and rows that may wait.
const ROWS: usize = 1024;
/// Where pages are on the disk, more groups are looked at together, and more rows compared: all of
/// them are read at the same time.
const COLD_GROUPS: usize = 1 << 14;
const COLD_ROWS: usize = 1 << 14;
/// Of so many groups one is taken to find out whether pages are on the disk. To ask takes a system
/// call or three.
const SAMPLED: usize = 512;
/// Spreads groups over the rows.
const ROW_OF_GROUP: u64 = 0x9E37_79B9_7F4A_7C15;
/// Rows of a scan between two looks at the stop.
const SCANNED: u64 = 1 << 14;

/// For each distance up to 6, and each end of a key in its group, the ends within that distance.
const BALLS: [[u64; 64]; 7] = balls();

const fn balls() -> [[u64; 64]; 7] {
    let mut balls = [[0; 64]; 7];
    let mut radius = 0;
    while radius < 7 {
        let mut pair = 0;
        while pair < 64 * 64 {
            let (center, other): (usize, usize) = (pair / 64, pair % 64);
            if (center ^ other).count_ones() <= radius as u32 {
                balls[radius][center] |= 1 << other;
            }
            pair += 1;
        }
        radius += 1;
    }
    balls
}

/// A stored fingerprint near the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Near {
    pub(crate) row: u32,
    pub(crate) distance: u32,
}

/// The buffers of a search, kept from one to the next.
#[derive(Default)]
pub(crate) struct Probing {
    probes: Vec<Probe>,
    /// The runs that were found, and for each part that they are of the number of runs up to its
    /// last.
    runs: Filled<Run>,
    ends: VecDeque<(u32, usize)>,
    /// How many of them have given their rows.
    taken: usize,
    /// The rows that were not compared yet.
    rows: Filled<u32>,
    /// Whether pages are probably on the disk: then all that are needed are asked for together. A
    /// search that finds this out turns to it.
    pub(crate) is_cold: bool,
    /// Rows of the groups that were looked at with the keys of a part that are wanted.
    of_part: (u32, usize),
    /// Number of groups that the last search has looked at.
    pub(crate) groups: u64,
    /// Number of rows that it has compared.
    pub(crate) compared: u64,
    /// Whether it has read the whole base, or begun to.
    pub(crate) is_scan: bool,
}

/// Keys of a part that are wanted.
#[derive(Clone, Copy)]
struct Wanted {
    part: usize,
    threshold: u32,
    /// Only those that differ in as many bits, not in less.
    is_exact: bool,
}

impl Probing {
    /// Bytes that a search takes at most, but for what it finds.
    pub(crate) const MOST_BYTES: u64 = 1 << 20;

    /// Gives all rows within `k` of `query` to `found`, some several times, until it says no.
    pub(crate) fn search<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        (query, k): (F, u32),
        stop: &Stop,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<()> {
        self.start();
        let own = self.steps_of(index, query, k as usize + 1)?;
        let Some(steps) = own.as_ref().unwrap_or(&index.steps).within(k) else {
            return self.scan(index, (query, k), stop, found);
        };
        for (part, threshold) in cover::flips(index.parts.len(), steps).into_iter().enumerate() {
            let Some(threshold) = threshold else { continue };
            let wanted = Wanted { part, threshold, is_exact: false };
            if !self.gather(index, (query, k), wanted, stop, found)? {
                return Ok(());
            }
        }
        self.is_cold = self.is_cold || self.finds_absent(index);
        self.look(index, (query, k), stop, found)?;
        Ok(())
    }

    /// Forgets what the last search has done.
    fn start(&mut self) {
        (self.groups, self.compared, self.is_scan) = (0, 0, false);
        self.of_part = (u32::MAX, 0);
        self.probes.clear();
    }

    /// The steps of a query where keys differ in how many rows they have: up to `most`. `None`
    /// where those of the average query do.
    fn steps_of<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: F,
        most: usize,
    ) -> Result<Option<Steps>> {
        if index.costs.is_even() {
            return Ok(None);
        }
        let keys = index.parts.iter().map(|part| part.keys.key(index.level, query));
        let keys: Vec<u64> = keys.collect();
        let groups = |number: usize| {
            let (part, own) = (&index.parts[number], (keys[number] >> GROUP_BITS) as usize);
            iter::once(own).chain((0..part.group_bits()).map(move |bit| own ^ 1 << bit))
        };
        // With few steps no part needs a threshold over 0, and only rows of the very keys count.
        let is_few = 4 * most <= 3 * index.parts.len();
        let wanted = if is_few { 1 } else { usize::MAX };
        for (number, part) in index.parts.iter().enumerate() {
            if self.is_cold {
                let groups = groups(number).take(wanted);
                part.file.will_need(groups.map(|group| part.at_start(group)));
            } else {
                let groups = groups(number).take(wanted);
                groups.for_each(|group| prefetch_one(part.pieces().starts, group));
            }
        }
        for (number, part) in index.parts.iter().enumerate() {
            part.check_starts((keys[number] >> GROUP_BITS) as usize)?;
            part.pieces().prefetch_marks((keys[number] >> GROUP_BITS) as usize);
        }
        let mut around = Vec::with_capacity(index.parts.len());
        for (number, part) in index.parts.iter().enumerate() {
            let key = keys[number];
            let own = self.rows_of_keys(index.level, part, key, 0)?;
            if is_few {
                around.push(Around { own, ..Around::default() });
                continue;
            }
            let beside = self.rows_of_keys(index.level, part, key, 1)?;
            let of_group = part.group_rows((key >> GROUP_BITS) as usize)?;
            let other = of_group.saturating_sub(own.saturating_add(beside));
            // Starts that are not sound may add up to anything.
            let mut groups = groups(number).skip(1).map(|group| part.group_rows(group));
            let around_group = groups.try_fold(0u32, |sum, rows| Ok(sum.saturating_add(rows?)))?;
            around.push(Around { own, beside, other, around_group });
        }
        Ok(Some(index.costs.steps_of(most, is_few, &around)))
    }

    /// The rows of the keys in the group of a key that differ from it in so many bits.
    fn rows_of_keys<F: Fingerprint>(
        &mut self,
        level: Level,
        part: &PartTable<F>,
        key: u64,
        bits: usize,
    ) -> Result<u32> {
        let (group, end) = ((key >> GROUP_BITS) as u32, key as usize & 63);
        let nearer = bits.checked_sub(1).map_or(0, |nearer| BALLS[nearer][end]);
        let probe = Probe { part: 0, group, keys: BALLS[bits][end] & !nearer };
        self.runs.clear();
        part.find(level, (&[probe], None), &mut self.runs)?;
        Ok(self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.length)))
    }

    /// Gathers the groups with keys of a part that are wanted. Where they become many, looks at
    /// them, and gives their rows within `k` of the query to `found`: `false` if that says no.
    fn gather<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        (query, k): (F, u32),
        wanted: Wanted,
        stop: &Stop,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<bool> {
        let part = &index.parts[wanted.part];
        let key = part.keys.key(index.level, query);
        let (own, end) = ((key >> GROUP_BITS) as usize, (key as usize) & 63);
        let starts = part.pieces().starts;
        let mut result = Ok(true);
        flips::up_to(part.group_bits(), wanted.threshold, |flipped| {
            let left = wanted.threshold - flipped.count_ones();
            let ball = |radius: u32| BALLS[radius.min(GROUP_BITS) as usize][end];
            let mut keys = ball(left);
            if wanted.is_exact {
                if left > GROUP_BITS {
                    return true;
                }
                keys &= !left.checked_sub(1).map_or(0, ball);
            }
            let group = own ^ flipped;
            prefetch_one(starts, group);
            self.probes.push(Probe { part: wanted.part as u32, group: group as u32, keys });
            let most = if self.is_cold { COLD_GROUPS } else { GROUPS };
            if self.probes.len() < most {
                return true;
            }
            if !self.is_cold && self.finds_absent(index) {
                self.is_cold = true;
                return true;
            }
            result = self.look(index, (query, k), stop, found);
            matches!(result, Ok(true))
        });
        result
    }

    /// Looks at the probes that were gathered, and forgets them; `false` if `found` said no.
    ///
    /// A line of memory takes as long as a hundred instructions, and each row asks for four that
    /// lie anywhere: the start of its group, the marks, its number, and itself. So each of them is
    /// asked for some steps before it is used, and between the two others are looked at: 23% less
    /// time for 256 bits within 31 than one part after the other. One line at a time is asked for
    /// between two steps of other work, since the CPU waits where it is asked for many.
    fn look<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: (F, u32),
        stop: &Stop,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<bool> {
        stop.check()?;
        self.groups += self.probes.len() as u64;
        self.runs.clear();
        self.ends.clear();
        self.rows.clear();
        self.taken = 0;
        let count = self.probes.len();
        if self.is_cold {
            self.ask_for(index, PartTable::<F>::at_start);
            self.ask_for(index, PartTable::<F>::at_marks);
        }
        for start in (0..count + STEP).step_by(STEP) {
            let is_last = start >= count;
            let next = start.min(count)..(start + STEP).min(count);
            self.find(index, start.saturating_sub(STEP)..next.start, next)?;
            // Pages of the disk are asked for all together.
            if self.is_cold && !is_last {
                continue;
            }
            let waiting = if is_last { 0 } else { RUNS_ON_THE_WAY };
            if !self.take_rows(index, query, waiting, found)? {
                return Ok(false);
            }
            let waiting = if is_last { 0 } else { ROWS_ON_THE_WAY };
            if !self.compare(index, query, waiting, found)? {
                return Ok(false);
            }
        }
        self.probes.clear();
        Ok(true)
    }

    /// Whether the page of a start, of marks, or of a row that may be wanted is on the disk, of
    /// some groups.
    fn finds_absent<F: Fingerprint>(&self, index: &MultiIndex<F>) -> bool {
        let base = &index.base;
        self.probes.iter().skip(SAMPLED / 2).step_by(SAMPLED).any(|probe| {
            let (part, group) = (&index.parts[probe.part as usize], probe.group as usize);
            // Which rows the group leads to is not known yet: any others tell as much.
            let spread = u64::from(probe.group).wrapping_mul(ROW_OF_GROUP) >> 32;
            let row = (spread * base.count()) >> 32;
            part.file.bytes.is_absent(part.at_start(group))
                || part.file.bytes.is_absent(part.at_marks(group))
                || base.file.bytes.is_absent(base.place(row))
        })
    }

    /// Asks the system for what stands at some place for each of the groups, of all parts together.
    #[cold]
    fn ask_for<F: Fingerprint>(
        &self,
        index: &MultiIndex<F>,
        at: fn(&PartTable<F>, usize) -> usize,
    ) {
        for probes in self.probes.chunk_by(|one, other| one.part == other.part) {
            let part = &index.parts[probes[0].part as usize];
            part.file.will_need(probes.iter().map(|probe| at(part, probe.group as usize)));
        }
    }

    /// Asks the system for the numbers of the rows of all runs.
    #[cold]
    fn ask_for_rows<F: Fingerprint>(&self, index: &MultiIndex<F>) {
        let mut from = self.taken;
        for &(number, end) in &self.ends {
            let part = &index.parts[number as usize];
            // In the order of the base there are no numbers.
            if part.geometry.row_bits > 0 {
                let runs = self.runs[from..end].iter();
                part.file.will_need(runs.map(|run| part.at_row(run.first as usize)));
            }
            from = end;
        }
    }

    /// Finds the places of the keys of some probes, and asks for the marks of the next ones.
    fn find<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        probes: Range<usize>,
        next: Range<usize>,
    ) -> Result<()> {
        let of_parts = |probes| <[Probe]>::chunk_by(probes, |one, other| one.part == other.part);
        let part = |probes: &[Probe]| &index.parts[probes[0].part as usize];
        let mut next = &self.probes[next];
        for probes in of_parts(&self.probes[probes]) {
            let ahead = of_parts(next).next().map(|ahead| {
                let some = &ahead[..ahead.len().min(probes.len())];
                next = &next[some.len()..];
                (part(some).pieces(), some)
            });
            let (number, part) = (probes[0].part, part(probes));
            if self.of_part.0 != number {
                self.of_part = (number, 0);
            }
            self.of_part.1 += part.find(index.level, (probes, ahead), &mut self.runs)?;
            // No group comes twice, and no row is in two: this bounds the time of a search,
            // whatever the starts say.
            if self.of_part.1 as u64 > index.base.count() {
                return Err(part.group_error(probes[probes.len() - 1].group as usize));
            }
            match self.ends.back_mut() {
                Some((last, end)) if *last == number => *end = self.runs.len(),
                _ => self.ends.push_back((number, self.runs.len())),
            }
        }
        for probes in of_parts(next) {
            let pieces = part(probes).pieces();
            for probe in probes {
                pieces.prefetch_marks(probe.group as usize);
            }
        }
        Ok(())
    }

    /// Takes the numbers of the rows of all runs but some that wait; `false` if `found` said no.
    fn take_rows<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: (F, u32),
        waiting: usize,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<bool> {
        let most = if self.is_cold { COLD_ROWS } else { 2 * ROWS };
        let end = self.runs.len().saturating_sub(waiting);
        if self.is_cold {
            self.ask_for_rows(index);
        }
        while let Some(&(number, of_part)) = self.ends.front().filter(|_| self.taken < end) {
            let part = &index.parts[number as usize];
            while self.taken < of_part.min(end) {
                let runs = &mut self.runs[self.taken..of_part.min(end)];
                let mut rows = 0;
                let few = runs.iter().take_while(|run| {
                    rows += run.length as usize;
                    rows <= ROWS
                });
                match few.count() {
                    // A key that many rows have comes piece by piece.
                    0 => {
                        let length = ROWS as u32;
                        let piece = Run { first: runs[0].first, length };
                        runs[0] =
                            Run { first: piece.first + length, length: runs[0].length - length };
                        part.rows(index.level, (&[piece], &index.base), &mut self.rows)?;
                    }
                    few => {
                        part.rows(index.level, (&runs[..few], &index.base), &mut self.rows)?;
                        self.taken += few;
                    }
                }
                if self.rows.len() >= most && !self.compare(index, query, 0, found)? {
                    return Ok(false);
                }
            }
            if self.taken == of_part {
                self.ends.pop_front();
            }
        }
        Ok(true)
    }

    /// Compares the rows that were taken, but for some that wait, and forgets them; `false` if
    /// `found` said no.
    #[inline]
    fn compare<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: (F, u32),
        waiting: usize,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<bool> {
        let base = &index.base;
        // To move those that wait costs something.
        if self.rows.len() < 2 * waiting {
            return Ok(true);
        }
        let rows = &self.rows[..self.rows.len() - waiting];
        if self.is_cold {
            base.file.will_need(rows.iter().map(|&row| base.place(row.into())));
        }
        if !base.file.chunks.are_verified() {
            for &row in rows {
                base.checked(row.into()..u64::from(row) + 1)?;
            }
        }
        self.compared += rows.len() as u64;
        let mut goes_on = true;
        by_level!(index.level, kernel => kernel.compare(base.rows(), rows, query, |at, distance| {
            goes_on = goes_on && found(Near { row: rows[at], distance });
        }));
        let compared = rows.len();
        self.rows.drop_first(compared);
        Ok(goes_on)
    }

    /// Gives all rows within `k` of `query` to `found`, each once, until it says no: reads the
    /// whole base.
    pub(crate) fn scan<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: (F, u32),
        stop: &Stop,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<()> {
        self.start();
        self.is_scan = true;
        let (base, mut goes_on) = (&index.base, true);
        let mut start = 0;
        while start < base.count() && goes_on {
            stop.check()?;
            let end = (start + SCANNED).min(base.count());
            let rows = base.checked(start..end)?;
            self.compared += end - start;
            by_level!(index.level, kernel => kernel.scan(rows, query, |at, distance| {
                goes_on = goes_on && found(Near { row: start as u32 + at as u32, distance });
            }));
            start = end;
        }
        Ok(())
    }

    /// Gives rows to `taker`, in order of growing radius, until that has enough; all that it wants
    /// of the rest in one scan, as soon as that is the better way.
    pub(crate) fn widen<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: F,
        stop: &Stop,
        taker: &mut dyn Widening,
    ) -> Result<()> {
        self.start();
        let own = self.steps_of(index, query, F::BITS as usize + 1)?;
        let steps = own.as_ref().unwrap_or(&index.steps);
        for radius in 0.. {
            let bound = taker.bound();
            let work = (self.groups, self.compared);
            let step = steps.widening(radius, bound, work);
            let Some(&Step { part, flips: threshold, .. }) = step else {
                return self.scan_widening(index, query, stop, taker);
            };
            let wanted = Wanted { part, threshold, is_exact: true };
            let mut take = |near| {
                taker.take(near);
                true
            };
            // The same part may come again.
            self.of_part = (u32::MAX, 0);
            self.gather(index, (query, bound), wanted, stop, &mut take)?;
            self.is_cold = self.is_cold || self.finds_absent(index);
            self.look(index, (query, bound), stop, &mut take)?;
            if taker.bound() <= radius {
                break;
            }
        }
        Ok(())
    }

    /// Gives all rows within what is wanted at the time, which gets less, to `taker`.
    fn scan_widening<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: F,
        stop: &Stop,
        taker: &mut dyn Widening,
    ) -> Result<()> {
        self.is_scan = true;
        let base = &index.base;
        let mut start = 0;
        // Few at first, so that most are compared with what is near already.
        let mut piece = 1 << 6;
        while start < base.count() {
            stop.check()?;
            let end = (start + piece).min(base.count());
            let (rows, bound) = (base.checked(start..end)?, taker.bound());
            self.compared += end - start;
            by_level!(index.level, kernel => kernel.scan(rows, (query, bound), |at, distance| {
                taker.take(Near { row: start as u32 + at as u32, distance });
            }));
            start = end;
            piece = (2 * piece).min(SCANNED);
        }
        Ok(())
    }
}

/// Takes rows, in order of growing radius, some several times.
pub(crate) trait Widening {
    /// The greatest distance that is wanted: it never grows.
    fn bound(&self) -> u32;
    /// Takes a row.
    fn take(&mut self, near: Near);
}

/// The level that searches run with.
pub(super) fn level() -> Level {
    Level::best()
}
