//! Clusters: the connected components of the graph whose edges are the pairs within k, with one
//! fingerprint of each to keep.

mod graph;

use std::collections::BTreeMap;

use bitvec::prelude::{BitVec, bitvec};
use graph::{Components, Numbers, Ranks};

use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::execution::budget::{LEAST_MEMORY, PROCESS_BYTES};
use crate::fingerprint::{Fingerprint, Hex};
use crate::memory;
use crate::query::join::{JoinEvent, Pair};
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;

/// Fingerprints or pairs after which it is looked whether to stop.
const LOOKED: usize = 1 << 14;

/// Which fingerprint of a cluster is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Keep {
    /// The one with the smallest id. Where ids are the numbers of lines or of documents, that is
    /// the one that was seen first. Fingerprints without ids come behind all others, by their
    /// value.
    #[default]
    SmallestId,
    /// The one with most neighbours within k; of several, by [`Keep::SmallestId`].
    Central,
}

/// Finds the clusters of a store, from [`Snapshot::clusters`].
///
/// A cluster holds all fingerprints that are linked by pairs within k, directly or over others: so
/// its ends may be further apart than k. This *chaining* grows with k;
/// [`max_cluster`](Self::max_cluster) counts clusters that look like it.
///
/// Time: that of a [join](crate::Join), but fingerprints that are all near each other take little,
/// since not all of their pairs are looked at; with [`Keep::Central`] all are.
///
/// Memory: at most 32 bytes per distinct fingerprint, 36 with [`Keep::Central`], where there are
/// fewer than 2^32. Of these the join takes 18 ([`Join`](crate::Join)), less where
/// [`Execution::memory`] bounds it; the clusters 14 (18) while pairs come in. Behind the join they
/// take 20 (24), and 28 (32) while ids are read, if no fingerprint is near another; less where
/// there are fewer clusters.
///
/// # Examples
///
/// ```
/// use fpstore::{Packer, Store};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// // Two near duplicates, one of them twice, and another document.
/// Packer::new().pack_with_ids(&path, [(0b1011, 2), (0b1111, 0), (0b1011, 1), (u64::MAX, 3)])?;
///
/// let store = Store::open(&path)?;
/// let clusters = store.clusters(3).run()?;
/// let kept: Vec<u64> = clusters.iter().filter(|at| at.kept()).map(|at| at.fingerprint).collect();
/// assert_eq!(kept, [0b1111, u64::MAX]);
/// let summary = clusters.summary();
/// assert_eq!((summary.documents, summary.exact_duplicates, summary.near_duplicates), (4, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Clustering<F: Fingerprint = u64> {
    snapshot: Snapshot<F>,
    k: u32,
    keep: Keep,
    max_cluster: u64,
    execution: Execution,
}

/// The clusters of a store, from [`Clustering::run`].
pub struct Clusters<F = u64> {
    fingerprints: Vec<F>,
    /// For each fingerprint the number of its cluster.
    numbers: Numbers,
    /// For each cluster its size, and the rank of the fingerprint that is kept.
    sizes: Numbers,
    kept: Numbers,
    summary: ClusterSummary,
}

/// A fingerprint and its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clustered<F = u64> {
    /// The fingerprint.
    pub fingerprint: F,
    /// The number of its cluster, from 0 on, in the order of the least fingerprints of clusters. A
    /// fingerprint without near ones is a cluster as well.
    pub cluster: u64,
    /// The fingerprint of the cluster that is kept.
    pub representative: F,
}

impl<F: Eq> Clustered<F> {
    /// Whether this fingerprint is the one that is kept.
    pub fn kept(&self) -> bool {
        self.fingerprint == self.representative
    }
}

/// What [`Clusters`] hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterSummary {
    /// Distinct fingerprints.
    pub fingerprints: u64,
    /// Documents: ids, and fingerprints that have none.
    pub documents: u64,
    /// Documents but one of each fingerprint.
    pub exact_duplicates: u64,
    /// Fingerprints that are not kept.
    pub near_duplicates: u64,
    /// Clusters, those of one fingerprint included: the number of fingerprints that are kept.
    pub clusters: u64,
    /// For each size, in fingerprints, the number of clusters that have it.
    pub sizes: BTreeMap<u64, u64>,
    /// Clusters larger than [`Clustering::max_cluster`].
    pub oversized: u64,
}

impl<F: Fingerprint> Clustering<F> {
    pub(crate) fn new(snapshot: Snapshot<F>, k: u32) -> Self {
        let (keep, execution) = (Keep::default(), Execution::new());
        Self { snapshot, k, keep, max_cluster: u64::MAX, execution }
    }

    /// How it runs. What the clusters do not take of the memory is for the join.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Which fingerprint of a cluster is kept.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// The number of fingerprints from which on a cluster counts as
    /// [oversized](ClusterSummary::oversized), if it has more.
    pub fn max_cluster(mut self, fingerprints: u64) -> Self {
        self.max_cluster = fingerprints;
        self
    }

    /// Joins the store with itself and finds the clusters. They do not depend on the number of
    /// threads.
    ///
    /// # Errors
    ///
    /// As [`Join::run`](crate::Join::run); [`Error::MemoryLimit`] also where the memory is not
    /// enough for the clusters.
    pub fn run(self) -> Result<Clusters<F>> {
        let mut join = self.snapshot.self_join(self.k).execution(self.execution.clone());
        if let Some(memory) = self.execution.memory_limit() {
            self.check_memory(join.least_memory())?;
            // A join of few fingerprints takes less than the least that a join can be held to.
            let rest = memory.saturating_sub(self.bytes());
            join = join.execution(self.execution.clone().memory(rest.max(LEAST_MEMORY)));
        }
        if self.keep != Keep::Central {
            join = join.links();
        }
        // Refused before anything is read.
        join.range()?;
        let mut graph = Graph::new(&self)?;
        join.run(|event| match event {
            JoinEvent::Pairs(pairs) => pairs.iter().try_for_each(|&pair| graph.add(pair)),
            JoinEvent::Range(_) => Ok::<(), Error>(()),
        })?;
        graph.finish(&self)
    }

    /// As [`Self::run`], with pairs that a join has found before, for instance in
    /// [shards](crate::Join::shard); any that come again do not change the clusters.
    ///
    /// # Errors
    ///
    /// Those of `pairs`; [`Error::NotStored`] for a pair whose fingerprints are not stored;
    /// [`Error::MemoryLimit`] where the memory is not enough for the clusters;
    /// [`Error::Corrupt`] if a block of an identity table is damaged.
    pub fn of_pairs<E: From<Error>>(
        self,
        pairs: impl IntoIterator<Item = Result<Pair<F>, E>>,
    ) -> Result<Clusters<F>, E> {
        self.check_memory(PROCESS_BYTES)?;
        let mut graph = Graph::new(&self)?;
        for (number, pair) in pairs.into_iter().enumerate() {
            if number.is_multiple_of(LOOKED) {
                self.execution.stop().check()?;
            }
            graph.add(pair?)?;
        }
        Ok(graph.finish(&self)?)
    }

    /// Refuses a limit that is not enough where so many bytes are needed beside the clusters while
    /// pairs come in.
    fn check_memory(&self, beside: u64) -> Result<()> {
        let joining = self.bytes().saturating_add(beside);
        let finishing = self.finishing_bytes().saturating_add(PROCESS_BYTES);
        let needed = joining.max(finishing).max(LEAST_MEMORY);
        match self.execution.memory_limit().filter(|&memory| memory < needed) {
            Some(memory) => {
                let what = format!("clusters of {} fingerprints need", self.snapshot.len());
                Err(Error::MemoryLimit { what, limit: memory, needed })
            }
            None => Ok(()),
        }
    }

    /// Bytes that clusters take while pairs come in.
    fn bytes(&self) -> u64 {
        // The fingerprint, one for the directory, and one for the rank in its set.
        let fingerprint = F::BYTES as u64;
        self.snapshot
            .len()
            .saturating_mul(2 + fingerprint + self.number_bytes() + self.degree_bytes())
    }

    /// Bytes that clusters take at most when what is kept is chosen, if each fingerprint is one.
    fn finishing_bytes(&self) -> u64 {
        let ids = if self.snapshot.has_ids() { 8 } else { 0 };
        // The fingerprint, its cluster, the size of that, and what it keeps.
        self.snapshot
            .len()
            .saturating_mul(F::BYTES as u64 + 3 * self.number_bytes() + self.degree_bytes() + ids)
    }

    fn number_bytes(&self) -> u64 {
        if self.snapshot.len() < u64::from(u32::MAX) { 4 } else { 8 }
    }

    fn degree_bytes(&self) -> u64 {
        if self.keep == Keep::Central { 4 } else { 0 }
    }
}

/// Pairs, as they come in.
struct Graph<F> {
    ranks: Ranks<F>,
    components: Components,
    /// How many pairs each fingerprint is in.
    degrees: Option<Vec<u32>>,
}

impl<F: Fingerprint> Graph<F> {
    fn new(options: &Clustering<F>) -> Result<Self> {
        // A store never gives more than it states.
        let mut fingerprints = Vec::new();
        memory::reserve(&mut fingerprints, usize::try_from(options.snapshot.len()).unwrap_or(0))?;
        options.snapshot.iter().try_for_each(|next| {
            if fingerprints.len().is_multiple_of(LOOKED) {
                options.execution.stop().check()?;
            }
            fingerprints.push(next?);
            Ok::<(), Error>(())
        })?;
        let count = fingerprints.len();
        Ok(Self {
            ranks: Ranks::new(fingerprints),
            components: Components::new(count),
            degrees: (options.keep == Keep::Central).then(|| vec![0; count]),
        })
    }

    fn add(&mut self, pair: Pair<F>) -> Result<()> {
        let rank = |fingerprint: F| {
            let not_stored = || Error::NotStored { fingerprint: Hex::of(fingerprint) };
            self.ranks.get(fingerprint).ok_or_else(not_stored)
        };
        let (one, other) = (rank(pair.a)?, rank(pair.b)?);
        self.components.unite(one, other);
        if let Some(degrees) = &mut self.degrees {
            for rank in [one, other] {
                degrees[rank] = degrees[rank].saturating_add(1);
            }
        }
        Ok(())
    }

    fn finish(self, options: &Clustering<F>) -> Result<Clusters<F>> {
        let Self { ranks, components, degrees } = self;
        let fingerprints = ranks.into_fingerprints();
        let (numbers, count) = components.numbered();
        let bound = fingerprints.len() + 1;
        let (mut sizes, mut kept) = (Numbers::zeros(count, bound), Numbers::zeros(count, bound));
        let mut documents = 0u64;
        {
            let degree = |rank: usize| degrees.as_ref().map_or(0, |degrees| degrees[rank]);
            let known = if options.snapshot.has_ids() { count } else { 0 };
            let ids = FirstIds { ids: vec![0; known], known: bitvec![0; known] };
            let mut choice = Choice { ids, kept: &mut kept, sizes: &mut sizes };
            if options.snapshot.has_ids() {
                let mut cursor = Cursor::with_common_ids(&options.snapshot)?;
                let mut rank = 0usize;
                while let Some((_, mut ids)) = cursor.next_with_ids()? {
                    if rank.is_multiple_of(LOOKED) {
                        options.execution.stop().check()?;
                    }
                    let first = ids.next_number()?;
                    documents += 1;
                    // What stands in several segments counts once.
                    while ids.next_number()?.is_some() {
                        documents += 1;
                    }
                    choice.offer(&numbers, rank, first, degree);
                    rank += 1;
                }
            } else {
                documents = fingerprints.len() as u64;
                (0..fingerprints.len()).for_each(|rank| choice.offer(&numbers, rank, None, degree));
            }
        }
        let mut summary = ClusterSummary {
            fingerprints: fingerprints.len() as u64,
            documents,
            exact_duplicates: documents - fingerprints.len() as u64,
            near_duplicates: (fingerprints.len() - count) as u64,
            clusters: count as u64,
            ..ClusterSummary::default()
        };
        for size in (0..count).filter_map(|cluster| sizes.get(cluster)) {
            *summary.sizes.entry(size as u64).or_default() += 1;
        }
        let oversized = summary.sizes.iter().filter(|&(&size, _)| size > options.max_cluster);
        summary.oversized = oversized.map(|(_, count)| count).sum();
        Ok(Clusters { fingerprints, numbers, sizes, kept, summary })
    }
}

/// For each cluster the smallest id of some fingerprint, if it has any; empty where there are no
/// ids.
struct FirstIds {
    ids: Vec<u64>,
    known: BitVec,
}

impl FirstIds {
    fn get(&self, cluster: usize) -> Option<u64> {
        let id = self.ids.get(cluster)?;
        self.known.get(cluster)?.then_some(*id)
    }

    fn set(&mut self, cluster: usize, id: Option<u64>) {
        if let Some(known) = self.ids.get_mut(cluster) {
            *known = id.unwrap_or_default();
            self.known.set(cluster, id.is_some());
        }
    }
}

/// Chooses what is kept.
struct Choice<'a> {
    /// Those of what is kept.
    ids: FirstIds,
    kept: &'a mut Numbers,
    sizes: &'a mut Numbers,
}

impl Choice<'_> {
    /// Offers the next fingerprint, in ascending order.
    fn offer(
        &mut self,
        numbers: &Numbers,
        rank: usize,
        id: Option<u64>,
        degree: impl Fn(usize) -> u32,
    ) {
        // A store that changes while it is read could have more; its files do not change.
        let Some(cluster) = numbers.get(rank) else { return };
        let (Some(size), Some(kept)) = (self.sizes.get(cluster), self.kept.get(cluster)) else {
            return;
        };
        self.sizes.set(cluster, size + 1);
        // More pairs, then a smaller id, then a smaller fingerprint, which came before.
        let order = |rank, id: Option<u64>| (std::cmp::Reverse(degree(rank)), id.is_none(), id);
        let known = self.ids.get(cluster);
        if size == 0 || order(rank, id) < order(kept, known) {
            self.kept.set(cluster, rank);
            self.ids.set(cluster, id);
        }
    }
}

impl<F: Fingerprint> Clusters<F> {
    /// All fingerprints in ascending order, with their clusters.
    pub fn iter(&self) -> impl Iterator<Item = Clustered<F>> + '_ {
        (0..self.fingerprints.len()).filter_map(|rank| self.at(rank))
    }

    /// The cluster of a fingerprint; `None` if it is not stored. Takes O(log n) time.
    pub fn get(&self, fingerprint: F) -> Option<Clustered<F>> {
        self.at(self.fingerprints.binary_search(&fingerprint).ok()?)
    }

    /// The number of fingerprints of a cluster; `None` if there is no such cluster.
    pub fn size(&self, cluster: u64) -> Option<u64> {
        self.sizes.get(usize::try_from(cluster).ok()?).map(|size| size as u64)
    }

    /// Counts of documents and clusters.
    pub fn summary(&self) -> &ClusterSummary {
        &self.summary
    }

    fn at(&self, rank: usize) -> Option<Clustered<F>> {
        let cluster = self.numbers.get(rank)?;
        let representative = *self.fingerprints.get(self.kept.get(cluster)?)?;
        let fingerprint = *self.fingerprints.get(rank)?;
        Some(Clustered { fingerprint, cluster: cluster as u64, representative })
    }
}

impl<F> std::fmt::Debug for Clusters<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clusters").field("summary", &self.summary).finish_non_exhaustive()
    }
}
