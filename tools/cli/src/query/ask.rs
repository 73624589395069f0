//! How queries are asked.

use std::sync::Arc;

use fpstore::query::Answer;
use fpstore::{Batch, Execution, Fingerprint, Match, Searcher, Snapshot};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::args::Wanted;
use crate::failure::Failure;
use crate::units;

/// Queries whose answers are in memory at a time, where each is searched for itself.
const GROUP: usize = 256;
/// Of these, what a thread takes at least.
const LEAST: usize = 4;

/// What was found for a query.
pub struct Found<'a, F> {
    /// Number of the query among those that were asked together.
    pub query: usize,
    /// Matches, by distance, then by value.
    pub matches: &'a [Match<F>],
    /// How many there are, given or not.
    pub count: u64,
}

/// Queries that are asked together.
pub struct Ask<'a, F: Fingerprint> {
    /// What is asked.
    pub store: &'a Snapshot<F>,
    /// The greatest distance.
    pub k: u32,
    /// What is wanted of each.
    pub wanted: Wanted,
    /// Whether only numbers of matches are wanted.
    pub counts: bool,
    /// Threads and memory of batches.
    pub execution: Execution,
    /// What answers may take.
    pub memory: u64,
    /// The threads of searches.
    pub pool: Arc<ThreadPool>,
}

/// What takes the answers, in the order of the queries.
type Take<'a, F> = &'a mut dyn FnMut(Found<'_, F>) -> Result<(), Failure>;

impl<F: Fingerprint> Ask<'_, F> {
    /// Gives the answers.
    pub fn run(&self, queries: &[F], take: Take<'_, F>) -> Result<(), Failure> {
        let most = match self.wanted {
            Wanted::All => None,
            Wanted::Most(most) => Some(most),
            Wanted::Nearest(_) | Wanted::Any => return self.search(queries, take),
        };
        let given = if self.counts { Some(0) } else { most };
        let batch = self.store.batch(self.k).execution(self.execution.clone());
        let batch = given.into_iter().fold(batch, Batch::limit);
        let ran = batch.run(queries, |answer| {
            let Answer { query, matches, count, .. } = answer;
            let count = count.min(most.map_or(u64::MAX, |most| most as u64));
            take(Found { query, matches, count })
        });
        ran.map(drop)
    }

    /// How many queries are searched at a time, so that their answers fit into memory.
    ///
    /// # Errors
    ///
    /// The answer of a single one does not.
    fn group(&self) -> Result<usize, Failure> {
        let Wanted::Nearest(count) = self.wanted else { return Ok(GROUP) };
        let most = (count as u64).min(self.store.len()).max(1);
        let bytes = most.saturating_mul(size_of::<Match<F>>() as u64);
        match self.memory / bytes {
            0 => Err(Failure::Usage(format!(
                "--nearest {count}: the answer of one query takes {}, and --memory allows {}; ask for fewer, or \
                 allow more",
                units::bytes(bytes as f64),
                units::bytes(self.memory as f64),
            ))),
            queries => Ok(usize::try_from(queries).unwrap_or(GROUP).min(GROUP)),
        }
    }

    /// Searches for each, some at a time on all threads.
    fn search(&self, queries: &[F], take: Take<'_, F>) -> Result<(), Failure> {
        let size = self.group()?;
        for (group, queries) in queries.chunks(size).enumerate() {
            let searched: Vec<_> = self.pool.install(|| {
                let queries = queries.par_iter().with_min_len(LEAST);
                let one = |searcher: &mut Searcher<F>, &query: &F| self.one(searcher, query);
                queries.map_init(|| self.store.searcher(), one).collect()
            });
            for (number, searched) in searched.into_iter().enumerate() {
                let (count, matches): (u64, Vec<Match<F>>) = searched?;
                let query = group * size + number;
                take(Found { query, matches: &matches, count })?;
            }
        }
        Ok(())
    }

    /// How many match a query, and those of them that are wanted.
    fn one(&self, searcher: &mut Searcher<F>, query: F) -> fpstore::Result<(u64, Vec<Match<F>>)> {
        let matches = match self.wanted {
            Wanted::Any => {
                let any = searcher.any_within(query, self.k)?;
                return Ok((any.into(), Vec::new()));
            }
            Wanted::Nearest(count) => searcher.nearest(query, count, self.k)?,
            // Batches answer these.
            Wanted::All | Wanted::Most(_) => searcher.search(query, self.k)?.to_vec(),
        };
        Ok((matches.len() as u64, matches))
    }
}
