//! Runs a join, and gives its pairs one by one.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::options::Join;
use super::output::{JoinEvent, JoinSummary, Message, Output, Pair};
use super::work::RunningJoin;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::background::Background;
use crate::query::flow::{self, Flow};

impl<F: Fingerprint> Join<F> {
    /// Runs the join and hands all it finds to `sink`, on the thread of the caller: pairs in any
    /// order, and after all pairs of a range the [range](JoinEvent::Range). The ranges ascend, and
    /// follow each other without gaps. Where the sink breaks, the join ends soon and well; where it
    /// fails, the join ends with its error.
    ///
    /// The order of pairs within a range may differ from run to run.
    ///
    /// # Errors
    ///
    /// Those of the sink; [`Error::InvalidOption`](crate::Error::InvalidOption),
    /// [`Error::MemoryLimit`](crate::Error::MemoryLimit) and
    /// [`Error::Threads`](crate::Error::Threads) before anything else, and so
    /// [`Error::Recipes`](crate::Error::Recipes) if the two stores hold fingerprints of different
    /// recipes; [`Error::Corrupt`](crate::Error::Corrupt) if a block of an identity table is
    /// damaged; [`Error::Cancelled`](crate::Error::Cancelled) and
    /// [`Error::DeadlineExceeded`](crate::Error::DeadlineExceeded) if it was to stop.
    pub fn run<R: Flow>(
        &self,
        mut sink: impl FnMut(JoinEvent<'_, F>) -> R,
    ) -> Result<JoinSummary, R::Error> {
        let mut failure = None;
        let done = self.hand_on(&mut |event| flow::control(sink(event), &mut failure));
        flow::result(done, failure)
    }

    fn hand_on(
        &self,
        sink: &mut dyn FnMut(JoinEvent<'_, F>) -> ControlFlow<()>,
    ) -> Result<JoinSummary> {
        let range = self.range()?;
        let join = &self.settled()?;
        let pool = self.execution.start_pool()?;
        let mut summary = JoinSummary::default();
        let work = |output: &Output<F>| {
            let Some(range) = range else { return Ok(0) };
            let work = RunningJoin::new(join, output);
            work.run(*range.start(), *range.end())?;
            Ok(work.read())
        };
        let read = Output::run(&pool, self.execution.stop(), work, |message| {
            let flow = match message {
                Message::Pairs(pairs) => {
                    summary.pairs += pairs.len() as u64;
                    sink(JoinEvent::Pairs(&pairs))
                }
                Message::Range { range, fingerprints } => {
                    summary.ranges += 1;
                    summary.fingerprints += fingerprints;
                    sink(JoinEvent::Range(range))
                }
            };
            summary.stopped |= flow.is_break();
            flow
        })?;
        Ok(JoinSummary { read, ..summary })
    }
}

/// The pairs of a [`Join`], from [`Join::pairs`], in any order; ends after the first error.
/// Dropping it stops the join.
pub struct Pairs<F = u64>(Background<Pair<F>>);

impl<F: Fingerprint> Join<F> {
    /// Starts the join in a thread of its own, beside those of its [`Execution`](crate::Execution),
    /// and gives its pairs as they are found. Holds some ten thousand of them back at most.
    /// [`run`](Self::run) copies less.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`](crate::Error::InvalidOption),
    /// [`Error::MemoryLimit`](crate::Error::MemoryLimit), and
    /// [`Error::Threads`](crate::Error::Threads) if the system cannot start a thread. The iterator
    /// gives those of [`run`](Self::run).
    pub fn pairs(mut self) -> Result<Pairs<F>> {
        self.range()?;
        let work = Background::start(move |pieces| {
            self.execution = self.execution.cancelled_also_by(Arc::clone(&pieces.dropped));
            let done = self.run(|event| match event {
                JoinEvent::Pairs(pairs) if !pieces.send(pairs.to_vec()) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            done.map(|_| ())
        });
        work.map(Pairs)
    }
}

impl<F> Iterator for Pairs<F> {
    type Item = Result<Pair<F>>;

    fn next(&mut self) -> Option<Result<Pair<F>>> {
        self.0.next()
    }
}

impl<F> fmt::Debug for Pairs<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs").finish_non_exhaustive()
    }
}
