//! Answers a query with more matches than there is memory for: with the nearest, or with an error.

use std::ops::ControlFlow;

use super::options::Answer;
use super::run::RunningBatch;
use crate::error::{Error, Result};
use crate::execution::budget::PROCESS_BYTES;
use crate::fingerprint::{Fingerprint, Hex};
use crate::query::join::{self, Output};
use crate::snapshot::union::Match;

/// Fingerprints that are read together.
const PIECE: usize = 1 << 16;

impl<F: Fingerprint> RunningBatch<'_, F> {
    /// Answers a single query with its nearest matches up to the limit, and counts all. Reads every
    /// fingerprint once, whatever the tables: where matches are so many, most blocks hold one.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyMatches`] if more are wanted than the memory holds.
    pub(super) fn answer_with_nearest(&mut self, number: u64, query: F) -> Result<ControlFlow<()>> {
        let batch = self.batch;
        let most = self.items(size_of::<Match<F>>() as u64);
        let mut nearest = Nearest::new(query, batch.k, batch.limit.min(most));
        let pool = self.pool()?;
        self.summary.pieces += 1;
        let work = |output: &Output<F>| {
            join::read_all(output, &batch.snapshot, PIECE, |fingerprints| {
                fingerprints.iter().for_each(|&fingerprint| nearest.offer(fingerprint));
            })
        };
        Output::run(&pool, batch.execution.stop(), work, |_| ControlFlow::Continue(()))?;
        let (matches, count) = nearest.finish();
        let wanted = count.min(batch.limit as u64);
        if wanted > matches.len() as u64 {
            let of_match = 4 * size_of::<Match<F>>() as u64;
            return Err(Error::TooManyMatches {
                query: Hex::of(query),
                matches: count,
                limit: batch.execution.memory_limit().unwrap_or(u64::MAX),
                needed: PROCESS_BYTES + wanted * of_match,
            });
        }
        Ok(self.hand_on(Answer { query: number as usize, matches: &matches, count }))
    }
}

/// The nearest matches of a query, and the number of all.
struct Nearest<F> {
    query: F,
    k: u32,
    wanted: usize,
    /// Up to twice as many as are wanted.
    matches: Vec<Match<F>>,
    /// None behind this one is wanted.
    last: Option<Match<F>>,
    count: u64,
}

impl<F: Fingerprint> Nearest<F> {
    fn new(query: F, k: u32, wanted: usize) -> Self {
        Self { query, k, wanted, matches: Vec::new(), last: None, count: 0 }
    }

    #[inline]
    fn offer(&mut self, fingerprint: F) {
        let found = Match { fingerprint, distance: fingerprint.distance(self.query) };
        if found.distance > self.k {
            return;
        }
        self.count += 1;
        let is_behind = self.last.is_some_and(|last| found.order() > last.order());
        if self.wanted == 0 || is_behind {
            return;
        }
        self.matches.push(found);
        if self.matches.len() / 2 == self.wanted {
            self.cut();
        }
    }

    /// Leaves no more than are wanted.
    fn cut(&mut self) {
        if self.matches.len() > self.wanted {
            self.matches.select_nth_unstable_by_key(self.wanted - 1, Match::order);
            self.matches.truncate(self.wanted);
            self.last = self.matches.last().copied();
        }
    }

    /// The matches in order, and the number of all.
    fn finish(mut self) -> (Vec<Match<F>>, u64) {
        self.cut();
        self.matches.sort_unstable_by_key(Match::order);
        (self.matches, self.count)
    }
}
