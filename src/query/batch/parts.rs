//! Answers a query with more matches than there is memory for, part by part.

use std::ops::ControlFlow;

use super::answer::Answer;
use super::run::RunningBatch;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::join::{self, Output};
use crate::snapshot::union::Match;

/// Fingerprints that are read together.
const PIECE: usize = 1 << 16;

impl<F: Fingerprint> RunningBatch<'_, F> {
    /// Answers a single query. Reads all fingerprints once for each part, whatever the tables: where
    /// matches are so many, most blocks hold one.
    pub(super) fn answer_in_parts(&mut self, number: u64, query: F) -> Result<ControlFlow<()>> {
        let batch = self.batch;
        // Its place, and as much room to choose from.
        let match_bytes = 2 * size_of::<Match<F>>() as u64;
        let most = 2 * self.items(match_bytes) as u64;
        let pool = self.pool()?;
        let (mut after, mut handed_on, mut all) = (None, 0, u64::MAX);
        self.summary.pieces += 1;
        loop {
            let wanted = (batch.limit as u64).min(all).saturating_sub(handed_on).min(most) as usize;
            let mut part = AnswerPart::new(query, batch.k, after, wanted);
            let work = |output: &Output<F>| {
                join::read_all(output, &batch.snapshot, PIECE, |fingerprints| {
                    fingerprints.iter().for_each(|&fingerprint| part.offer(fingerprint));
                })
            };
            Output::run(&pool, batch.execution.stop(), work, |_| ControlFlow::Continue(()))?;
            let (matches, count) = part.finish();
            all = count;
            handed_on += matches.len() as u64;
            let more = handed_on < all.min(batch.limit as u64) && !matches.is_empty();
            let flow =
                self.hand_on(Answer { query: number as usize, matches: &matches, count, more });
            if !more || flow.is_break() {
                return Ok(flow);
            }
            after = matches.last().copied();
        }
    }
}

/// The matches of a query that come next, and the number of all.
struct AnswerPart<F> {
    query: F,
    k: u32,
    /// The last one of the part before.
    after: Option<Match<F>>,
    wanted: usize,
    /// Up to twice as many as are wanted.
    matches: Vec<Match<F>>,
    /// None behind this one is wanted.
    last: Option<Match<F>>,
    count: u64,
}

impl<F: Fingerprint> AnswerPart<F> {
    fn new(query: F, k: u32, after: Option<Match<F>>, wanted: usize) -> Self {
        Self { query, k, after, wanted, matches: Vec::new(), last: None, count: 0 }
    }

    #[inline]
    fn offer(&mut self, fingerprint: F) {
        let found = Match { fingerprint, distance: fingerprint.distance(self.query) };
        if found.distance > self.k {
            return;
        }
        self.count += 1;
        let at = found.order();
        let is_before = self.after.is_some_and(|after| at <= after.order());
        let is_behind = self.last.is_some_and(|last| at > last.order());
        if self.wanted == 0 || is_before || is_behind {
            return;
        }
        self.matches.push(found);
        if self.matches.len() == 2 * self.wanted {
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
