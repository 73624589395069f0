//! The comparisons with AVX2: a fingerprint with 4 others at a time.
//!
//! ```text
//! others      |   a   |   b   |   c   |   d   |     one load of 4 words, from any address
//!     ^ one, in all words
//! distances   | a ^ 1 | b ^ 1 | c ^ 1 | d ^ 1 |     bits that are set in each word
//!     > k
//! mask            0       1       0       0         b is not near
//! ```
//!
//! Loads take whole groups of 4 out of the slice; what is left of it is compared one by one.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::kernel::{Group, Kernel, LANES, fold};
use crate::fingerprint::Fingerprint;
use crate::simd::avx2::{Avx2, count_ones_of_words, load_words};
use crate::simd::ones;

impl Kernel for Avx2 {
    fn within(self, tile: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2 and POPCNT.
        unsafe { within(tile, k, found) }
    }

    fn between(self, left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2 and POPCNT.
        unsafe { between(left, right, k, found) }
    }

    fn folded<F: Fingerprint, const WORDS: usize>(
        self,
        left: &[F],
        groups: &[Group<WORDS>],
        k: u32,
        the_same: bool,
        near: &mut impl FnMut(usize, usize),
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2 and POPCNT.
        unsafe { folded(left, groups, k, the_same, near) }
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn within(tile: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for (i, &one) in tile.iter().enumerate() {
        row(one, &tile[i + 1..], k, found);
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn between(left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for &one in left {
        row(one, right, k, found);
    }
}

/// Compares a fingerprint with all of `others`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn row(one: u64, others: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    let limit = _mm256_set1_epi64x(i64::from(k));
    let this = _mm256_set1_epi64x(one as i64);
    let (groups, rest) = others.as_chunks();
    for group in groups {
        let distance = count_ones_of_words(_mm256_xor_si256(load_words(group), this));
        let beyond = _mm256_cmpgt_epi64(distance, limit);
        let near = !(_mm256_movemask_pd(_mm256_castsi256_pd(beyond)) as u32) & 0xF;
        ones(near.into()).for_each(|lane| found(one, group[lane]));
    }
    for &other in rest {
        if (one ^ other).count_ones() <= k {
            found(one, other);
        }
    }
}

/// Compares fingerprints, folded, with groups of others: half a group at a time.
#[target_feature(enable = "avx2,popcnt")]
fn folded<F: Fingerprint, const WORDS: usize>(
    left: &[F],
    groups: &[Group<WORDS>],
    k: u32,
    the_same: bool,
    near: &mut impl FnMut(usize, usize),
) {
    let limit = _mm256_set1_epi64x(i64::from(k));
    for (row, &one) in left.iter().enumerate() {
        let words = fold::<F, WORDS>(one);
        let first = if the_same { row / LANES } else { 0 };
        for (number, group) in groups.iter().enumerate().skip(first) {
            for half in 0..2 {
                let mut distance = _mm256_setzero_si256();
                for (lanes, word) in group.iter().zip(words) {
                    let others = load_words(&lanes.as_chunks().0[half]);
                    let bits = _mm256_xor_si256(others, _mm256_set1_epi64x(word as i64));
                    distance = _mm256_add_epi64(distance, count_ones_of_words(bits));
                }
                let beyond = _mm256_cmpgt_epi64(distance, limit);
                let within = !(_mm256_movemask_pd(_mm256_castsi256_pd(beyond)) as u32) & 0xF;
                ones(within.into()).for_each(|lane| near(row, number * LANES + 4 * half + lane));
            }
        }
    }
}
