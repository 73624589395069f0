//! A batch that runs, piece by piece as the memory allows, and its answers one by one.

use std::cell::OnceCell;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use rayon::ThreadPool;

use super::disk::OnDisk;
use super::options::{Answer, Batch, BatchPlan, BatchSummary, OwnedAnswer};
use super::pieces::{self, Query};
use super::sweep;
use crate::error::Result;
use crate::execution::budget::{self, PROCESS_BYTES};
use crate::execution::{Phase, Progress};
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::query::background::{Background, Pieces};
use crate::query::flow::{self, Flow};
use crate::query::join::{self, Message, Output};
use crate::query::search::Searcher;
use crate::snapshot::union::{self, Match};
use crate::{mapped, sort};

/// Bytes of a fingerprint, or of the key of a narrow one.
const fn word_bytes<F>() -> usize {
    if size_of::<F>() < size_of::<u64>() { size_of::<u64>() } else { size_of::<F>() }
}

/// Bytes per query at most: with its number, in the order of the caller and sorted; distinct; twice
/// in memory in a sweep; and what sorting takes.
const fn query_bytes<F>() -> u64 {
    (5 * word_bytes::<F>() + 32) as u64
}

/// Bytes per match: in the order found, and in that of the queries.
const fn match_bytes<F>() -> u64 {
    (2 * word_bytes::<F>() + size_of::<Match<F>>() + 16) as u64
}

/// Queries with their keys in place of their words.
fn keys_of_queries<F: Fingerprint>(mut queries: Vec<Query<u64>>) -> Vec<Query<u64>> {
    if F::BITS < u64::BITS {
        for query in &mut queries {
            query[0] <<= u64::BITS - F::BITS;
        }
    }
    queries
}

/// Queries after which the caller is told how far the batch is.
const TOLD: u64 = 1 << 12;
/// How many queries before it is needed what belongs to one is asked for.
const AHEAD: usize = 16;

impl<F: Fingerprint> Batch<F> {
    /// Answers all `queries`. `sink` is called on the thread of the caller, once for each query.
    /// Where the sink breaks, the batch ends soon and well; where it fails, the batch ends with its
    /// error.
    ///
    /// # Errors
    ///
    /// Those of the sink; [`Error::InvalidOption`](crate::Error::InvalidOption),
    /// [`Error::MemoryLimit`](crate::Error::MemoryLimit) and
    /// [`Error::Threads`](crate::Error::Threads) before anything is answered;
    /// [`Error::TooManyMatches`](crate::Error::TooManyMatches) if the matches of a query do not fit
    /// into the memory; [`Error::Corrupt`](crate::Error::Corrupt) if a block that is needed is
    /// damaged; [`Error::Cancelled`](crate::Error::Cancelled) and
    /// [`Error::DeadlineExceeded`](crate::Error::DeadlineExceeded) if it was to stop.
    pub fn run<R: Flow>(
        &self,
        queries: &[F],
        mut sink: impl FnMut(Answer<'_, F>) -> R,
    ) -> Result<BatchSummary, R::Error> {
        let mut failure = None;
        let done = self.answer(queries, &mut |answer| flow::control(sink(answer), &mut failure));
        flow::result(done, failure)
    }

    fn answer(
        &self,
        queries: &[F],
        sink: &mut dyn FnMut(Answer<'_, F>) -> ControlFlow<()>,
    ) -> Result<BatchSummary> {
        budget::check(self.execution.memory_limit(), "a batch needs")?;
        self.execution.check_threads()?;
        let all = queries.len() as u64;
        let summary = BatchSummary::default();
        let mut run = RunningBatch { batch: self, all, pool: OnceCell::new(), summary, sink };
        let plan = run.choose(queries.len());
        let size = run.piece_queries();
        let stopped = if self.ordered {
            run.answer_all(plan, pieces::in_order(queries, size))?
        } else {
            run.answer_all(plan, pieces::by_leading_bits(queries, size))?
        };
        run.summary.stopped = stopped.is_break();
        Ok(run.summary)
    }
}

/// A batch that runs.
pub(super) struct RunningBatch<'a, F: Fingerprint> {
    pub(super) batch: &'a Batch<F>,
    /// Number of all queries.
    all: u64,
    /// Started when it is first needed.
    pool: OnceCell<Arc<ThreadPool>>,
    pub(super) summary: BatchSummary,
    sink: &'a mut dyn FnMut(Answer<'_, F>) -> ControlFlow<()>,
}

/// For each of some queries, in ascending order, its number and which matches it has.
struct ByQuery<'a> {
    queries: &'a [Query<u64>],
    /// Queries and matches, in the order of the queries; those of these queries.
    pairs: &'a [[u64; 2]],
    /// The matches of the query before.
    answer: Range<usize>,
}

impl Iterator for ByQuery<'_> {
    type Item = (u64, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[query, number], rest) = self.queries.split_first()?;
        self.queries = rest;
        let of_query =
            |pairs: &[[u64; 2]]| pairs.iter().take_while(|pair| pair[0] == query).count();
        if self.pairs[self.answer.clone()].first().is_none_or(|pair| pair[0] != query) {
            let start = self.answer.end;
            self.answer = start..start + of_query(&self.pairs[start..]);
        }
        Some((number, self.answer.clone()))
    }
}

impl<F: Fingerprint> RunningBatch<'_, F> {
    /// The plan for so many queries.
    fn choose(&self, queries: usize) -> BatchPlan {
        let batch = self.batch;
        if let Some(plan) = batch.plan {
            return plan;
        }
        let costs = batch.execution.cost();
        let disk = OnDisk::new(&batch.snapshot, (queries as u64, batch.k), costs);
        let predicted = |plan| {
            // Pieces are no cheaper than they are alone, and each reads the store again.
            let piece = queries.min(self.piece_queries()).max(1);
            let time = batch.predicted(plan, piece as u64).unwrap_or(f64::INFINITY);
            (time + disk.ns(plan, piece as u64, &costs.disk)) * queries as f64 / piece as f64
        };
        let search = predicted(BatchPlan::Search);
        // To plan a sweep takes as long as some searches, and to read all of a large store much
        // longer.
        let read = costs.sweep.read_ns * batch.snapshot.len() as f64;
        let sweeps = Batch::<F>::HAS_KEYS
            && search > costs.sweep.start_ns.max(read)
            && predicted(BatchPlan::Sweep) < search;
        if sweeps { BatchPlan::Sweep } else { BatchPlan::Search }
    }

    /// Queries that are answered together.
    fn piece_queries(&self) -> usize {
        let memory = self.batch.execution.memory_limit().unwrap_or(u64::MAX);
        let pieces = memory.saturating_sub(PROCESS_BYTES) / 4 / query_bytes::<F>();
        usize::try_from(pieces).unwrap_or(usize::MAX).max(1)
    }

    /// Matches that may be in memory.
    pub(super) fn most_matches(&self) -> usize {
        self.items(match_bytes::<F>())
    }

    /// How many threads may search, each with a searcher of its own.
    pub(super) fn searchers(&self, threads: usize) -> usize {
        let Some(memory) = self.batch.execution.memory_limit() else { return threads };
        let bytes = Searcher::most_bytes(&self.batch.snapshot).max(1);
        let searchers = memory.saturating_sub(PROCESS_BYTES) / 2 / bytes;
        usize::try_from(searchers).unwrap_or(usize::MAX).clamp(1, threads)
    }

    /// Whether there is memory for what the threads of a sweep decode and list.
    fn has_room_to_list(&self, threads: usize) -> bool {
        let Some(memory) = self.batch.execution.memory_limit() else { return true };
        let bytes = sweep::thread_bytes(&self.batch.snapshot) * threads as u64;
        bytes <= memory.saturating_sub(PROCESS_BYTES) / 2
    }

    /// How many items of so many bytes there are in a quarter of the memory.
    pub(super) fn items(&self, bytes: u64) -> usize {
        let Some(memory) = self.batch.execution.memory_limit() else { return usize::MAX };
        let items = memory.saturating_sub(PROCESS_BYTES) / 4 / bytes;
        usize::try_from(items).unwrap_or(usize::MAX).max(1)
    }

    /// Answers pieces, up to where the caller stops.
    fn answer_all(
        &mut self,
        plan: BatchPlan,
        pieces: impl Iterator<Item = Vec<Query<F>>>,
    ) -> Result<ControlFlow<()>> {
        for piece in pieces {
            if self.answer(plan, piece)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Answers a piece.
    fn answer(&mut self, plan: BatchPlan, queries: Vec<Query<F>>) -> Result<ControlFlow<()>> {
        if plan == BatchPlan::Search || !Batch::<F>::HAS_KEYS {
            return self.answer_by_searches(&queries);
        }
        match bytemuck::allocation::try_cast_vec(queries) {
            Ok(queries) => self.answer_together(keys_of_queries::<F>(queries)),
            Err((_, queries)) => self.answer_by_searches(&queries),
        }
    }

    fn answer_by_searches(&mut self, queries: &[Query<F>]) -> Result<ControlFlow<()>> {
        self.summary.plan = Some(BatchPlan::Search);
        self.summary.pieces += 1;
        self.search(queries)
    }

    /// Answers a piece, queries of which are given by their keys, by a sweep.
    fn answer_together(&mut self, queries: Vec<Query<u64>>) -> Result<ControlFlow<()>> {
        self.summary.plan = Some(BatchPlan::Sweep);
        let pool = self.pool()?;
        let mut sorted = vec![[0; 2]; queries.len()];
        pool.install(|| sort::sort_lists(&[&queries], &mut sorted));
        let mut distinct: Vec<u64> = sorted.iter().map(|&[query, _]| query).collect();
        distinct.dedup();
        let Some(pairs) = self.find(&distinct)? else {
            // More matches than fit: each half has fewer.
            drop((sorted, distinct));
            if let [[query, number]] = queries[..] {
                return self.answer_with_nearest(number, of_key(query));
            }
            let (one, other) = queries.split_at(queries.len() / 2);
            let (one, other) = (one.to_vec(), other.to_vec());
            drop(queries);
            return match self.answer_together(one)? {
                ControlFlow::Continue(()) => self.answer_together(other),
                broken => Ok(broken),
            };
        };
        self.summary.pieces += 1;
        let parts = self.batch.snapshot.parts();
        let all = pool.install(|| union::of_pairs(parts, &pairs))?;
        drop(pairs);
        let of_numbers = ByQuery { queries: &sorted, pairs: &all, answer: 0..0 };
        let mut matches = Vec::new();
        let mut deliver = |run: &mut Self, number, pairs: &[[u64; 2]]| {
            matches.clear();
            matches.extend(pairs.iter().take(self.batch.limit).map(|&[query, found]| Match {
                fingerprint: of_key(found),
                distance: (query ^ found).count_ones(),
            }));
            run.deliver(number, &matches, pairs.len())
        };
        if !self.batch.ordered {
            for (number, answer) in of_numbers {
                let flow = deliver(self, number, &all[answer]);
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
        let first = queries.first().map_or(0, |&[_, number]| number);
        // Where the answers stand, in the order of the queries and in their place.
        let mut answers = queries;
        for (i, (number, answer)) in of_numbers.enumerate() {
            if let Some(&[_, ahead]) = sorted.get(i + AHEAD) {
                mapped::prefetch_one(&answers, (ahead - first) as usize);
            }
            answers[(number - first) as usize] = [answer.start as u64, answer.end as u64];
        }
        for (i, (number, &[start, end])) in (first..).zip(&answers).enumerate() {
            if let Some(&[ahead, _]) = answers.get(i + AHEAD) {
                mapped::prefetch_one(&all, ahead as usize);
            }
            let flow = deliver(self, number, &all[start as usize..end as usize]);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The keys of all pairs of a query and a match, in any order; `None` if there are more than
    /// fit.
    fn find(&self, queries: &[u64]) -> Result<Option<Vec<[u64; 2]>>> {
        let batch = self.batch;
        let pool = self.pool()?;
        let most = self.most_matches();
        let can_list = self.has_room_to_list(pool.current_num_threads());
        let mut pairs = Vec::new();
        let mut too_many = false;
        let costs = batch.execution.cost();
        let snapshot = &batch.snapshot.settled()?;
        let work = |output: &Output<F>| {
            let plan = if can_list { batch.swept_by(queries.len() as u64).1 } else { None };
            let swept = match plan {
                Some(plan) => sweep::sweep(output, queries, snapshot, batch.k, &plan)?,
                None => false,
            };
            if !swept {
                let piece = usize::try_from(batch.streamed()).unwrap_or(usize::MAX);
                let queries = queries.iter().map(|&query| of_key(query)).collect();
                join::stream(output, queries, snapshot, batch.k, piece, &costs.join)?;
            }
            Ok(())
        };
        Output::run(&pool, batch.execution.stop(), work, |message| {
            if let Message::Pairs(some) = message {
                too_many = some.len() > most.saturating_sub(pairs.len());
                if !too_many {
                    pairs.extend(some.iter().map(|pair| [key_of(pair.a), key_of(pair.b)]));
                }
            }
            if too_many { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((!too_many).then_some(pairs))
    }

    /// Hands an answer to the caller: matches, of which there are so many.
    pub(super) fn deliver(
        &mut self,
        number: u64,
        matches: &[Match<F>],
        count: usize,
    ) -> ControlFlow<()> {
        let matches = &matches[..matches.len().min(self.batch.limit)];
        let (query, count) = (number as usize, count as u64);
        self.hand_on(Answer { query, matches, count })
    }

    pub(super) fn hand_on(&mut self, answer: Answer<'_, F>) -> ControlFlow<()> {
        self.summary.matches += answer.matches.len() as u64;
        self.summary.queries += 1;
        if self.summary.queries.is_multiple_of(TOLD) || self.summary.queries == self.all {
            let progress = Progress::of(Phase::Query, self.summary.queries, self.all);
            self.batch.execution.tell(progress);
        }
        (self.sink)(answer)
    }

    /// The threads of the batch.
    pub(super) fn pool(&self) -> Result<Arc<ThreadPool>> {
        if let Some(pool) = self.pool.get() {
            return Ok(Arc::clone(pool));
        }
        let pool = self.batch.execution.start_pool()?;
        Ok(Arc::clone(self.pool.get_or_init(|| pool)))
    }
}

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
