//! Answers the queries of a batch one by one.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use super::options::Batch;
use super::pieces::Query;
use super::run::RunningBatch;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::query::search::Searcher;
use crate::snapshot::union::Match;
use crate::tasks;

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
struct TaskAnswers<F> {
    matches: Vec<Match<F>>,
    /// How many match each of the queries.
    counts: Vec<usize>,
    /// Why there are no further ones.
    fault: Option<Error>,
}

impl<F: Fingerprint> RunningBatch<'_, F> {
    /// Searches one query after the other.
    pub(super) fn search(&mut self, queries: &[Query<F>]) -> Result<ControlFlow<()>> {
        let time = || queries.len() as f64 * self.batch.search_ns();
        if self.batch.execution.is_alone() || time() < self.batch.execution.cost().sweep.threads_ns
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
    fn search_alone(&mut self, queries: &[Query<F>]) -> Result<ControlFlow<()>> {
        let mut searcher = self.batch.searcher();
        let most = self.most_matches();
        for query in queries {
            let (query, number) = F::of_pair(query);
            let flow = match searcher.search_up_to(query, self.batch.k, most)? {
                Some(matches) => self.deliver(number, matches, matches.len()),
                None => self.answer_with_nearest(number, query)?,
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
        mut queries: &[Query<F>],
        pool: &ThreadPool,
    ) -> Result<ControlFlow<()>> {
        let batch = self.batch;
        let threads = pool.current_num_threads();
        // Where these are fewer than threads, some threads wait.
        let searchers = (0..self.searchers(threads)).map(|_| Mutex::new(batch.searcher()));
        let shared = Tasks {
            batch,
            searchers: searchers.collect(),
            found: AtomicUsize::new(0),
            most: self.most_matches().min(MANY_MATCHES),
            most_of_query: (self.most_matches() / threads).max(1),
        };
        let search_ns = batch.search_ns().max(1.0);
        let threads_ns = batch.execution.cost().sweep.threads_ns;
        let expected = (threads_ns / search_ns).clamp(1.0, TASK as f64);
        let mut length = threads * expected as usize;
        while !queries.is_empty() {
            let start = Instant::now();
            shared.found.store(0, Ordering::Relaxed);
            let round = &queries[..queries.len().min(length)];
            let task = length.div_ceil(threads * TASKS).min(TASK);
            let search = |queries: &[Query<F>]| shared.search(queries);
            let answers = pool.install(|| tasks::map(round.chunks(task), search));
            let time = start.elapsed();
            let ControlFlow::Continue(mut answered) = self.hand_on_round(round, task, answers)?
            else {
                return Ok(ControlFlow::Break(()));
            };
            if let (0, Some(first)) = (answered, round.first()) {
                let (query, number) = F::of_pair(first);
                // The first query has too many matches.
                answered = 1;
                let flow = self.answer_with_nearest(number, query)?;
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

    /// Hands on the answers of a round whose tasks had `task` queries each; gives the number of
    /// queries that were answered, from the first on.
    fn hand_on_round(
        &mut self,
        round: &[Query<F>],
        task: usize,
        answers: Vec<TaskAnswers<F>>,
    ) -> Result<ControlFlow<(), usize>> {
        let mut answered = 0;
        for (asked, answers) in round.chunks(task).zip(answers) {
            let mut rest = &answers.matches[..];
            for (&count, query) in answers.counts.iter().zip(asked) {
                let (_, number) = F::of_pair(query);
                let (near, behind) = rest.split_at(count.min(self.batch.limit));
                rest = behind;
                if self.deliver(number, near, count).is_break() {
                    return Ok(ControlFlow::Break(()));
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
        Ok(ControlFlow::Continue(answered))
    }
}

/// What the tasks of a round share.
struct Tasks<'a, F: Fingerprint> {
    batch: &'a Batch<F>,
    searchers: Vec<Mutex<Searcher<F>>>,
    /// Matches of the round so far, and after how many no task goes on.
    found: AtomicUsize,
    most: usize,
    /// Matches of a single query for which there is room.
    most_of_query: usize,
}

impl<F: Fingerprint> Tasks<'_, F> {
    /// Answers queries from the first on, with the number of matches of each; not all where these
    /// are too many.
    fn search(&self, queries: &[Query<F>]) -> TaskAnswers<F> {
        let thread = rayon::current_thread_index().unwrap_or_default();
        let searcher = &self.searchers[thread % self.searchers.len()];
        let mut searcher = searcher.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = TaskAnswers { matches: Vec::new(), counts: Vec::new(), fault: None };
        for query in queries {
            let (query, _) = F::of_pair(query);
            let near = match searcher.search_up_to(query, self.batch.k, self.most_of_query) {
                Ok(Some(near)) => near,
                Ok(None) => break,
                Err(error) => {
                    answers.fault = Some(error);
                    break;
                }
            };
            answers.counts.push(near.len());
            let near = &near[..near.len().min(self.batch.limit)];
            answers.matches.extend_from_slice(near);
            if self.found.fetch_add(near.len(), Ordering::Relaxed) + near.len() > self.most {
                break;
            }
        }
        answers
    }
}
