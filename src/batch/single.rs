//! Answers the queries of a batch one by one.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{Query, Run};
use crate::error::{Error, Result};
use crate::search::{Match, Searcher};

/// Queries that one task searches.
const TASK: usize = 64;
/// Most tasks of a thread in a round, at whose end answers are handed on: waking the threads takes
/// as long as some searches.
const ROUND_TASKS: usize = 16;
/// Matches of a round from which on the next one is as short as can be.
const MANY_MATCHES: usize = 1 << 16;
/// Nanoseconds of searches that are worth starting threads.
const STARTING_COST: f64 = 300_000.0;

impl<F: FnMut(usize, &[Match]) -> ControlFlow<()>> Run<'_, F> {
    /// Searches one query after the other.
    pub(super) fn search(&mut self, queries: &[Query]) -> Result<ControlFlow<()>> {
        let time = || queries.len() as f64 * self.batch.search_cost();
        if self.batch.threads == 1 || time() < STARTING_COST {
            self.search_alone(queries)
        } else {
            self.search_side_by_side(queries)
        }
    }

    /// Searches on the thread of the caller.
    fn search_alone(&mut self, queries: &[Query]) -> Result<ControlFlow<()>> {
        let mut searcher = Searcher::new(self.batch.segments);
        for queries in queries.chunks(TASK) {
            self.check_cancelled()?;
            for &[query, number] in queries {
                let flow = self.deliver(number, searcher.search(query, self.batch.k)?);
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Searches on all threads, a round of queries at a time.
    fn search_side_by_side(&mut self, mut queries: &[Query]) -> Result<ControlFlow<()>> {
        let batch = self.batch;
        let pool = self.pool()?;
        let threads = pool.current_num_threads();
        let searchers: Vec<_> =
            (0..threads).map(|_| Mutex::new(Searcher::new(batch.segments))).collect();
        let search = |queries: &[Query]| {
            let thread = rayon::current_thread_index().unwrap_or_default();
            let mut searcher = searchers[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let (mut matches, mut ends) = (Vec::new(), Vec::with_capacity(queries.len()));
            for &[query, _] in queries {
                let found = searcher.search(query, batch.k)?;
                matches.extend_from_slice(&found[..found.len().min(batch.limit)]);
                ends.push(matches.len());
            }
            Ok((matches, ends))
        };
        let mut tasks = 1;
        while !queries.is_empty() {
            self.check_cancelled()?;
            let (round, rest) = queries.split_at(queries.len().min(threads * tasks * TASK));
            queries = rest;
            let answers: Result<Vec<(Vec<Match>, Vec<usize>)>> =
                pool.install(|| round.par_chunks(TASK).map(search).collect());
            let mut numbers = round.iter().map(|&[_, number]| number);
            let mut found = 0;
            for (matches, ends) in answers? {
                let mut start = 0;
                for (end, number) in ends.into_iter().zip(&mut numbers) {
                    let flow = self.deliver(number, &matches[start..end]);
                    if flow.is_break() {
                        return Ok(flow);
                    }
                    start = end;
                }
                found += matches.len();
            }
            tasks = if found < MANY_MATCHES { ROUND_TASKS.min(2 * tasks) } else { 1 };
        }
        Ok(ControlFlow::Continue(()))
    }

    fn check_cancelled(&self) -> Result<()> {
        match &self.batch.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }
}
