//! A join that runs: range by range of the smaller fingerprint, and each of them piece by piece.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::{Engine, Group, Message, Output};
use super::plan::Prices;
use super::read::{self, Scan};
use super::side::Side;
use super::{Join, JoinProgress};
use crate::error::Result;
use crate::segment;
use crate::simd::Level;

/// Bytes that a join takes beside fingerprints: the process itself, and the buffers of each thread.
const FIXED_BYTES: u64 = 10 << 20;
const THREAD_BYTES: u64 = 1 << 20;
/// Bytes per fingerprint in memory: it stands there twice, and splits need some more.
const FINGERPRINT_BYTES: u64 = 18;
/// Fingerprints that are in memory in any case.
const LEAST_CAPACITY: usize = 1 << 14;

/// What a join takes, by so many threads, if all of so many fingerprints are in memory.
pub(super) fn bytes_of(fingerprints: u64, threads: u64) -> u64 {
    let fixed = FIXED_BYTES.saturating_add(THREAD_BYTES.saturating_mul(threads));
    fixed.saturating_add(fingerprints.saturating_mul(FINGERPRINT_BYTES))
}

/// A join that runs, in a pool of threads.
pub(super) struct Work<'a> {
    join: &'a Join<'a>,
    output: &'a Output,
    /// Fingerprints that were read so far.
    reading: AtomicU64,
}

impl<'a> Work<'a> {
    pub(super) fn new(join: &'a Join<'a>, output: &'a Output) -> Self {
        Self { join, output, reading: AtomicU64::new(0) }
    }

    /// Fingerprints that were read.
    pub(super) fn read(&self) -> u64 {
        self.reading.load(Ordering::Relaxed)
    }

    /// Joins those pairs whose `a` lies from `start` to `last`.
    pub(super) fn run(&self, mut start: u64, last: u64) -> Result<()> {
        let Join { a, b, .. } = *self.join;
        let capacity = self.capacity();
        // Fingerprints at most, of the shard and of what may lie near it.
        let whole = read::estimate(a, start, last);
        let most = |segments, start, last| {
            // The first and the last block may be longer than others.
            let count = segment::count(segments);
            read::estimate(segments, start, last)
                .saturating_mul(2)
                .saturating_add(1 << 12)
                .min(count)
        };
        let other = b.map_or_else(|| most(a, start, u64::MAX), |b| most(b, 0, u64::MAX));
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
            let mut scan = Scan::new(a, start);
            let more = side.read(&mut scan, last, limit, most(a, start, last), self.output)?;
            drop(scan);
            self.reading.fetch_add(side.len(), Ordering::Relaxed);
            let Some(&greatest) = side.data.last() else {
                self.finish(start..=last, 0, JoinProgress { done, total: done });
                return Ok(());
            };
            let end = if more { greatest } else { last };
            let mut steps = Steps {
                work: self,
                before: done,
                fingerprints: side.len(),
                total: whole.max(done + side.len()),
                all: 0,
                done: 0,
            };
            let behind = match b {
                None => end.checked_add(1).map(|behind| (a, behind)),
                Some(b) => Some((b, 0)),
            };
            let rest = behind.map_or(0, |(other, behind)| read::estimate(other, behind, u64::MAX));
            let piece = capacity.saturating_sub(side.data.len()).max(1);
            steps.all = side.len() * (rest / piece as u64 + 2) + rest;
            if b.is_none() {
                self.join_within(&mut side, &mut steps);
            }
            if let Some((other, behind)) = behind.filter(|_| !self.output.stopped()) {
                if holds_all {
                    self.join_between(&mut side, &mut pieces, &mut steps);
                } else {
                    let mut scan = Scan::new(other, behind);
                    let mut first = true;
                    loop {
                        let expected = most(other, behind, u64::MAX);
                        let more =
                            pieces.read(&mut scan, u64::MAX, piece, expected, self.output)?;
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
            self.finish(start..=end, side.len(), JoinProgress { done, total });
            match end.checked_add(1).filter(|_| more) {
                Some(next) => start = next,
                None => return Ok(()),
            }
        }
    }

    fn finish(&self, range: RangeInclusive<u64>, fingerprints: u64, progress: JoinProgress) {
        (self.join.progress)(progress);
        self.output.send(Message::Range { range, fingerprints });
    }

    fn join_within(&self, side: &mut Side, steps: &mut Steps<'_>) {
        let fingerprints = side.len();
        steps.run(fingerprints, |engine| {
            engine.join(Group { data: [&mut side.data], room: [&mut side.room] });
        });
    }

    fn join_between(&self, side: &mut Side, other: &mut Side, steps: &mut Steps<'_>) {
        steps.run(side.len() + other.len(), |engine| {
            let data: [&mut [u64]; 2] = [&mut side.data, &mut other.data];
            engine.join(Group { data, room: [&mut side.room, &mut other.room] });
        });
    }

    /// Fingerprints for which there is memory.
    fn capacity(&self) -> usize {
        if let Some(capacity) = self.join.capacity {
            return capacity;
        }
        let Some(memory) = self.join.memory else { return usize::MAX };
        let threads = rayon::current_num_threads() as u64;
        let fingerprints = memory.saturating_sub(bytes_of(0, threads)) / FINGERPRINT_BYTES;
        usize::try_from(fingerprints).unwrap_or(usize::MAX).max(LEAST_CAPACITY)
    }
}

/// What is done of a range, for progress.
struct Steps<'a> {
    work: &'a Work<'a>,
    /// Fingerprints of earlier ranges, of this one, and of all.
    before: u64,
    fingerprints: u64,
    total: u64,
    /// Fingerprints of this range's joins, both sides counted, about; and those that are done.
    all: u64,
    done: u64,
}

impl Steps<'_> {
    /// Runs a join of so many fingerprints.
    fn run(&mut self, fingerprints: u64, join: impl FnOnce(&Engine<'_>)) {
        let Steps { work, before, total, done, all, .. } = *self;
        let thousandths = AtomicU64::new(0);
        let tell = |more: u64| {
            let joined = done + (thousandths.fetch_add(more, Ordering::Relaxed) + more) / 1000;
            let share = joined.min(all) as f64 / all.max(1) as f64;
            let done = before + (self.fingerprints as f64 * share) as u64;
            (work.join.progress)(JoinProgress { done, total });
        };
        let level = Level::best();
        let engine = Engine {
            k: work.join.k,
            level,
            prices: Prices::new(&work.join.costs.join, level),
            one_set: work.join.b.is_none(),
            output: work.output,
            progress: &tell,
        };
        join(&engine);
        self.done += fingerprints;
    }
}
