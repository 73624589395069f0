//! The pairs of a join, one by one.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::options::Join;
use super::pair::{JoinEvent, Pair};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::background::Background;

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
