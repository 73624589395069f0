//! Answers the queries of a batch one by one.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::pieces::Query;
use super::run::RunningBatch;
use crate::error::{Error, Result};
use crate::snapshot::union::Match;

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

/// The answers of a task to its first queries.
#[derive(Default)]
struct TaskAnswers {
    matches: Vec<Match>,
    /// How many match each of the queries.
    counts: Vec<usize>,
    /// Why there are no further ones.
    fault: Option<Error>,
}

impl RunningBatch<'_> {
    /// Searches one query after the other.
    pub(super) fn search(&mut self, queries: &[Query]) -> Result<ControlFlow<()>> {
        let time = || queries.len() as f64 * self.batch.search_ns();
        if self.batch.execution.is_alone() || time() < self.batch.execution.cost().batch.threads_ns
        {
            return self.search_alone(queries);
        }
        let pool = self.pool()?;
        match self.searchers(pool.current_num_threads()) {
            1 => self.search_alone(queries),
            _ => self.search_side_by_side(queries, &pool),
        }
    }

    /// Searches on the thread of the caller.
    fn search_alone(&mut self, queries: &[Query]) -> Result<ControlFlow<()>> {
        let mut searcher = self.batch.searcher();
        let most = self.most_matches();
        for &[query, number] in queries {
            self.batch.execution.stop().check()?;
            let flow = match searcher.search_up_to(query, self.batch.k, most)? {
                Some(matches) => self.deliver(number, matches, matches.len()),
                None => self.answer_in_parts(number, query)?,
            };
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
        // Where these are fewer than threads, some threads wait.
        let searchers = (0..self.searchers(threads)).map(|_| batch.searcher());
        let searchers: Vec<_> = searchers.map(Mutex::new).collect();
        let found = AtomicUsize::new(0);
        let most_of_query = (self.most_matches() / threads).max(1);
        // Answers queries from the first on, with the number of matches of each; not all where these
        // are too many.
        let search = |queries: &[Query]| {
            let thread = rayon::current_thread_index().unwrap_or_default();
            let searcher = &searchers[thread % searchers.len()];
            let mut searcher = searcher.lock().unwrap_or_else(PoisonError::into_inner);
            let mut answers = TaskAnswers::default();
            for &[query, _] in queries {
                let near = batch
                    .execution
                    .stop()
                    .check()
                    .and_then(|()| searcher.search_up_to(query, batch.k, most_of_query));
                let near = match near {
                    Ok(Some(near)) => near,
                    Ok(None) => break,
                    Err(error) => {
                        answers.fault = Some(error);
                        break;
                    }
                };
                answers.counts.push(near.len());
                let near = &near[..near.len().min(batch.limit)];
                answers.matches.extend_from_slice(near);
                if found.fetch_add(near.len(), Ordering::Relaxed) + near.len() > most {
                    break;
                }
            }
            answers
        };
        let search_ns = batch.search_ns().max(1.0);
        let threads_ns = batch.execution.cost().batch.threads_ns;
        let expected = (threads_ns / search_ns).clamp(1.0, TASK as f64);
        let mut length = threads * expected as usize;
        while !queries.is_empty() {
            let start = Instant::now();
            found.store(0, Ordering::Relaxed);
            let round = &queries[..queries.len().min(length)];
            let task = length.div_ceil(threads * TASKS).min(TASK);
            let answers: Vec<TaskAnswers> =
                pool.install(|| round.par_chunks(task).map(search).collect());
            let time = start.elapsed();
            let mut answered = 0;
            for (asked, answers) in round.chunks(task).zip(answers) {
                let mut rest = &answers.matches[..];
                for (&count, &[_, number]) in answers.counts.iter().zip(asked) {
                    let (near, behind) = rest.split_at(count.min(batch.limit));
                    rest = behind;
                    let flow = self.deliver(number, near, count);
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                // What stands before a fault is handed on.
                answers.fault.map_or(Ok(()), Err)?;
                answered += answers.counts.len();
                if answers.counts.len() < asked.len() {
                    // The next round goes on here.
                    break;
                }
            }
            if let (0, &[[query, number], ..]) = (answered, round) {
                // The first query has too many matches.
                answered = 1;
                let flow = self.answer_in_parts(number, query)?;
                if flow.is_break() {
                    return Ok(flow);
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
