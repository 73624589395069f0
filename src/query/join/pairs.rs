//! The pairs of a join, one by one.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::options::Join;
use super::pair::{JoinEvent, Pair};
use crate::error::Result;
use crate::query::background::Background;

/// The pairs of a [`Join`], from [`Join::pairs`], in any order; ends after the first error. Dropping it
/// stops the join.
pub struct Pairs(Background<Pair>);

impl Join {
    /// Starts the join in a thread of its own, beside those of its [`Execution`](crate::Execution), and gives
    /// its pairs as they are found. Holds some ten thousand of them back at most. [`run`](Self::run) copies less.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`](crate::Error::InvalidOption), [`Error::MemoryLimit`](crate::Error::MemoryLimit),
    /// and [`Error::Threads`](crate::Error::Threads) if the system cannot start a thread. The iterator gives those
    /// of [`run`](Self::run).
    pub fn pairs(mut self) -> Result<Pairs> {
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

impl Iterator for Pairs {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Result<Pair>> {
        self.0.next()
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs").finish_non_exhaustive()
    }
}
