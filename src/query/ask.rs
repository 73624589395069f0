//! What a snapshot can be asked.

use super::batch::Batch;
use super::clusters::Clustering;
use super::join::Join;
use super::search::Searcher;
use crate::costs::Costs;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::snapshot::Snapshot;
use crate::snapshot::union::Match;

impl<F: Fingerprint> Snapshot<F> {
    /// All stored fingerprints within Hamming distance `k` of `fingerprint`, ordered by distance,
    /// then by value. `k` over the width is the width. Who asks many times keeps a
    /// [`Self::searcher`].
    ///
    /// Exact for every design and radius. The work depends on both: see [`Design`](crate::Design);
    /// where descending would touch more blocks than one table has, and from k = 33 on, it scans
    /// that table.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a block that is needed is damaged.
    pub fn search(&self, fingerprint: F, k: u32) -> Result<Vec<Match<F>>> {
        let mut searcher = self.searcher();
        searcher.search(fingerprint, k).map(<[Match<F>]>::to_vec)
    }

    /// The `count` stored fingerprints that are nearest to `fingerprint`, of those within `max_k`,
    /// as [`Searcher::nearest`] gives them.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    ///
    /// # Examples
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("store");
    /// fpstore::Packer::new().pack(&path, [0b1011, 0b0011, u64::MAX])?;
    ///
    /// let near = fpstore::Store::open(&path)?.nearest(0b1111, 2, 64)?;
    /// let distances: Vec<u32> = near.iter().map(|found| found.distance).collect();
    /// assert_eq!(distances, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nearest(&self, fingerprint: F, count: usize, max_k: u32) -> Result<Vec<Match<F>>> {
        self.searcher().nearest(fingerprint, count, max_k)
    }

    /// A searcher for one thread, which allocates nothing per query once its buffers have grown.
    pub fn searcher(&self) -> Searcher<F> {
        Searcher::new(self.clone(), &Costs::shipped().disk)
    }

    /// Whether any fingerprint within Hamming distance `k` of `fingerprint` is stored. Takes less
    /// time than a search where there is one: it ends with the first that it finds.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn any_within(&self, fingerprint: F, k: u32) -> Result<bool> {
        self.searcher().any_within(fingerprint, k)
    }

    /// Many searches at once, each of which gives what [`Self::search`] does. `k` over the width is
    /// the width. [`Batch::run`] takes the queries.
    pub fn batch(&self, k: u32) -> Batch<F> {
        Batch::new(self.clone(), k)
    }

    /// All pairs of stored fingerprints within Hamming distance `k` of each other, each once, the
    /// smaller one first. `k` over the width is the width. [`Join::run`] starts it.
    pub fn self_join(&self, k: u32) -> Join<F> {
        Join::new(self.clone(), None, k)
    }

    /// All pairs of a fingerprint of this snapshot and one of `other` within Hamming distance `k`,
    /// each once. `k` over the width is the width. The stores may have different designs.
    /// [`Join::run`] starts it.
    pub fn join(&self, other: impl Into<Self>, k: u32) -> Join<F> {
        Join::new(self.clone(), Some(other.into()), k)
    }

    /// The clusters that the pairs within Hamming distance `k` form. `k` over the width is the
    /// width. [`Clustering::run`] starts it.
    pub fn clusters(&self, k: u32) -> Clustering<F> {
        Clustering::new(self.clone(), k)
    }
}
