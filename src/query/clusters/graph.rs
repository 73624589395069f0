//! The graph whose edges are the pairs of a join: which fingerprints hang together, and with how
//! many others each is paired.

use crate::fingerprint::{Fingerprint, key_of};

/// Fingerprints per entry of the directory.
const PER_ENTRY: usize = 16;

/// Sorted fingerprints, and where to begin to look for one.
pub(super) struct Ranks<F> {
    fingerprints: Vec<F>,
    /// For each value of the leading bits where the fingerprints with it start; and the end.
    starts: Vec<usize>,
    shift: u32,
}

impl<F: Fingerprint> Ranks<F> {
    /// `fingerprints` ascend strictly.
    pub(super) fn new(fingerprints: Vec<F>) -> Self {
        let entries = (fingerprints.len() / PER_ENTRY).next_power_of_two().max(2);
        let shift = 64 - entries.ilog2();
        let mut starts = Vec::with_capacity(entries + 1);
        for (rank, &fingerprint) in fingerprints.iter().enumerate() {
            let entry = (key_of(fingerprint) >> shift) as usize;
            starts.resize(starts.len().max(entry + 1), rank);
        }
        starts.resize(entries + 1, fingerprints.len());
        Self { fingerprints, starts, shift }
    }

    /// The number of fingerprints that are smaller, if it is one of them.
    pub(super) fn get(&self, fingerprint: F) -> Option<usize> {
        let entry = (key_of(fingerprint) >> self.shift) as usize;
        let start = self.starts[entry];
        let here = self.fingerprints.get(start..self.starts[entry + 1])?;
        here.binary_search(&fingerprint).ok().map(|at| start + at)
    }

    pub(super) fn into_fingerprints(self) -> Vec<F> {
        self.fingerprints
    }
}

/// Numbers below the number of fingerprints, in as few bytes as they all need.
pub(super) enum Numbers {
    Narrow(Vec<u32>),
    Wide(Vec<usize>),
}

impl Numbers {
    /// Number `at`.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<usize> {
        match self {
            Self::Narrow(numbers) => numbers.get(at).map(|&number| number as usize),
            Self::Wide(numbers) => numbers.get(at).copied(),
        }
    }

    /// Room for `count` numbers, each 0 at first, that are below `bound`.
    pub(super) fn zeros(count: usize, bound: usize) -> Self {
        if is_narrow(bound) { Self::Narrow(vec![0; count]) } else { Self::Wide(vec![0; count]) }
    }

    /// Changes number `at`, which exists, to one below the bound.
    #[inline]
    pub(super) fn set(&mut self, at: usize, number: usize) {
        match self {
            Self::Narrow(numbers) => numbers[at] = number as u32,
            Self::Wide(numbers) => numbers[at] = number,
        }
    }
}

fn is_narrow(bound: usize) -> bool {
    bound <= u32::MAX as usize
}

/// Sets of fingerprints, named by their ranks.
pub(super) enum Components {
    Narrow(Forest<u32>),
    Wide(Forest<usize>),
}

impl Components {
    /// Every fingerprint for itself.
    pub(super) fn new(count: usize) -> Self {
        match is_narrow(count) {
            true => Self::Narrow(Forest::new(count)),
            false => Self::Wide(Forest::new(count)),
        }
    }

    /// Unites the sets of two fingerprints.
    pub(super) fn unite(&mut self, one: usize, other: usize) {
        match self {
            Self::Narrow(sets) => sets.unite(one, other),
            Self::Wide(sets) => sets.unite(one, other),
        }
    }

    /// For each fingerprint the number of its set, and the number of sets. Sets are numbered from 0
    /// on in the order of their least fingerprints.
    pub(super) fn numbered(self) -> (Numbers, usize) {
        match self {
            Self::Narrow(sets) => {
                let (numbers, count) = sets.numbered();
                (Numbers::Narrow(numbers), count)
            }
            Self::Wide(sets) => {
                let (numbers, count) = sets.numbered();
                (Numbers::Wide(numbers), count)
            }
        }
    }
}

/// A rank in as few bytes as all need.
pub(super) trait Rank: Copy + PartialEq {
    fn new(rank: usize) -> Self;
    fn get(self) -> usize;
}

impl Rank for u32 {
    fn new(rank: usize) -> Self {
        rank as u32
    }

    fn get(self) -> usize {
        self as usize
    }
}

impl Rank for usize {
    fn new(rank: usize) -> Self {
        rank
    }

    fn get(self) -> usize {
        self
    }
}

/// Sets as trees, each with its least member at the root: a parent is never greater than its child,
/// so one pass in ascending order finds the root of everything.
pub(super) struct Forest<R> {
    parents: Vec<R>,
}

impl<R: Rank> Forest<R> {
    fn new(count: usize) -> Self {
        Self { parents: (0..count).map(R::new).collect() }
    }

    /// The least member of the set that `rank` is in. Halves the way for who comes next, so that
    /// all ways together stay nearly linear.
    fn root(&mut self, mut rank: usize) -> usize {
        loop {
            let parent = self.parents[rank].get();
            if parent == rank {
                return rank;
            }
            let grandparent = self.parents[parent];
            self.parents[rank] = grandparent;
            rank = grandparent.get();
        }
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other)] = R::new(one.min(other));
    }

    /// For each member the number of its set, in the order of the least members; and how many there
    /// are.
    fn numbered(self) -> (Vec<R>, usize) {
        let mut numbers = self.parents;
        let mut count = 0;
        for rank in 0..numbers.len() {
            let parent = numbers[rank].get();
            numbers[rank] = if parent == rank {
                count += 1;
                R::new(count - 1)
            } else {
                // That one has its number already.
                numbers[parent]
            };
        }
        (numbers, count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranks_are_found_in_sets_of_any_shape(
            set in prop::collection::btree_set(any::<u64>(), 0..300),
            dense in 0u64..300, shift in 0u32..64, probes in prop::collection::vec(any::<u64>(), 20),
        ) {
            let dense = (0..dense).map(|i| i << shift.min(55));
            let set: BTreeSet<u64> = set.into_iter().map(|fp| fp >> shift).chain(dense).collect();
            let list: Vec<u64> = set.iter().copied().collect();
            let ranks = Ranks::new(list.clone());
            for (rank, &fingerprint) in list.iter().enumerate() {
                prop_assert_eq!(ranks.get(fingerprint), Some(rank));
            }
            for probe in probes.into_iter().chain([0, 1, u64::MAX]) {
                prop_assert_eq!(ranks.get(probe), list.binary_search(&probe).ok());
            }
        }

        #[test]
        fn sets_are_numbered_by_their_least_members(
            count in 1usize..60, pairs in prop::collection::vec((0usize..60, 0usize..60), 0..60),
        ) {
            let mut narrow = Components::Narrow(Forest::new(count));
            let mut wide = Components::Wide(Forest::new(count));
            // By painting: the colour of one becomes that of the other.
            let mut colours: Vec<usize> = (0..count).collect();
            for (one, other) in pairs.into_iter().map(|(a, b)| (a % count, b % count)) {
                narrow.unite(one, other);
                wide.unite(one, other);
                let (from, to) = (colours[one], colours[other]);
                colours.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
            }
            let mut seen = Vec::new();
            let expected: Vec<usize> = colours.iter().map(|colour| {
                seen.iter().position(|c| c == colour).unwrap_or_else(|| {
                    seen.push(*colour);
                    seen.len() - 1
                })
            }).collect();
            for (numbers, sets) in [narrow.numbered(), wide.numbered()] {
                prop_assert_eq!(sets, seen.len());
                let found: Vec<_> = (0..count).filter_map(|rank| numbers.get(rank)).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(numbers.get(count), None);
            }
        }
    }
}
