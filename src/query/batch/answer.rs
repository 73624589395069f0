//! What a batch gives.

use crate::snapshot::union::Match;

/// How a [`Batch`](crate::Batch) is answered.
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

/// What a [`Batch`](crate::Batch) hands on for one of its queries.
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
