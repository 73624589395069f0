//! A join of fingerprints for which there are no tables: searches one store for each fingerprint of the other.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::options::Join;
use super::output::{Found, Message, Output};
use super::stream::read_all;
use crate::error::Result;
use crate::execution::{Phase, Progress};
use crate::fingerprint::{Fingerprint, successor};
use crate::memory;
use crate::query::search::Searcher;
use crate::snapshot::cursor::{Cursor, Decode};

/// Fingerprints of a range, and of a task.
const RANGE: usize = 1 << 13;
const TASK: usize = 1 << 6;
/// Matches of a single fingerprint that a searcher gathers; one with more is compared with all.
const MOST: usize = 1 << 15;
/// Fingerprints that such a one is compared with together.
const PIECE: usize = 1 << 14;

/// A join that runs, in a pool of threads.
pub(super) struct SearchedJoin<'a, F: Fingerprint> {
    join: &'a Join<F>,
    output: &'a Output<F>,
    /// One for each thread, of the store that is searched.
    searchers: Vec<Mutex<Searcher<F>>>,
}

impl<'a, F: Fingerprint> SearchedJoin<'a, F> {
    pub(super) fn new(join: &'a Join<F>, output: &'a Output<F>) -> Result<Self> {
        let searched = join.b.as_ref().unwrap_or(&join.a);
        let (costs, stop) = (&join.execution.cost().disk, join.execution.stop());
        let searcher =
            |_| Mutex::new(Searcher::new(searched.clone(), costs).stopped_by(stop.clone()));
        let searchers = (0..rayon::current_num_threads().max(1)).map(searcher).collect();
        Ok(Self { join, output, searchers })
    }

    /// Joins those pairs whose `a` lies from `start` to `last`; gives the number of fingerprints that were read.
    pub(super) fn run(&self, [mut start, last]: [F; 2]) -> Result<u64> {
        let mut cursor = Cursor::new(&self.join.a, start, Decode::Together)?;
        let (total, mut done) = (self.join.a.len(), 0);
        let mut range = Vec::new();
        loop {
            range.clear();
            memory::reserve(&mut range, RANGE)?;
            let more = cursor.read(last, RANGE, &mut range, || self.output.stopped())?;
            let tasks: Vec<Result<()>> =
                range.par_chunks(TASK).map(|some| self.join(some)).collect();
            tasks.into_iter().collect::<Result<()>>()?;
            if self.output.stopped() {
                return Ok(done);
            }
            done += range.len() as u64;
            let end = range.last().copied().filter(|_| more).unwrap_or(last);
            let total = if more { total.max(done) } else { done };
            self.join.execution.tell(Progress::of(Phase::Join, done, total));
            let fingerprints = range.len() as u64;
            self.output.send(Message::Range { range: start..=end, fingerprints });
            match successor(end).filter(|_| more) {
                Some(next) => start = next,
                None => return Ok(done),
            }
        }
    }

    /// Finds the pairs of some fingerprints.
    fn join(&self, fingerprints: &[F]) -> Result<()> {
        let thread = rayon::current_thread_index().unwrap_or_default();
        let searcher = &self.searchers[thread % self.searchers.len()];
        let mut searcher = searcher.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Found::new(self.output);
        for &a in fingerprints {
            if self.output.stopped() {
                break;
            }
            // Of one set each pair comes with its smaller fingerprint.
            let is_wanted = |b: F| self.join.b.is_some() || b > a;
            match searcher.search_up_to(a, self.join.k, MOST)? {
                Some(near) => {
                    let wanted = near.iter().filter(|near| is_wanted(near.fingerprint));
                    wanted.for_each(|near| found.push(a, near.fingerprint));
                }
                None => {
                    let searched = self.join.b.as_ref().unwrap_or(&self.join.a);
                    read_all(self.output, searched, PIECE, |others| {
                        let near = others.iter().filter(|b| a.distance(**b) <= self.join.k);
                        near.filter(|b| is_wanted(**b)).for_each(|&b| found.push(a, b));
                    })?;
                }
            }
        }
        Ok(())
    }
}
