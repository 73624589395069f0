//! The comparisons pair by pair: the oracle of the others.

use super::kernel::{Group, Kernel, LANES, fold};
use crate::fingerprint::Fingerprint;
use crate::simd::Scalar;

impl Kernel for Scalar {
    fn within(self, tile: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        for (i, one) in tile.iter().enumerate() {
            between(std::slice::from_ref(one), &tile[i + 1..], k, found);
        }
    }

    fn between(self, left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        between(left, right, k, found);
    }

    fn folded<F: Fingerprint, const WORDS: usize>(
        self,
        left: &[F],
        groups: &[Group<WORDS>],
        k: u32,
        the_same: bool,
        near: &mut impl FnMut(usize, usize),
    ) {
        for (row, &one) in left.iter().enumerate() {
            let words = fold::<F, WORDS>(one);
            let first = if the_same { row / LANES } else { 0 };
            for (number, group) in groups.iter().enumerate().skip(first) {
                for lane in 0..LANES {
                    let of_words =
                        group.iter().zip(words).map(|(others, word)| others[lane] ^ word);
                    if of_words.map(u64::count_ones).sum::<u32>() <= k {
                        near(row, number * LANES + lane);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn between(left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for &one in left {
        for &other in right {
            if (one ^ other).count_ones() <= k {
                found(one, other);
            }
        }
    }
}
