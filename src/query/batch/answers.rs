//! The answers of a batch, one by one.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::answer::{Answer, OwnedAnswer};
use super::options::Batch;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::background::{Background, Pieces};

/// Answers, and matches, that are handed on together.
const PIECE: usize = 1 << 8;
const PIECE_MATCHES: usize = 1 << 14;

/// The answers of a [`Batch`], from [`Batch::answers`]; ends after the first error. Dropping it
/// stops the batch.
pub struct Answers<F = u64>(Background<OwnedAnswer<F>>);

impl<F: Fingerprint> Batch<F> {
    /// Starts to answer `queries` in a thread of its own, beside those of its
    /// [`Execution`](crate::Execution), and gives the answers as they come. [`run`](Self::run)
    /// copies less.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`](crate::Error::Threads) if the system cannot start a thread. The iterator
    /// gives those of [`run`](Self::run).
    pub fn answers(mut self, queries: impl Into<Arc<[F]>>) -> Result<Answers<F>> {
        let queries = queries.into();
        let work = Background::start(move |pieces| {
            self.execution = self.execution.cancelled_also_by(Arc::clone(&pieces.dropped));
            let mut piece = AnswerPiece { pieces, answers: Vec::new(), matches: 0 };
            self.run(&queries, |answer| piece.push(answer))?;
            // Nobody may be there any more: then the batch was stopped, and well.
            let _ = piece.hand_on();
            Ok(())
        });
        work.map(Answers)
    }
}

/// Answers that are handed on together.
struct AnswerPiece<F> {
    pieces: Pieces<OwnedAnswer<F>>,
    answers: Vec<OwnedAnswer<F>>,
    matches: usize,
}

impl<F: Fingerprint> AnswerPiece<F> {
    fn push(&mut self, answer: Answer<'_, F>) -> ControlFlow<()> {
        self.matches += answer.matches.len();
        self.answers.push(answer.into());
        if self.answers.len() < PIECE && self.matches < PIECE_MATCHES {
            return ControlFlow::Continue(());
        }
        self.hand_on()
    }

    fn hand_on(&mut self) -> ControlFlow<()> {
        self.matches = 0;
        match self.pieces.send(std::mem::take(&mut self.answers)) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

impl<F> Iterator for Answers<F> {
    type Item = Result<OwnedAnswer<F>>;

    fn next(&mut self) -> Option<Result<OwnedAnswer<F>>> {
        self.0.next()
    }
}

impl<F> fmt::Debug for Answers<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
