//! What a pack tells while it runs, and how it is stopped.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::table::WriteTimes;

/// How far a pack has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Fingerprints done in this phase, counted once per table; in the phase of the ids, ids.
    pub done: u64,
    /// How many there are in this phase; 0 while it is not known.
    pub total: u64,
    /// Bytes written so far, to the store and to temporary files.
    pub bytes_written: u64,
    /// Steps done of the phases between the input and the last file, a step being a pass over one
    /// fingerprint or id.
    pub steps_done: u64,
    /// Steps of all these phases; 0 while it is not known.
    pub steps: u64,
}

/// What a pack is doing.
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
}

impl Phase {
    const COUNT: usize = 8;
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
        })
    }
}

/// How long the stages of a pack took, all tables together. Where there are several threads, blocks
/// are written while others are encoded, and the sum is more than the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackTimes {
    /// Bringing the set, and then every table, into order, with reading and writing what does not fit
    /// into memory.
    pub sort: Duration,
    /// Counting the classes of keys, from which the codes follow.
    pub count: Duration,
    /// Cutting keys into blocks.
    pub cut: Duration,
    /// Encoding blocks.
    pub encode: Duration,
    /// Handing blocks to the file system.
    pub write: Duration,
    /// Waiting until files are durable.
    pub sync: Duration,
}

impl PackTimes {
    pub(super) fn add(&mut self, times: WriteTimes) {
        self.cut += times.cut;
        self.encode += times.encode;
        self.write += times.write;
    }
}

/// A function that is told how far a pack has come.
pub(super) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Counts what is done, tells it, and notices a request to stop.
pub(super) struct Meter {
    on_progress: OnProgress,
    cancel: Option<Arc<AtomicBool>>,
    done: [AtomicU64; Phase::COUNT],
    totals: [AtomicU64; Phase::COUNT],
    bytes: AtomicU64,
}

impl Meter {
    pub(super) fn new(on_progress: OnProgress, cancel: Option<Arc<AtomicBool>>) -> Self {
        let zeros = || [(); Phase::COUNT].map(|()| AtomicU64::new(0));
        Self { on_progress, cancel, done: zeros(), totals: zeros(), bytes: AtomicU64::new(0) }
    }

    /// Says what each of the phases that are to come will do.
    pub(super) fn plan(&self, totals: &[(Phase, u64)]) {
        for &(phase, total) in totals {
            self.totals[phase as usize].store(total, Ordering::Relaxed);
        }
    }

    /// Says that so many more fingerprints are done.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if the pack is to stop.
    pub(super) fn advance(&self, phase: Phase, fingerprints: u64) -> Result<()> {
        self.tell(phase, fingerprints);
        self.check()
    }

    /// As [`Self::advance`], where it is too late to stop.
    pub(super) fn tell(&self, phase: Phase, fingerprints: u64) {
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

    /// Fails with [`Error::Cancelled`] if the pack is to stop.
    pub(super) fn check(&self) -> Result<()> {
        match &self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }

    /// Says that so many more bytes are written.
    pub(super) fn wrote(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A file whose bytes are counted.
pub(super) struct Metered<'a, W> {
    pub(super) out: &'a mut W,
    pub(super) meter: &'a Meter,
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
