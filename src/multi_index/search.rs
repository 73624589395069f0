//! Searches one segment: probes groups of part tables, gathers the rows of their keys, and compares these with the base.

use super::MultiIndex;
use super::kernel::{Kernel, Run};
use super::thresholds::Step;
use crate::error::Result;
use crate::execution::Stop;
use crate::fingerprint::Fingerprint;
use crate::flips;
use crate::format::{GROUP_BITS, GROUP_KEYS};
use crate::mapped::prefetch_lines;
use crate::simd::{Level, by_level};

/// Groups that are looked at together: what they need is asked for before any of it is used.
const GROUPS: usize = 512;
/// Rows that are compared together, at least.
const ROWS: usize = 1024;
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
    group: u32,
    /// Bits of the end of the key that may differ.
    left: u32,
}

/// The buffers of a search, kept from one to the next.
#[derive(Default)]
pub(crate) struct Probing {
    probes: Vec<Probe>,
    runs: Vec<Run>,
    rows: Vec<u32>,
    /// Whether pages are probably on the disk: then all that are needed are asked for together.
    pub(crate) is_cold: bool,
    /// Rows of the groups that were looked at with the keys of a part that are wanted.
    of_groups: usize,
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
                if !self.probe(index, (query, k), wanted, stop, found)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Forgets what the last search has done.
    fn start(&mut self) {
        (self.groups, self.compared, self.is_scan) = (0, 0, false);
    }

    /// Gives the rows under the keys of a part that are wanted, within `k` of the query, to `found`; `false` if that says no.
    fn probe<F: Fingerprint>(
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
        let group_bits = part.group_bits();
        let mut result = Ok(true);
        self.of_groups = 0;
        self.probes.clear();
        let mut take = |probing: &mut Self| {
            result = probing.look(index, (query, k), (wanted, end), stop, found);
            probing.probes.clear();
            matches!(result, Ok(true))
        };
        let goes_on = flips::up_to(group_bits, wanted.threshold, |flipped| {
            let left = wanted.threshold - flipped.count_ones();
            if wanted.is_exact && left > GROUP_BITS {
                return true;
            }
            self.probes.push(Probe { group: (own ^ flipped) as u32, left });
            self.probes.len() < GROUPS || take(self)
        });
        if goes_on {
            take(self);
        }
        result
    }

    /// Looks at the probes that were gathered.
    fn look<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        (query, k): (F, u32),
        (wanted, end): (Wanted, usize),
        stop: &Stop,
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<bool> {
        stop.check()?;
        let level = index.level;
        let part = &index.parts[wanted.part];
        self.groups += self.probes.len() as u64;
        if self.is_cold {
            let groups = || self.probes.iter().map(|probe| probe.group as usize);
            part.file.will_need(groups().map(|group| part.at_start(group)));
            part.file.will_need(groups().map(|group| part.at_marks(group)));
        }
        self.probes.iter().for_each(|probe| part.prefetch_start(probe.group as usize));
        self.probes.iter().for_each(|probe| part.prefetch_marks(probe.group as usize));
        self.runs.clear();
        for probe in &self.probes {
            let span = part.span(probe.group as usize)?;
            // No group comes twice, and no row is in two: this bounds the time of a search, whatever the starts say.
            self.of_groups += span.to - span.from - GROUP_KEYS as usize;
            if self.of_groups as u64 > index.base.count() {
                return Err(part.group_error(probe.group as usize));
            }
            let ball = |radius: u32| BALLS[radius.min(GROUP_BITS) as usize][end];
            let mut mask = ball(probe.left);
            if let Some(nearer) = probe.left.checked_sub(1).filter(|_| wanted.is_exact) {
                mask &= !ball(nearer);
            }
            let before = self.runs.len();
            if !part.find(level, span, mask, &mut self.runs) {
                return Err(part.group_error(probe.group as usize));
            }
            for run in &self.runs[before..] {
                part.prefetch_rows(run.first as usize);
            }
        }
        self.rows.clear();
        if self.is_cold && part.header.number > 0 {
            part.file.will_need(self.runs.iter().map(|run| part.at_row(run.first as usize)));
        }
        for number in 0..self.runs.len() {
            let (run, before) = (self.runs[number], self.rows.len());
            // A key that many rows have comes piece by piece.
            for first in (run.first..run.first + run.length).step_by(ROWS) {
                let length = (run.first + run.length - first).min(ROWS as u32);
                part.rows(Run { first, length }, &mut self.rows)?;
                if self.rows.len() >= 2 * ROWS && !self.compare(index, (query, k), found)? {
                    return Ok(false);
                }
            }
            let before = before.min(self.rows.len());
            for &row in &self.rows[before..] {
                prefetch_lines(&index.base.file.bytes, index.base.place(row.into()), 1);
            }
        }
        self.compare(index, (query, k), found)
    }

    /// Compares the rows that were gathered, and forgets them.
    #[inline]
    fn compare<F: Fingerprint>(
        &mut self,
        index: &MultiIndex<F>,
        query: (F, u32),
        found: &mut dyn FnMut(Near) -> bool,
    ) -> Result<bool> {
        let base = &index.base;
        if self.is_cold {
            base.file.will_need(self.rows.iter().map(|&row| base.place(row.into())));
        }
        if !base.file.chunks.are_verified() {
            for &row in &self.rows {
                base.checked(row.into()..u64::from(row) + 1)?;
            }
        }
        self.compared += self.rows.len() as u64;
        let (rows, mut goes_on) = (&self.rows, true);
        by_level!(index.level, kernel => kernel.compare(base.rows(), rows, query, |at, distance| {
            goes_on = goes_on && found(Near { row: rows[at], distance });
        }));
        self.rows.clear();
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
            self.probe(index, (query, bound), wanted, stop, &mut take)?;
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
