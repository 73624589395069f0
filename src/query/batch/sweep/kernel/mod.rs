//! The two steps in which nearly all time of a stream goes by: to leave of a list of queries those
//! that may match below a prefix, and to compare such a list with keys.
//!
//! A list holds its queries as two words of 32 bits, each in an array of its own: that is what
//! vectors compare fastest. Keys that come here begin alike with the queries of their list, and are
//! compared by one of the two words, the one that tells more, before by both.
//!
//! Each vector kernel stands beside the scalar one, its oracle.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(feature = "internals")]
mod timed;

#[cfg(feature = "internals")]
pub(crate) use timed::vector_ns;

/// Queries that a step of the widest kernel compares.
pub(super) const LANES: usize = 16;

/// Queries of a list: the upper and the lower halves of their keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries<'a> {
    upper: &'a [u32],
    lower: &'a [u32],
}

impl<'a> Entries<'a> {
    /// Both halves, of as many queries.
    pub(super) fn new(upper: &'a [u32], lower: &'a [u32]) -> Self {
        let len = upper.len().min(lower.len());
        Self { upper: &upper[..len], lower: &lower[..len] }
    }

    pub(super) fn len(self) -> usize {
        self.upper.len()
    }

    /// The first ones, and the others.
    pub(super) fn split_at(self, at: usize) -> (Self, Self) {
        let (upper, lower) = (self.upper.split_at(at), self.lower.split_at(at));
        (Self { upper: upper.0, lower: lower.0 }, Self { upper: upper.1, lower: lower.1 })
    }

    /// Copies both halves to where there is room, in whole vectors as far as that goes.
    #[inline(always)]
    pub(super) fn copy_to(self, upper: &mut [u32], lower: &mut [u32]) {
        copy(self.upper, upper);
        copy(self.lower, lower);
    }

    pub(super) fn get(self, at: usize) -> u64 {
        u64::from(self.upper[at]) << 32 | u64::from(self.lower[at])
    }
}

/// Room for the queries of a list, and [`LANES`] more: kernels write whole vectors.
#[derive(Debug)]
pub(super) struct Room<'a> {
    pub(super) upper: &'a mut [u32],
    pub(super) lower: &'a mut [u32],
}

/// The queries that differ in at most so many bits from a key, of those bits that are in a mask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) key: u64,
    pub(super) mask: u64,
    pub(super) most: u32,
}

/// A query of a list and a key, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near {
    pub(super) entry: u32,
    pub(super) key: u32,
}

/// The steps with the instructions of one level.
pub(super) trait Kernel: Copy {
    /// Writes those `entries` that are `within` to `room`, in their order, and gives their number.
    /// `room` has place for all and [`LANES`] more. With `UPPER`, the mask has no bit of the lower
    /// half.
    fn sift<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        within: Within,
        room: &mut Room<'_>,
    ) -> usize;

    /// Appends each of `entries` with each of `keys` that is within `k` of it. They are compared by
    /// their upper halves first with `UPPER`, else by the lower ones.
    fn compare<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        keys: &[u64],
        k: u32,
        near: &mut Vec<Near>,
    );
}

/// Copies words to the start of `to`, which has room for them: a few, where they are few, by one
/// vector.
#[inline(always)]
fn copy(from: &[u32], to: &mut [u32]) {
    to[..from.len()].copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::set_sum::term;
    use crate::simd::{Level, by_level};

    proptest! {
        #[test]
        fn every_kernel_sifts_and_compares_as_the_definition_says(
            seed in any::<u64>(), asked in 0usize..70, count in 0usize..80, spread in 0u32..=64,
            depth in 0u32..=64, most in 0u32..6, k in 0u32..9,
        ) {
            // Words that differ in the bits of a mask.
            let mask = u64::MAX.unbounded_shr(64 - spread).rotate_left(seed as u32);
            let at = |i: usize| term(seed ^ (i as u64) << 7) as u64 & mask;
            let queries: Vec<u64> = (0..asked).map(at).collect();
            let keys: Vec<u64> = (500..500 + count).map(at).collect();
            let upper: Vec<u32> = queries.iter().map(|query| (query >> 32) as u32).collect();
            let lower: Vec<u32> = queries.iter().map(|&query| query as u32).collect();
            let entries = Entries::new(&upper, &lower);
            let within = Within { key: at(1000), mask: !u64::MAX.unbounded_shr(depth), most };
            let is_within = |query: &u64| ((query ^ within.key) & within.mask).count_ones() <= most;
            let sifted: Vec<u64> = queries.iter().copied().filter(is_within).collect();
            let mut expected = Vec::new();
            for (entry, query) in (0..).zip(&queries) {
                let near = (0..).zip(&keys).filter(|(_, key)| (query ^ **key).count_ones() <= k);
                expected.extend(near.map(|(key, _)| Near { entry, key }));
            }
            for level in Level::all() {
                let mut room = [vec![7; asked + LANES], vec![7; asked + LANES]];
                let [to_upper, to_lower] = &mut room;
                let mut to = Room { upper: to_upper, lower: to_lower };
                let kept = by_level!(level, kernel => if depth <= 32 {
                    kernel.sift::<true>(entries, within, &mut to)
                } else {
                    kernel.sift::<false>(entries, within, &mut to)
                });
                let found = Entries::new(&room[0][..kept], &room[1][..kept]);
                let found: Vec<u64> = (0..kept).map(|at| found.get(at)).collect();
                prop_assert_eq!(&found, &sifted, "{:?}", level);
                for upper in [false, true] {
                    let mut near = Vec::new();
                    by_level!(level, kernel => if upper {
                        kernel.compare::<true>(entries, &keys, k, &mut near);
                    } else {
                        kernel.compare::<false>(entries, &keys, k, &mut near);
                    });
                    near.sort_unstable();
                    prop_assert_eq!(&near, &expected, "{:?}", level);
                }
            }
        }
    }
}
