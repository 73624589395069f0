//! What a batch asks and how, and what it gives.

use super::sweep::SweepPlan;
use crate::execution::Execution;
use crate::execution::budget::PROCESS_BYTES;
use crate::fingerprint::Fingerprint;
use crate::query::join;
use crate::query::search::Searcher;
use crate::snapshot::Snapshot;
use crate::snapshot::union::Match;

/// Fingerprints that a sweep holds where memory is not bounded.
const STREAMED: u64 = 1 << 24;

/// Many searches within one radius, from [`Snapshot::batch`].
///
/// Time, by `cargo bench --bench batch`: some 0.5 us of a thread per query for a million queries at
/// k = 3 on 2^26 fingerprints in `quarters`. Memory: up to 72 bytes per query, 48 per match, and
/// those of a piece of the store; or what [`Execution::memory`] allows.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// fpstore::Packer::new().pack(&path, [0b1011, 0b0011, u64::MAX])?;
///
/// let store = fpstore::Store::open(&path)?;
/// let queries = [u64::MAX, 0, 0b1011];
/// let mut counts = Vec::new();
/// store.batch(1).run(&queries, |answer| {
///     assert_eq!(answer.query, counts.len());
///     counts.push(answer.matches.len());
/// })?;
/// assert_eq!(counts, [1, 0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch<F: Fingerprint = u64> {
    pub(super) snapshot: Snapshot<F>,
    pub(super) k: u32,
    pub(super) plan: Option<BatchPlan>,
    pub(super) ordered: bool,
    pub(super) limit: usize,
    pub(super) execution: Execution,
}

impl<F: Fingerprint> Batch<F> {
    pub(crate) fn new(snapshot: Snapshot<F>, k: u32) -> Self {
        Self {
            snapshot,
            k: k.min(F::BITS),
            plan: None,
            ordered: true,
            limit: usize::MAX,
            execution: Execution::new(),
        }
    }

    /// How it runs. Where not all fits into the memory, the queries are answered in several pieces.
    /// Where the matches of a single query do not, the batch ends with
    /// [`Error::TooManyMatches`](crate::Error::TooManyMatches), unless a [limit](Self::limit)
    /// bounds them. The queries themselves do not count.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// The plan; without it the one with the least [predicted](Self::predicted) time.
    #[cfg(any(test, feature = "internals"))]
    #[doc(hidden)]
    pub fn plan(mut self, plan: BatchPlan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Whether answers come in the order of the queries; that is so by default. Else they come in
    /// any order, and where not all queries fit into the [memory](Execution::memory), pieces hold
    /// those with like leading bits, which read fewer blocks.
    pub fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }

    /// The most matches that are handed on for a query: the nearest ones. With 0 a batch only
    /// [counts](crate::query::Answer::count).
    pub fn limit(mut self, matches: usize) -> Self {
        self.limit = matches;
        self
    }

    /// The predicted time of a plan for so many queries at once, in nanoseconds of one thread;
    /// `None` if the store cannot follow it. Searches one by one take less once others have found
    /// where to look, and are predicted to.
    #[doc(hidden)]
    pub fn predicted(&self, plan: BatchPlan, queries: u64) -> Option<f64> {
        match plan {
            BatchPlan::Search => Some(queries as f64 * self.search_ns()),
            BatchPlan::Sweep => Self::HAS_KEYS.then(|| self.swept_by(queries).0),
        }
    }

    /// How a sweep of so many queries goes, and the predicted time: by lists, or `None` for the
    /// engine of joins.
    pub(super) fn swept_by(&self, queries: u64) -> (f64, Option<SweepPlan>) {
        let (count, together, costs) =
            (self.snapshot.len(), self.streamed(), self.execution.cost());
        let joined = join::stream_ns::<F>(queries, count, together, self.k, &costs.join);
        match SweepPlan::best(&self.snapshot, queries, self.k, together, costs) {
            Some((time, plan)) if time < joined => (time, Some(plan)),
            _ => (joined, None),
        }
    }

    /// Whether its fingerprints are keys of tables, of up to 64 bits: wider ones are searched one
    /// by one.
    pub(super) const HAS_KEYS: bool = F::BITS <= u64::BITS;

    /// The predicted time of a single search.
    pub(super) fn search_ns(&self) -> f64 {
        let costs = &self.execution.cost().search;
        self.snapshot.segments().iter().map(|segment| segment.search_ns(self.k, costs)).sum()
    }

    /// A searcher for a thread of the batch.
    pub(super) fn searcher(&self) -> Searcher<F> {
        let searcher = Searcher::new(self.snapshot.clone(), &self.execution.cost().disk);
        let searcher = searcher.stopped_by(self.execution.stop().clone());
        match self.execution.memory_limit() {
            Some(_) => searcher.building_nothing(),
            None => searcher,
        }
    }

    /// Fingerprints of the store that a sweep holds.
    pub(super) fn streamed(&self) -> u64 {
        match self.execution.memory_limit() {
            Some(memory) => {
                let bytes = join::fingerprint_bytes::<F>();
                (memory.saturating_sub(PROCESS_BYTES) / 2 / bytes).max(1 << 12)
            }
            None => STREAMED,
        }
    }
}

/// How a [`Batch`] is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BatchPlan {
    /// One query after the other, as [`Searcher::search`](crate::Searcher::search) does; best for
    /// few.
    Search,
    /// The store is read once, past the queries in memory: each table whose top helps, or the
    /// identity table alone. Reads the disk in order.
    Sweep,
}

/// What a [`Batch`] hands on for one of its queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer<'a, F = u64> {
    /// Number of the query, from 0 on.
    pub query: usize,
    /// Matches, by distance, then by value; no more than the [limit](crate::Batch::limit).
    pub matches: &'a [Match<F>],
    /// How many stored fingerprints match the query, whatever the limit.
    pub count: u64,
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

/// An [`Answer`] that owns its matches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnedAnswer<F = u64> {
    /// Number of the query, from 0 on.
    pub query: usize,
    /// Matches, by distance, then by value; no more than the [limit](crate::Batch::limit).
    pub matches: Vec<Match<F>>,
    /// How many stored fingerprints match the query, whatever the limit.
    pub count: u64,
}

impl<F: Clone> From<Answer<'_, F>> for OwnedAnswer<F> {
    fn from(answer: Answer<'_, F>) -> Self {
        let Answer { query, matches, count } = answer;
        Self { query, matches: matches.to_vec(), count }
    }
}
