//! Answers the queries of a batch one by one.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::{Query, Run};
use crate::error::Result;
use crate::search::{Match, Searcher};

/// Most queries that one task searches.
const TASK: usize = 64;
/// Tasks of a thread in a round, at whose end answers are handed on, so that all threads are busy.
const TASKS: usize = 4;
/// Most queries of a thread in a round.
const ROUND: usize = 1024;
/// A round that ends sooner is followed by a longer one: waking the threads takes as long as some
/// searches.
const SHORT: Duration = Duration::from_millis(10);
/// Matches after which a round ends.
const MANY_MATCHES: usize = 1 << 16;
/// Nanoseconds of searches that are worth starting threads.
const STARTING_COST: f64 = 300_000.0;

impl<F: FnMut(usize, &[Match]) -> ControlFlow<()>> Run<'_, F> {
    /// Searches one query after the other.
    pub(super) fn search(&mut self, queries: &[Query]) -> Result<ControlFlow<()>> {
        let time = || queries.len() as f64 * self.batch.search_cost();
        if self.batch.threads == 1 || time() < STARTING_COST {
            return self.search_alone(queries);
        }
        let pool = self.pool()?;
        match pool.current_num_threads() {
            1 => self.search_alone(queries),
            _ => self.search_side_by_side(queries, &pool),
        }
    }

    /// Searches on the thread of the caller.
    fn search_alone(&mut self, queries: &[Query]) -> Result<ControlFlow<()>> {
        let mut searcher = Searcher::new(self.batch.segments);
        for &[query, number] in queries {
            self.batch.check_cancelled()?;
            let flow = self.deliver(number, searcher.search(query, self.batch.k)?);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Searches on all threads, a round of queries at a time.
    fn search_side_by_side(
        &mut self,
        mut queries: &[Query],
        pool: &ThreadPool,
    ) -> Result<ControlFlow<()>> {
        let (batch, most) = (self.batch, self.most_matches().min(MANY_MATCHES));
        let threads = pool.current_num_threads();
        let searchers: Vec<_> =
            (0..threads).map(|_| Mutex::new(Searcher::new(batch.segments))).collect();
        let found = AtomicUsize::new(0);
        // Answers queries from the first on, not all where they have too many matches.
        let search = |queries: &[Query]| {
            let thread = rayon::current_thread_index().unwrap_or_default();
            let mut searcher = searchers[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let (mut matches, mut ends) = (Vec::new(), Vec::with_capacity(queries.len()));
            for &[query, _] in queries {
                batch.check_cancelled()?;
                let near = searcher.search(query, batch.k)?;
                let near = &near[..near.len().min(batch.limit)];
                matches.extend_from_slice(near);
                ends.push(matches.len());
                if found.fetch_add(near.len(), Ordering::Relaxed) + near.len() > most {
                    break;
                }
            }
            Ok((matches, ends))
        };
        let expected = (STARTING_COST / batch.search_cost()).clamp(1.0, TASK as f64);
        let mut length = threads * expected as usize;
        while !queries.is_empty() {
            let start = Instant::now();
            found.store(0, Ordering::Relaxed);
            let round = &queries[..queries.len().min(length)];
            let task = length.div_ceil(threads * TASKS).min(TASK);
            let answers: Result<Vec<(Vec<Match>, Vec<usize>)>> =
                pool.install(|| round.par_chunks(task).map(search).collect());
            let time = start.elapsed();
            let mut answered = 0;
            for (asked, (matches, ends)) in round.chunks(task).zip(answers?) {
                let starts = [0].into_iter().chain(ends.iter().copied());
                for ((start, &end), &[_, number]) in starts.zip(&ends).zip(asked) {
                    let flow = self.deliver(number, &matches[start..end]);
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                answered += ends.len();
                if ends.len() < asked.len() {
                    // The next round goes on here.
                    break;
                }
            }
            queries = &queries[answered..];
            if answered < round.len() {
                length = threads.max(answered);
            } else if time < SHORT {
                length = (2 * length).min(threads * ROUND);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
