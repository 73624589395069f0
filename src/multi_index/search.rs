//! Searches one segment: probes groups of part tables, gathers the rows of their keys, and compares these with the base.

use std::collections::VecDeque;
use std::ops::Range;

use super::MultiIndex;
use super::kernel::{Kernel, Run};
use super::part::PartTable;
use super::thresholds::Step;
use crate::error::Result;
use crate::execution::Stop;
use crate::fingerprint::Fingerprint;
use crate::flips;
use crate::format::{GROUP_BITS, GROUP_KEYS};
use crate::mapped::prefetch_lines;
use crate::simd::{Level, by_level};

/// Groups that are gathered, of one part or of several, before the first of them is looked at.
const GROUPS: usize = 1 << 10;
/// Groups that are looked at in one step, while what the next ones need is on its way.
const STEP: usize = 16;
/// Runs, and rows, that wait for the cache.
const RUNS_ON_THE_WAY: usize = 32;
const ROWS_ON_THE_WAY: usize = 64;
/// Rows of a run that are taken together at most, and rows that may wait.
const ROWS: usize = 1024;
/// Where pages are on the disk, more groups are looked at together, and more rows compared: all of them are read at the same
/// time.
const COLD_GROUPS: usize = 1 << 14;
const COLD_ROWS: usize = 1 << 14;
/// Of so many groups one is taken to find out whether pages are on the disk. To ask takes a system call or three.
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

/// A group that may have keys that are near enough.
#[derive(Clone, Copy)]
struct Probe {
    part: u32,
    group: u32,
    /// A bit for each key that is near enough.
    keys: u64,
}

/// The buffers of a search, kept from one to the next.
#[derive(Default)]
pub(crate) struct Probing {
    probes: Vec<Probe>,
    /// The runs that were found, and for each part that they are of the number of runs up to its last.
    runs: Vec<Run>,
    ends: VecDeque<(u32, usize)>,
    /// How many of them have given their rows.
    taken: usize,
    /// The rows that were not compared yet.
    rows: Vec<u32>,
    /// Whether pages are probably on the disk: then all that are needed are asked for together. A search that finds this
    /// out turns to it.
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
        let Some(steps) = index.steps.within(k) else {
            return self.scan(index, (query, k), stop, found);
        };
        for (number, step) in steps.iter().enumerate() {
            let Step { part, threshold, .. } = *step;
            // The last step of a part has its threshold.
            if steps[number + 1..].iter().all(|later| later.part != part) {
                let wanted = Wanted { part, threshold, is_exact: false };
                if !self.gather(index, (query, k), wanted, stop, found)? {
                    return Ok(());
                }
            }
        }
        self.look(index, (query, k), stop, found)?;
        Ok(())
    }

    /// Forgets what the last search has done.
    fn start(&mut self) {
        (self.groups, self.compared, self.is_scan) = (0, 0, false);
        self.of_part = (u32::MAX, 0);
        self.probes.clear();
    }

    /// Gathers the groups with keys of a part that are wanted. Where they become many, looks at them, and gives their rows
    /// within `k` of the query to `found`: `false` if that says no.
    fn gather<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        (query, k): (F, u32),
        wanted: Wanted,
        stop: &Stop,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<bool> {
        let part = &index.parts[wanted.part];
        let key = part.key(query);
        let (own, end) = ((key >> GROUP_BITS) as usize, (key as usize) & 63);
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
            part.prefetch_start(group);
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
    /// A line of memory takes as long as a hundred instructions, and each row asks for four that lie anywhere: the start of
    /// its group, the marks, its number, and itself. So each of them is asked for some steps before it is used, and between
    /// the two others are looked at: 23% less time for 256 bits within 31 than one part after the other.
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
        self.is_cold = self.is_cold || self.finds_absent(index);
        // Pages of the disk are asked for all together.
        let step = if self.is_cold { count.max(1) } else { STEP };
        if self.is_cold {
            self.ask_for(index, PartTable::at_start);
            self.ask_for(index, PartTable::at_marks);
        }
        for start in (0..count + step).step_by(step) {
            for probe in &self.probes[start.min(count)..(start + step).min(count)] {
                index.parts[probe.part as usize].prefetch_marks(probe.group as usize);
            }
            self.find(index, start.saturating_sub(step)..start.min(count))?;
            let is_last = start >= count;
            let waiting = if is_last || self.is_cold { 0 } else { RUNS_ON_THE_WAY };
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

    /// Whether the page of a start, of marks, or of a row that may be wanted is on the disk, of some groups.
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
    fn ask_for<F: Fingerprint>(&self, index: &MultiIndex<F>, at: fn(&PartTable, usize) -> usize) {
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
            // The first part has no numbers: its rows stand in the order of the base.
            if number > 0 {
                let runs = self.runs[from..end].iter();
                part.file.will_need(runs.map(|run| part.at_row(run.first as usize)));
            }
            from = end;
        }
    }

    /// Finds the places of the keys of some probes.
    fn find<F: Fingerprint>(&mut self, index: &MultiIndex<F>, probes: Range<usize>) -> Result<()> {
        for probe in &self.probes[probes] {
            let part = &index.parts[probe.part as usize];
            if self.of_part.0 != probe.part {
                self.of_part = (probe.part, 0);
            }
            let span = part.span(probe.group as usize)?;
            // No group comes twice, and no row is in two: this bounds the time of a search, whatever the starts say.
            self.of_part.1 += span.to - span.from - GROUP_KEYS as usize;
            let before = self.runs.len();
            if self.of_part.1 as u64 > index.base.count()
                || !part.find(index.level, span, probe.keys, &mut self.runs)
            {
                return Err(part.group_error(probe.group as usize));
            }
            for run in &self.runs[before..] {
                part.prefetch_rows(run.first as usize);
            }
            match self.ends.back_mut() {
                Some((last, end)) if *last == probe.part => *end = self.runs.len(),
                _ => self.ends.push_back((probe.part, self.runs.len())),
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
                let run = self.runs[self.taken];
                self.taken += 1;
                // A key that many rows have comes piece by piece.
                for first in (run.first..run.first + run.length).step_by(ROWS) {
                    let length = (run.first + run.length - first).min(ROWS as u32);
                    let before = self.rows.len();
                    part.rows(Run { first, length }, &mut self.rows)?;
                    for &row in &self.rows[before..] {
                        prefetch_lines(&index.base.file.bytes, index.base.place(row.into()), 1);
                    }
                    if self.rows.len() >= most && !self.compare(index, query, 0, found)? {
                        return Ok(false);
                    }
                }
            }
            if self.taken == of_part {
                self.ends.pop_front();
            }
        }
        Ok(true)
    }

    /// Compares the rows that were taken, but for some that wait, and forgets them; `false` if `found` said no.
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
        self.rows.drain(..compared);
        Ok(goes_on)
    }

    /// Gives all rows within `k` of `query` to `found`, each once, until it says no: reads the whole base.
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

    /// Gives rows to `taker`, in order of growing radius, until that has enough; all that it wants of the rest in one scan,
    /// as soon as that is the better way.
    pub(crate) fn widen<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: F,
        stop: &Stop,
        taker: &mut dyn Widening,
    ) -> Result<()> {
        self.start();
        for radius in 0.. {
            let bound = taker.bound();
            let work = (self.groups, self.compared);
            let step = index.steps.widening(radius, bound, work);
            let Some(&Step { part, threshold, .. }) = step else {
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
