//! What a join gives: pairs, where they go, and what stops it.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use rayon::ThreadPool;

use crate::error::{Error, Result};
use crate::execution::Stop;
use crate::fingerprint::Fingerprint;

/// Messages on their way to the caller.
const QUEUED: usize = 16;
/// Bytes of the pairs that are handed on together.
const BATCH_BYTES: usize = 96 << 10;

/// What goes to the caller of a join.
pub(crate) enum Message<F = u64> {
    /// Pairs that were found.
    Pairs(Vec<Pair<F>>),
    /// All pairs of this range were sent; it has so many fingerprints.
    Range { range: RangeInclusive<F>, fingerprints: u64 },
}

/// Where pairs go, and what stops a join.
pub(crate) struct Output<F = u64> {
    messages: SyncSender<Message<F>>,
    /// Whether nobody takes messages any more.
    stop: AtomicBool,
    due: Stop,
    /// Whether the work was told to stop because it was due: then it has not done all.
    was_due: AtomicBool,
}

impl<F: Fingerprint> Output<F> {
    /// Runs `work` with all threads of `pool`, and hands its messages to `take` on this thread
    /// until `take` breaks or the work has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`] if the system starts no thread that waits for the work; those of the
    /// work; that of `due`, if the work has stopped for it before it was done.
    pub(crate) fn run<T: Send>(
        pool: &ThreadPool,
        due: &Stop,
        work: impl FnOnce(&Self) -> Result<T> + Send,
        mut take: impl FnMut(Message<F>) -> ControlFlow<()>,
    ) -> Result<T> {
        let (messages, receiver) = mpsc::sync_channel(QUEUED);
        let (stop, was_due) = (AtomicBool::new(false), AtomicBool::new(false));
        let output = Self { messages, stop, due: due.clone(), was_due };
        let ended: Result<_> = thread::scope(|scope| {
            // The output goes when the work has ended: then the receiver ends as well.
            let work = thread::Builder::new().spawn_scoped(scope, move || {
                let done = pool.install(|| work(&output));
                (done, output.was_due.into_inner())
            });
            let work = work.map_err(|source| Error::threads(1, source))?;
            let _ = receiver.into_iter().try_for_each(&mut take);
            Ok(work.join())
        });
        let (done, was_due) = ended?.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let done = done?;
        if was_due {
            due.check()?;
            // Whoever set the flag has taken it back.
            return Err(Error::Cancelled);
        }
        Ok(done)
    }

    /// Sends a message, unless the join is to stop.
    pub(super) fn send(&self, message: Message<F>) {
        if !self.stopped() && self.messages.send(message).is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the join is to stop.
    pub(crate) fn stopped(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        let is_due = self.due.is_due();
        if is_due {
            self.was_due.store(true, Ordering::Relaxed);
        }
        is_due
    }
}

/// The pairs that a task has found and not handed on.
pub(crate) struct Found<'a, F: Fingerprint = u64> {
    output: &'a Output<F>,
    pairs: Vec<Pair<F>>,
}

impl<'a, F: Fingerprint> Found<'a, F> {
    pub(crate) fn new(output: &'a Output<F>) -> Self {
        Self { output, pairs: Vec::new() }
    }

    #[inline]
    pub(crate) fn push(&mut self, a: F, b: F) {
        if self.pairs.len() == BATCH_BYTES / size_of::<Pair<F>>() {
            self.flush();
        }
        self.pairs.push(Pair { a, b, distance: a.distance(b) });
    }

    fn flush(&mut self) {
        if !self.pairs.is_empty() {
            self.output.send(Message::Pairs(std::mem::take(&mut self.pairs)));
        }
    }
}

impl<F: Fingerprint> Drop for Found<'_, F> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Two fingerprints near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair<F = u64> {
    /// The smaller fingerprint; in a join of two stores that of the first.
    pub a: F,
    /// The greater fingerprint; in a join of two stores that of the second.
    pub b: F,
    /// Their Hamming distance, in bits.
    pub distance: u32,
}

/// What a join hands on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinEvent<'a, F = u64> {
    /// Some pairs, at least one, in any order.
    Pairs(&'a [Pair<F>]),
    /// All pairs whose [`a`](Pair::a) lies in this range have been handed on.
    Range(RangeInclusive<F>),
}

/// What a join has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinSummary {
    /// Pairs handed on.
    pub pairs: u64,
    /// Ranges done.
    pub ranges: u64,
    /// Distinct fingerprints of these ranges.
    pub fingerprints: u64,
    /// Fingerprints read from the stores; those that several ranges need count for each.
    pub read: u64,
    /// Whether the caller has stopped it.
    pub stopped: bool,
}
