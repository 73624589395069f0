//! What a snapshot can be asked.

use super::batch::Batch;
use super::clusters::Clustering;
use super::join::Join;
use super::search::Searcher;
use crate::costs::Costs;
use crate::error::Result;
use crate::snapshot::Snapshot;
use crate::snapshot::union::Match;

impl Snapshot {
    /// All stored fingerprints within Hamming distance `k` of `fingerprint`, ordered by distance,
    /// then by value. `k` over 64 is 64. Who asks many times keeps a [`Self::searcher`].
    ///
    /// Exact for every design and radius. The work depends on both: see [`Design`](crate::Design); where
    /// descending would touch more blocks than one table has, and from k = 33 on, it scans that
    /// table.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a block that is needed is damaged.
    pub fn search(&self, fingerprint: u64, k: u32) -> Result<Vec<Match>> {
        let mut searcher = self.searcher();
        searcher.search(fingerprint, k).map(<[Match]>::to_vec)
    }

    /// A searcher for one thread, which allocates nothing per query once its buffers have grown.
    pub fn searcher(&self) -> Searcher {
        Searcher::new(self.clone(), &Costs::shipped().disk)
    }

    /// Whether any fingerprint within Hamming distance `k` of `fingerprint` is stored. Takes less time
    /// than a search where there is one: it ends with the first that it finds.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn any_within(&self, fingerprint: u64, k: u32) -> Result<bool> {
        self.searcher().any_within(fingerprint, k)
    }

    /// Many searches at once, each of which gives what [`Self::search`] does. `k` over 64 is 64.
    /// [`Batch::run`] takes the queries.
    pub fn batch(&self, k: u32) -> Batch {
        Batch::new(self.clone(), k)
    }

    /// All pairs of stored fingerprints within Hamming distance `k` of each other, each once, the smaller
    /// one first. `k` over 64 is 64. [`Join::run`] starts it.
    pub fn self_join(&self, k: u32) -> Join {
        Join::new(self.clone(), None, k)
    }

    /// All pairs of a fingerprint of this snapshot and one of `other` within Hamming distance `k`, each
    /// once. `k` over 64 is 64. The stores may have different designs. [`Join::run`] starts it.
    pub fn join(&self, other: impl Into<Snapshot>, k: u32) -> Join {
        Join::new(self.clone(), Some(other.into()), k)
    }

    /// The clusters that the pairs within Hamming distance `k` form. `k` over 64 is 64.
    /// [`Clustering::run`] starts it.
    pub fn clusters(&self, k: u32) -> Clustering {
        Clustering::new(self.clone(), k)
    }
}
