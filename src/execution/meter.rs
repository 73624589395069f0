//! Counts what a pack does.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use super::progress::{OnProgress, Phase, Progress};
use super::stop::Stop;
use crate::error::Result;

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
