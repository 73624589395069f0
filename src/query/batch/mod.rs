//! Many searches at once (section 3.3 of the paper).
//!
//! Three plans, of which the one with the least predicted time is taken: *[search](single)* asks
//! one query after the other; *[probe]* brings the queries into the order of each table and reads
//! the table once, in order; *stream* builds tables of the queries in memory and reads the identity
//! table past them, as the paper does for a batch, by the engine of joins.

mod low;
mod parts;
mod pieces;
mod probe;
mod single;
#[cfg(test)]
mod tests;

pub(crate) use low::instruction_ns;

use std::cell::OnceCell;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::costs::Costs;
use crate::error::{Error, Result};
use crate::mapped;
use crate::query::join::{self, Message, Output};
use crate::query::search::{Match, Searcher};
use crate::segment::{self, Segment};
use crate::sort;
use crate::threads;

/// The least memory that a batch can be held to.
const MIN_MEMORY: u64 = 16 << 20;
/// Bytes that a batch takes besides queries and matches.
const FIXED_BYTES: u64 = 10 << 20;
/// Bytes that each thread takes, from the seventh on beside the limit.
const THREAD_BYTES: u64 = 1 << 20;
/// Bytes per query at most: with its number, in the order of the caller and sorted; distinct; twice
/// in memory in a stream; and what sorting takes.
const QUERY_BYTES: u64 = 72;
/// Bytes per match: in the order found, and in that of the queries.
const MATCH_BYTES: u64 = 48;
/// Bytes per fingerprint of the store that is in memory in a stream.
const STREAM_BYTES: u64 = 18;
/// Queries after which the caller is told how far the batch is.
const TOLD: u64 = 1 << 12;
/// How many queries before it is needed what belongs to one is asked for.
const AHEAD: usize = 16;
/// Fingerprints that a stream holds where memory is not bounded.
const STREAMED: u64 = 1 << 24;

/// How a [`Batch`] is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BatchPlan {
    /// One query after the other, as [`Searcher::search`](crate::Searcher::search) does; best for few.
    Search,
    /// Each table is read once, with the queries in its order. Blocks that no query needs are left
    /// out.
    Probe,
    /// The identity table is read once, past tables of the queries in memory. Reads the disk in
    /// order, and needs no other table.
    Stream,
}

/// What a [`Batch`] hands on for one of its queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// Number of the query, from 0 on.
    pub query: usize,
    /// Matches, by distance, then by value; no more than the [limit](Batch::limit).
    pub matches: &'a [Match],
    /// How many stored fingerprints match the query, whatever the limit.
    pub count: u64,
    /// Whether further matches of this query come with the next answer: so where those of a single query
    /// are more than the [memory](Batch::memory) holds. `matches` are those that follow on the ones before.
    pub more: bool,
}

/// What a batch has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchSummary {
    /// Queries that were answered.
    pub queries: u64,
    /// Matches handed on.
    pub matches: u64,
    /// Pieces of queries that were answered together, as the memory allowed.
    pub pieces: u64,
    /// The plan of the last piece; `None` if there was none.
    pub plan: Option<BatchPlan>,
    /// Whether the caller has stopped it.
    pub stopped: bool,
}

/// Many searches within one radius, from [`Store::search_batch`](crate::Store::search_batch).
///
/// Time, by `cargo bench --bench batch`: some 0.5 us of a thread per query for a million queries at
/// k = 3 on 2^26 fingerprints in `quarters`. Memory: up to 72 bytes per query, 48 per match, and
/// those of a piece of the store; or what [`memory`](Self::memory) allows.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// fpstore::Packer::new().pack(&path, [0b1011, 0b0011, u64::MAX])?;
///
/// let store = fpstore::Store::open(&path)?;
/// let queries = [u64::MAX, 0, 0b1011];
/// let mut counts = Vec::new();
/// store.search_batch(&queries, 1).run(|answer| {
///     assert_eq!(answer.query, counts.len());
///     counts.push(answer.matches.len());
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(counts, [1, 0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Batch<'a> {
    segments: &'a [Segment],
    queries: &'a [u64],
    k: u32,
    plan: Option<BatchPlan>,
    threads: usize,
    memory: Option<u64>,
    ordered: bool,
    limit: usize,
    cancel: Option<Arc<AtomicBool>>,
    costs: Costs,
    progress: Arc<dyn Fn(u64) + Send + Sync>,
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("queries", &self.queries.len())
            .field("k", &self.k)
            .field("plan", &self.plan)
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .field("ordered", &self.ordered)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl<'a> Batch<'a> {
    pub(crate) fn new(segments: &'a [Segment], queries: &'a [u64], k: u32) -> Self {
        Self {
            segments,
            queries,
            k: k.min(64),
            plan: None,
            threads: 0,
            memory: None,
            ordered: true,
            limit: usize::MAX,
            cancel: None,
            costs: Costs::default(),
            progress: Arc::new(|_| {}),
        }
    }

    /// The plan; by default the one with the least [predicted](Self::predicted) time. Where a store
    /// cannot probe within this radius, it streams.
    pub fn plan(mut self, plan: BatchPlan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Number of threads, up to 1024; 0 stands for the number of cores.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The most bytes of memory that the batch takes, from 16 MiB on, besides the queries
    /// themselves, and 1 MiB per thread from the seventh on. Where not all fits, the queries are answered in
    /// several pieces; where not even the matches of a single query do, these come in several
    /// [answers](Answer::more), for each of which the store is read once.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Whether answers come in the order of the queries; that is so by default. Else they come in
    /// any order, and where not all queries fit into the [memory](Self::memory), pieces hold those
    /// with like leading bits, which read fewer blocks.
    pub fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }

    /// The most matches that are handed on for a query: the nearest ones. With 0 a batch only
    /// [counts](Answer::count).
    pub fn limit(mut self, matches: usize) -> Self {
        self.limit = matches;
        self
    }

    /// A flag that stops the batch with [`Error::Cancelled`] soon after it is set.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The constants of the machine, by which the plan is chosen. The answers do not depend on them.
    pub fn costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// A function that is told how many queries are answered.
    pub fn on_progress(mut self, progress: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// The predicted time of a plan for so many queries at once, in nanoseconds of one thread;
    /// `None` if the store cannot follow it.
    pub fn predicted(&self, plan: BatchPlan, queries: u64) -> Option<f64> {
        match plan {
            BatchPlan::Search => Some(queries as f64 * self.search_ns()),
            BatchPlan::Probe => probe::predicted_ns(self.segments, queries, self.k, &self.costs),
            BatchPlan::Stream => {
                let count = segment::count(self.segments);
                Some(join::stream_ns(queries, count, self.streamed(), self.k, &self.costs.join))
            }
        }
    }

    fn check_cancelled(&self) -> Result<()> {
        match &self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }

    /// The predicted time of a single search.
    fn search_ns(&self) -> f64 {
        let of_segment = |segment: &Segment| segment.search_ns(self.k, &self.costs.search);
        self.segments.iter().map(of_segment).sum()
    }

    /// Fingerprints of the store that a stream holds.
    fn streamed(&self) -> u64 {
        match self.memory {
            Some(memory) => (memory.saturating_sub(FIXED_BYTES) / 2 / STREAM_BYTES).max(1 << 12),
            None => STREAMED,
        }
    }

    /// Answers all queries. `sink` is called on the thread of the caller, once for each query, unless
    /// its matches do not fit into the [memory](Self::memory). Where the sink breaks, the batch ends soon
    /// and well.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] before anything else, or if the system cannot start so many threads;
    /// [`Error::Corrupt`] if a block that is needed is damaged; [`Error::Cancelled`] if it was
    /// [asked to stop](Self::cancel).
    pub fn run(&self, mut sink: impl FnMut(Answer<'_>) -> ControlFlow<()>) -> Result<BatchSummary> {
        if let Some(memory) = self.memory.filter(|&memory| memory < MIN_MEMORY) {
            let what = "a batch needs".to_string();
            return Err(Error::MemoryLimit { what, limit: memory, needed: MIN_MEMORY });
        }
        threads::check(self.threads)?;
        let pool = OnceCell::new();
        let mut run = Run { batch: self, pool, summary: BatchSummary::default(), sink: &mut sink };
        // Whole pieces are planned by their size, which their plan decides.
        let plan = run.choose(self.queries.len());
        let size = run.piece_queries(plan);
        let stopped = if self.ordered {
            run.answer_all(plan, pieces::in_order(self.queries, size))?
        } else {
            run.answer_all(plan, pieces::by_leading_bits(self.queries, size))?
        };
        run.summary.stopped = stopped.is_break();
        Ok(run.summary)
    }
}

/// A batch that runs.
struct Run<'a, F> {
    batch: &'a Batch<'a>,
    /// Started when it is first needed.
    pool: OnceCell<Arc<ThreadPool>>,
    summary: BatchSummary,
    sink: &'a mut F,
}

/// A query and its number among all.
type Query = [u64; 2];

/// For each of some queries, in ascending order, its number and which matches it has.
struct Answers<'a> {
    queries: &'a [Query],
    /// Queries and matches, in the order of the queries; those of these queries.
    pairs: &'a [[u64; 2]],
    /// The matches of the query before.
    answer: Range<usize>,
}

impl Iterator for Answers<'_> {
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

impl<F: FnMut(Answer<'_>) -> ControlFlow<()>> Run<'_, F> {
    /// The plan for so many queries.
    fn choose(&self, queries: usize) -> BatchPlan {
        let batch = self.batch;
        if let Some(plan) = batch.plan {
            return plan;
        }
        let plans = [BatchPlan::Search, BatchPlan::Probe, BatchPlan::Stream];
        let predicted = plans.map(|plan| {
            // Pieces are no cheaper than they are alone.
            let piece = queries.min(self.piece_queries(plan)).max(1);
            let time = batch.predicted(plan, piece as u64).unwrap_or(f64::INFINITY);
            (plan, time * queries as f64 / piece as f64)
        });
        let best = predicted.into_iter().min_by(|one, other| one.1.total_cmp(&other.1));
        best.map_or(BatchPlan::Search, |(plan, _)| plan)
    }

    /// Queries that are answered together.
    fn piece_queries(&self, plan: BatchPlan) -> usize {
        let batch = self.batch;
        let bytes = match plan {
            BatchPlan::Probe => QUERY_BYTES + probe::query_bytes(batch.segments, batch.k),
            _ => QUERY_BYTES,
        };
        // Probes with many visits are bounded in any case.
        let memory =
            batch.memory.unwrap_or(if bytes > 4 * QUERY_BYTES { 2 << 30 } else { u64::MAX });
        let pieces = memory.saturating_sub(FIXED_BYTES) / 4 / bytes;
        usize::try_from(pieces).unwrap_or(usize::MAX).max(1)
    }

    /// Matches that may be in memory.
    fn most_matches(&self) -> usize {
        self.items(MATCH_BYTES)
    }

    /// How many threads may search, each with a searcher of its own.
    fn searchers(&self, threads: usize) -> usize {
        let Some(memory) = self.batch.memory else { return threads };
        let bytes = Searcher::most_bytes(self.batch.segments).max(1);
        let searchers = memory.saturating_sub(FIXED_BYTES) / 2 / bytes;
        usize::try_from(searchers).unwrap_or(usize::MAX).clamp(1, threads)
    }

    /// Whether there is memory for what a probe decodes. Of large blocks, which may hold very many
    /// keys, each thread decodes one.
    fn has_room_to_probe(&self, threads: usize) -> bool {
        let Some(memory) = self.batch.memory else { return true };
        let bytes = probe::decoded_bytes(self.batch.segments);
        bytes <= THREAD_BYTES || bytes * threads as u64 <= memory.saturating_sub(FIXED_BYTES) / 2
    }

    /// How many items of so many bytes there are in a quarter of the memory.
    fn items(&self, bytes: u64) -> usize {
        let Some(memory) = self.batch.memory else { return usize::MAX };
        let items = memory.saturating_sub(FIXED_BYTES) / 4 / bytes;
        usize::try_from(items).unwrap_or(usize::MAX).max(1)
    }

    /// Answers pieces, up to where the caller stops.
    fn answer_all(
        &mut self,
        plan: BatchPlan,
        pieces: impl Iterator<Item = Vec<Query>>,
    ) -> Result<ControlFlow<()>> {
        for piece in pieces {
            if self.answer(plan, piece)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Answers a piece.
    fn answer(&mut self, plan: BatchPlan, queries: Vec<Query>) -> Result<ControlFlow<()>> {
        self.summary.plan = Some(plan);
        if plan == BatchPlan::Search {
            self.summary.pieces += 1;
            return self.search(&queries);
        }
        let pool = self.pool()?;
        let mut sorted = vec![[0; 2]; queries.len()];
        pool.install(|| sort::sort_lists(&[&queries], &mut sorted));
        let mut distinct: Vec<u64> = sorted.iter().map(|&[query, _]| query).collect();
        distinct.dedup();
        let Some(pairs) = self.find(plan, &distinct)? else {
            // More matches than fit: each half has fewer.
            drop((sorted, distinct));
            if let [[query, number]] = queries[..] {
                return self.answer_in_parts(number, query);
            }
            let (one, other) = queries.split_at(queries.len() / 2);
            let (one, other) = (one.to_vec(), other.to_vec());
            drop(queries);
            return match self.answer(plan, one)? {
                ControlFlow::Continue(()) => self.answer(plan, other),
                broken => Ok(broken),
            };
        };
        self.summary.pieces += 1;
        // What stands in several segments is found in each.
        let mut all = vec![[0; 2]; pairs.len()];
        pool.install(|| {
            let distinct = sort::sort_lists(&[&pairs], &mut all);
            all.truncate(distinct);
            let of_queries = all.par_chunk_by_mut(|one, other| one[0] == other[0]);
            of_queries.for_each(|pairs| {
                pairs.sort_unstable_by_key(|&[query, found]| ((query ^ found).count_ones(), found));
            });
        });
        drop(pairs);
        let of_numbers = Answers { queries: &sorted, pairs: &all, answer: 0..0 };
        let mut matches = Vec::new();
        let mut deliver = |run: &mut Self, number, pairs: &[[u64; 2]]| {
            matches.clear();
            matches.extend(pairs.iter().take(self.batch.limit).map(|&[query, found]| Match {
                fingerprint: found,
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

    /// All pairs of a query and a match, in any order; `None` if there are more than fit.
    fn find(&self, plan: BatchPlan, queries: &[u64]) -> Result<Option<Vec<[u64; 2]>>> {
        let batch = self.batch;
        let pool = self.pool()?;
        let most = self.most_matches();
        let has_room = self.has_room_to_probe(pool.current_num_threads());
        let mut pairs = Vec::new();
        let mut too_many = false;
        let work = |output: &Output| {
            let probed = plan == BatchPlan::Probe
                && has_room
                && probe::can_probe(batch.segments, batch.k)
                && probe::probe(output, queries, batch.segments, batch.k, &batch.costs)
                    .map(|()| true)?;
            if !probed {
                let piece = usize::try_from(batch.streamed()).unwrap_or(usize::MAX);
                let (k, costs) = (batch.k, &batch.costs.join);
                join::stream(output, queries.to_vec(), batch.segments, k, piece, costs)?;
            }
            Ok(())
        };
        Output::run(&pool, batch.cancel.clone(), work, |message| {
            if let Message::Pairs(some) = message {
                too_many = some.len() > most.saturating_sub(pairs.len());
                if !too_many {
                    pairs.extend(some.iter().map(|pair| [pair.a, pair.b]));
                }
            }
            if too_many { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((!too_many).then_some(pairs))
    }

    /// Hands an answer to the caller: matches, of which there are so many.
    fn deliver(&mut self, number: u64, matches: &[Match], count: usize) -> ControlFlow<()> {
        let matches = &matches[..matches.len().min(self.batch.limit)];
        let (query, count) = (number as usize, count as u64);
        self.hand_on(Answer { query, matches, count, more: false })
    }

    fn hand_on(&mut self, answer: Answer<'_>) -> ControlFlow<()> {
        self.summary.matches += answer.matches.len() as u64;
        if !answer.more {
            self.summary.queries += 1;
            if self.summary.queries.is_multiple_of(TOLD) || self.summary.queries == self.all() {
                (self.batch.progress)(self.summary.queries);
            }
        }
        (self.sink)(answer)
    }

    /// The threads of the batch.
    fn pool(&self) -> Result<Arc<ThreadPool>> {
        if let Some(pool) = self.pool.get() {
            return Ok(Arc::clone(pool));
        }
        let pool = Arc::new(threads::pool(self.batch.threads)?);
        Ok(Arc::clone(self.pool.get_or_init(|| pool)))
    }

    fn all(&self) -> u64 {
        self.batch.queries.len() as u64
    }
}
