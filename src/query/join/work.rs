//! A join that runs: range by range of the smaller fingerprint, and each of them piece by piece.
//! A side is the fingerprints of one of them, in memory.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::{Engine, JoinGroup};
use super::needs::{fingerprint_bytes, needed_bytes};
use super::options::Join;
use super::output::{Message, Output};
use super::plan::Prices;
use crate::error::Result;
use crate::execution::{Phase, Progress};
use crate::fingerprint::{Fingerprint, greatest, successor};
use crate::simd::Level;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Decode};
use crate::{memory, tasks};

/// Fingerprints that are in memory in any case.
const LEAST_CAPACITY: usize = 1 << 14;

/// A join that runs, in a pool of threads.
pub(super) struct RunningJoin<'a, F: Fingerprint> {
    join: &'a Join<F>,
    output: &'a Output<F>,
    /// Fingerprints that were read so far.
    reading: AtomicU64,
}

impl<'a, F: Fingerprint> RunningJoin<'a, F> {
    pub(super) fn new(join: &'a Join<F>, output: &'a Output<F>) -> Self {
        Self { join, output, reading: AtomicU64::new(0) }
    }

    /// Fingerprints that were read.
    pub(super) fn read(&self) -> u64 {
        self.reading.load(Ordering::Relaxed)
    }

    /// Joins those pairs whose `a` lies from `start` to `last`.
    pub(super) fn run(&self, mut start: F, last: F) -> Result<()> {
        let Join { a, b, .. } = self.join;
        let b = b.as_ref();
        let capacity = self.capacity();
        // Fingerprints at most, of the shard and of what may lie near it.
        let whole = a.estimate(start, last);
        let most = |of: &Snapshot<F>, start, last| {
            // The first and the last block may be longer than others.
            of.estimate(start, last).saturating_mul(2).saturating_add(1 << 12).min(of.len())
        };
        let other =
            b.map_or_else(|| most(a, start, greatest()), |b| most(b, F::default(), greatest()));
        let other = usize::try_from(other).unwrap_or(usize::MAX);
        let limit = match b {
            None if other <= capacity => capacity,
            Some(_) if other <= capacity / 2 => capacity - other,
            _ => capacity / 2,
        };
        let (mut side, mut pieces) = (Side::default(), Side::default());
        // Whether `pieces` holds all of the other store.
        let mut holds_all = false;
        let mut done = 0;
        loop {
            let mut cursor = Cursor::new(a, start, Decode::Together)?;
            let more = side.read(&mut cursor, last, limit, most(a, start, last), self.output)?;
            drop(cursor);
            self.reading.fetch_add(side.len(), Ordering::Relaxed);
            let Some(&last_read) = side.data.last() else {
                self.finish(start..=last, 0, Progress::of(Phase::Join, done, done));
                return Ok(());
            };
            let end = if more { last_read } else { last };
            let mut steps = Steps {
                work: self,
                before: done,
                fingerprints: side.len(),
                total: whole.max(done + side.len()),
                all: 0,
                done: 0,
            };
            let behind = match b {
                None => successor(end).map(|behind| (a, behind)),
                Some(b) => Some((b, F::default())),
            };
            let rest = behind.map_or(0, |(other, behind)| other.estimate(behind, greatest()));
            let piece = capacity.saturating_sub(side.data.len()).max(1);
            steps.all = side.len() * (rest / piece as u64 + 2) + rest;
            if b.is_none() {
                self.join_within(&mut side, &mut steps);
            }
            if let Some((other, behind)) = behind.filter(|_| !self.output.stopped()) {
                if holds_all {
                    self.join_between(&mut side, &mut pieces, &mut steps);
                } else {
                    let mut cursor = Cursor::new(other, behind, Decode::Together)?;
                    let mut first = true;
                    loop {
                        let expected = most(other, behind, greatest());
                        let more =
                            pieces.read(&mut cursor, greatest(), piece, expected, self.output)?;
                        self.reading.fetch_add(pieces.len(), Ordering::Relaxed);
                        self.join_between(&mut side, &mut pieces, &mut steps);
                        holds_all = b.is_some() && first && !more;
                        first = false;
                        if !more || self.output.stopped() {
                            break;
                        }
                    }
                }
            }
            if self.output.stopped() {
                return Ok(());
            }
            done += side.len();
            let total = if more { whole.max(done) } else { done };
            self.finish(start..=end, side.len(), Progress::of(Phase::Join, done, total));
            match successor(end).filter(|_| more) {
                Some(next) => start = next,
                None => return Ok(()),
            }
        }
    }

    fn finish(&self, range: RangeInclusive<F>, fingerprints: u64, progress: Progress) {
        self.join.execution.tell(progress);
        self.output.send(Message::Range { range, fingerprints });
    }

    fn join_within(&self, side: &mut Side<F>, steps: &mut Steps<'_, F>) {
        let fingerprints = side.len();
        steps.run(fingerprints, |engine| {
            engine.join(JoinGroup { data: [&mut side.data], room: [&mut side.room] });
        });
    }

    fn join_between(&self, side: &mut Side<F>, other: &mut Side<F>, steps: &mut Steps<'_, F>) {
        steps.run(side.len() + other.len(), |engine| {
            let data: [&mut [F]; 2] = [&mut side.data, &mut other.data];
            engine.join(JoinGroup { data, room: [&mut side.room, &mut other.room] });
        });
    }

    /// Fingerprints for which there is memory.
    fn capacity(&self) -> usize {
        if let Some(capacity) = self.join.capacity {
            return capacity;
        }
        let Some(memory) = self.join.execution.memory_limit() else { return usize::MAX };
        let threads = tasks::threads() as u64;
        let fingerprints =
            memory.saturating_sub(needed_bytes::<F>(0, threads)) / fingerprint_bytes::<F>();
        usize::try_from(fingerprints).unwrap_or(usize::MAX).max(LEAST_CAPACITY)
    }
}

/// What is done of a range, for progress.
struct Steps<'a, F: Fingerprint> {
    work: &'a RunningJoin<'a, F>,
    /// Fingerprints of earlier ranges, of this one, and of all.
    before: u64,
    fingerprints: u64,
    total: u64,
    /// Fingerprints of this range's joins, both sides counted, about; and those that are done.
    all: u64,
    done: u64,
}

impl<F: Fingerprint> Steps<'_, F> {
    /// Runs a join of so many fingerprints.
    fn run(&mut self, fingerprints: u64, join: impl FnOnce(&Engine<'_, F>)) {
        let Steps { work, before, total, done, all, .. } = *self;
        let thousandths = AtomicU64::new(0);
        let tell = |more: u64| {
            let joined = done + (thousandths.fetch_add(more, Ordering::Relaxed) + more) / 1000;
            let share = joined.min(all) as f64 / all.max(1) as f64;
            let done = before + (self.fingerprints as f64 * share) as u64;
            work.join.execution.tell(Progress::of(Phase::Join, done, total));
        };
        let level = Level::best();
        let engine = Engine {
            k: work.join.k,
            level,
            prices: Prices::new::<F>(&work.join.execution.cost().join, level, work.join.k),
            one_set: work.join.b.is_none(),
            links: work.join.links,
            output: work.output,
            progress: &tell,
        };
        join(&engine);
        self.done += fingerprints;
    }
}

/// Fingerprints in memory, and as much room.
#[derive(Default)]
pub(super) struct Side<F> {
    pub(super) data: Vec<F>,
    pub(super) room: Vec<F>,
}

impl<F: Fingerprint> Side<F> {
    /// Reads up to `limit` fingerprints that are not above `last`; tells whether there are more.
    /// `expected` says for how many to make room at first. Ends early once `output` is to stop.
    pub(super) fn read(
        &mut self,
        cursor: &mut Cursor<F>,
        last: F,
        limit: usize,
        expected: u64,
        output: &Output<F>,
    ) -> Result<bool> {
        self.data.clear();
        let expected = usize::try_from(expected).unwrap_or(limit).min(limit);
        memory::reserve(&mut self.data, expected)?;
        let more = cursor.read(last, limit, &mut self.data, || output.stopped())?;
        if self.room.len() < self.data.len() {
            self.room.clear();
            memory::reserve(&mut self.room, self.data.capacity())?;
        }
        self.room.resize(self.data.len(), F::default());
        Ok(more)
    }

    pub(super) fn len(&self) -> u64 {
        self.data.len() as u64
    }
}
