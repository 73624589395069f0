//! Compares fingerprints with each other: all pairs of a list, or of two lists, within k bits.
//!
//! Each vector kernel stands beside the scalar one, its oracle.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernel;
mod scalar;

use crate::simd::{Level, by_level};

use kernel::{Kernel, TILE};

/// Calls `found` with each pair of `list`, in either order, that differs in at most `k` bits.
#[inline]
pub(super) fn within(level: Level, list: &[u64], k: u32, mut found: impl FnMut(u64, u64)) {
    for (number, tile) in list.chunks(TILE).enumerate() {
        by_level!(level, kernel => kernel.within(tile, k, &mut found));
        let rest = &list[list.len().min((number + 1) * TILE)..];
        if !rest.is_empty() {
            between(level, tile, rest, k, &mut found);
        }
    }
}

/// Calls `found` with each fingerprint of `left` and each of `right` that differ in at most `k`
/// bits.
#[inline]
pub(crate) fn between(
    level: Level,
    left: &[u64],
    right: &[u64],
    k: u32,
    mut found: impl FnMut(u64, u64),
) {
    for right in right.chunks(TILE) {
        by_level!(level, kernel => kernel.between(left, right, k, &mut found));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(mut pairs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        pairs.sort_unstable();
        pairs
    }

    proptest! {
        #[test]
        fn every_kernel_finds_what_the_definition_gives(
            seed in any::<u64>(), lengths in (0usize..90, 0usize..90), k in 0u32..=64,
            spread in 0u64..=64, long in prop::bool::weighted(0.02),
        ) {
            let long = if long { TILE + 30 } else { 0 };
            // Fingerprints that differ in the bits of a mask.
            let mask = u64::MAX.checked_shr(64 - spread as u32).unwrap_or(0);
            let at = |i: u64| crate::set_sum::term(seed ^ i << 7) as u64 & mask;
            let left: Vec<u64> = (0..(lengths.0 + long) as u64).map(at).collect();
            let right: Vec<u64> = (0..lengths.1 as u64).map(|i| at(i + 5000)).collect();
            let near = |&(a, b): &(u64, u64)| (a ^ b).count_ones() <= k;
            let ordered = |(a, b): (u64, u64)| (a.min(b), a.max(b));
            let within = left.iter().enumerate()
                .flat_map(|(i, &a)| left[i + 1..].iter().map(move |&b| (a, b)));
            let within = sorted(within.filter(near).map(ordered).collect());
            let between = left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b)));
            let between = sorted(between.filter(near).collect());
            for level in Level::all() {
                let mut found = Vec::new();
                super::within(level, &left, k, |a, b| found.push(ordered((a, b))));
                prop_assert_eq!(&sorted(found), &within, "{:?}", level);
                let mut found = Vec::new();
                super::between(level, &left, &right, k, |a, b| found.push((a, b)));
                prop_assert_eq!(&sorted(found), &between, "{:?}", level);
            }
        }
    }
}
