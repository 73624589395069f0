//! How far work has come, and the meter that counts it for a pack.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stop::Stop;
use crate::error::Result;

/// How far a pack, a batch, a join or a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// How much of this phase is done: queries in [`Phase::Query`], ids in [`Phase::Ids`], else
    /// fingerprints, in those of a pack and in [`Phase::Verify`] counted once per table.
    pub done: u64,
    /// How much there is in this phase, in some about; 0 while it is not known.
    pub total: u64,
    /// Bytes written so far, to the store and to temporary files.
    pub bytes_written: u64,
    /// Steps done of the phases of a pack between the input and the last file, a step being a pass
    /// over one fingerprint or id.
    pub steps_done: u64,
    /// Steps of all these phases; 0 while it is not known.
    pub steps: u64,
}

impl Progress {
    /// That so much of a phase is done, of so much, where nothing is written.
    pub(crate) fn of(phase: Phase, done: u64, total: u64) -> Self {
        Self { phase, done, total, bytes_written: 0, steps_done: 0, steps: 0 }
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Takes fingerprints, and writes sorted runs of them to temporary files.
    Spill,
    /// Brings the set into order, in memory.
    Sort,
    /// Merges sorted runs.
    Merge,
    /// Distributes the set over parts of a table that fit into memory.
    Distribute,
    /// Sorts such parts, and counts what their keys cost.
    Count,
    /// Encodes and writes the tables; sorts them first where they fit into memory.
    Encode,
    /// Writes the ids.
    Ids,
    /// Makes all files durable and visible.
    Sync,
    /// Answers the queries of a batch.
    Query,
    /// Finds pairs.
    Join,
    /// Checks the files of a store.
    Verify,
}

impl Phase {
    /// Phases of a pack.
    pub(super) const PACKING: usize = Phase::Sync as usize + 1;
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Phase::Spill => "spill",
            Phase::Sort => "sort",
            Phase::Merge => "merge",
            Phase::Distribute => "distribute",
            Phase::Count => "count",
            Phase::Encode => "encode",
            Phase::Ids => "ids",
            Phase::Sync => "sync",
            Phase::Query => "query",
            Phase::Join => "join",
            Phase::Verify => "verify",
        })
    }
}

/// A function that is told how far work has come.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Counts what is done, tells it, and notices a request to stop.
pub(crate) struct Meter {
    on_progress: OnProgress,
    stop: Stop,
    done: [AtomicU64; Phase::PACKING],
    totals: [AtomicU64; Phase::PACKING],
    bytes: AtomicU64,
}

impl Meter {
    pub(super) fn new(on_progress: OnProgress, stop: Stop) -> Self {
        let zeros = || [(); Phase::PACKING].map(|()| AtomicU64::new(0));
        Self { on_progress, stop, done: zeros(), totals: zeros(), bytes: AtomicU64::new(0) }
    }

    /// Says what each of the phases that are to come will do.
    pub(crate) fn plan(&self, totals: &[(Phase, u64)]) {
        for &(phase, total) in totals {
            self.totals[phase as usize].store(total, Ordering::Relaxed);
        }
    }

    /// Says that so many more fingerprints are done.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`](crate::Error::Cancelled) and
    /// [`Error::DeadlineExceeded`](crate::Error::DeadlineExceeded) if the pack is to stop.
    pub(crate) fn advance(&self, phase: Phase, fingerprints: u64) -> Result<()> {
        self.tell(phase, fingerprints);
        self.check()
    }

    /// As [`Self::advance`], where it is too late to stop.
    pub(crate) fn tell(&self, phase: Phase, fingerprints: u64) {
        let done = self.done[phase as usize].fetch_add(fingerprints, Ordering::Relaxed);
        // The phases between the input and the last file.
        let steps = Phase::Sort as usize..Phase::Sync as usize;
        let sum = |counts: &[AtomicU64]| {
            let steps = counts[steps.clone()].iter();
            steps.fold(0u64, |sum, n| sum.saturating_add(n.load(Ordering::Relaxed)))
        };
        (self.on_progress)(Progress {
            phase,
            done: done + fingerprints,
            total: self.totals[phase as usize].load(Ordering::Relaxed),
            bytes_written: self.bytes.load(Ordering::Relaxed),
            steps_done: sum(&self.done),
            steps: sum(&self.totals),
        });
    }

    /// Fails if the pack is to stop.
    pub(crate) fn check(&self) -> Result<()> {
        self.stop.check()
    }

    /// Says that so many more bytes are written.
    pub(crate) fn wrote(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A file whose bytes are counted.
pub(crate) struct Metered<'a, W> {
    pub(crate) out: &'a mut W,
    pub(crate) meter: &'a Meter,
}

impl<W: Write> Write for Metered<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.meter.wrote(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
