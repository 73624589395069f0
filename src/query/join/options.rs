//! What a join joins, and how.

use std::ops::RangeInclusive;

use super::needs;
use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::execution::budget::{self, LEAST_MEMORY};
use crate::fingerprint::Fingerprint;
use crate::recipe;
use crate::snapshot::Snapshot;

/// A join of a store with itself or with another, from
/// [`Snapshot::self_join`] or [`Snapshot::join`].
///
/// Gives each pair of distinct fingerprints within k bits once; in a join of two stores, each pair
/// of one of the first and one of the second, so equal ones too, with distance 0. Exact for every k
/// from 0 to the width, whatever the designs of the stores.
///
/// Time: uniform fingerprints at k = 3 take some 140 ns of a thread each at 2^24. The time grows
/// with the number of pairs, and at large k with the square of the set, as comparing all with all
/// does. Memory: twice the bytes of the fingerprints of both sides, 2 bytes more for each at most,
/// and some MiB, however the set is distributed; or what [`Execution::memory`] allows. No pair is
/// held back.
///
/// # Examples
///
/// ```
/// use fpstore::query::{JoinEvent, Pair};
/// use fpstore::{Packer, Store};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// Packer::new().pack(&path, [0b1011, 0b0011, u64::MAX])?;
///
/// let store = Store::open(&path)?;
/// let mut pairs = Vec::new();
/// let summary = store.self_join(3).run(|event| {
///     if let JoinEvent::Pairs(some) = event {
///         pairs.extend_from_slice(some);
///     }
/// })?;
/// assert_eq!(pairs, [Pair { a: 0b0011, b: 0b1011, distance: 1 }]);
/// assert_eq!(summary.pairs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Join<F: Fingerprint = u64> {
    pub(super) a: Snapshot<F>,
    pub(super) b: Option<Snapshot<F>>,
    pub(super) k: u32,
    pub(super) shard: (u64, u64),
    pub(super) start: F,
    /// Fingerprints in memory, whatever the memory.
    pub(super) capacity: Option<usize>,
    /// Whether pairs are enough that connect what all pairs do.
    pub(super) links: bool,
    pub(super) execution: Execution,
}

impl<F: Fingerprint> Join<F> {
    pub(crate) fn new(a: Snapshot<F>, b: Option<Snapshot<F>>, k: u32) -> Self {
        let (k, execution) = (k.min(F::BITS), Execution::new());
        let (shard, start) = ((0, 1), F::default());
        Self { a, b, k, shard, start, capacity: None, links: false, execution }
    }

    /// How it runs. Where not all fingerprints fit into the memory, it works range by range; a join
    /// in r ranges reads and splits the store about r / 2 times.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Hands on few pairs that connect whatever all pairs connect, not each once and perhaps some
    /// twice. Of n fingerprints that are all near each other these are some n.
    pub(crate) fn links(mut self) -> Self {
        self.links = true;
        self
    }

    /// Joins one shard only: of those pairs whose [`a`](crate::query::Pair::a) lies in range number
    /// `index`, from 0 on, of `count` ranges of about equal numbers of fingerprints. Together the
    /// shards give each pair once. They depend on the files of the store and nothing else, so that
    /// several machines can divide the work.
    ///
    /// The first shard has most work, since each fingerprint is compared with those behind it.
    pub fn shard(mut self, index: u64, count: u64) -> Self {
        self.shard = (index, count);
        self
    }

    /// Leaves out all pairs whose [`a`](crate::query::Pair::a) is below `fingerprint`. Who has
    /// noted the end of the last [range](crate::query::JoinEvent::Range) goes on behind it, also
    /// with another amount of memory.
    pub fn start(mut self, fingerprint: F) -> Self {
        self.start = fingerprint;
        self
    }

    /// The fingerprints that [`a`](crate::query::Pair::a) may be, by [shard](Self::shard) and
    /// [start](Self::start); `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`]; [`Error::Recipes`].
    pub fn range(&self) -> Result<Option<RangeInclusive<F>>> {
        self.check_options()?;
        let shard = self.a.settled()?.shard(self.shard.0, self.shard.1)?;
        let shard = shard.map(|(start, last)| (start.max(self.start), last));
        Ok(shard.filter(|(start, last)| start <= last).map(|(start, last)| start..=last))
    }

    /// The same join, of snapshots whose fingerprints are all in segments.
    pub(super) fn settled(&self) -> Result<Self> {
        let b = self.b.as_ref().map(Snapshot::settled).transpose()?;
        Ok(Self { a: self.a.settled()?, b, ..self.clone() })
    }

    /// What this join takes at the least: less than [`LEAST_MEMORY`] where there are few
    /// fingerprints.
    pub(crate) fn least_memory(&self) -> u64 {
        let count = self.a.len() + self.b.as_ref().map_or(0, Snapshot::len);
        needs::needed_bytes::<F>(count, self.execution.thread_count() as u64).min(LEAST_MEMORY)
    }

    fn check_options(&self) -> Result<()> {
        budget::check(self.execution.memory_limit(), "a join needs")?;
        let of_b = self.b.as_ref().and_then(Snapshot::recipe);
        recipe::check_same(self.a.recipe(), of_b, None)?;
        let (index, count) = self.shard;
        if index >= count {
            let expected = format!("there are {count} shards, numbered from 0 on");
            return Err(Error::invalid_option("shard", index, expected));
        }
        Ok(())
    }
}
