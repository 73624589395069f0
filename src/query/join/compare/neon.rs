//! The comparisons with NEON: a fingerprint with 8 others at a time.
//!
//! ```text
//! others      | a | b |   | c | d |   | e | f |   | g | h |     4 loads of 2 words, unaligned
//!     ^ one, in all words
//! distances   | a | b | c | d | e | f | g | h |                 16 bits each
//!     <= k
//! mask          0   1   0 ...                                   a byte each: b is near
//! ```
//!
//! Loads take whole groups of 8 out of the slice; what is left of it is compared one by one.

#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::kernel::{Group, Kernel, LANES, fold};
use crate::fingerprint::Fingerprint;
use crate::simd::neon::{Neon, at_most, distances_of_words, words_of};
use crate::simd::ones;

impl Kernel for Neon {
    fn within(self, tile: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        for (i, &one) in tile.iter().enumerate() {
            // SAFETY: a value of `Neon` exists only where the CPU has NEON.
            unsafe { row(one, &tile[i + 1..], k, found) };
        }
    }

    fn between(self, left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        for &one in left {
            // SAFETY: a value of `Neon` exists only where the CPU has NEON.
            unsafe { row(one, right, k, found) };
        }
    }

    fn folded<F: Fingerprint, const WORDS: usize>(
        self,
        left: &[F],
        groups: &[Group<WORDS>],
        k: u32,
        the_same: bool,
        near: &mut impl FnMut(usize, usize),
    ) {
        // SAFETY: a value of `Neon` exists only where the CPU has NEON.
        unsafe { folded(left, groups, k, the_same, near) }
    }
}

/// Compares a fingerprint with all of `others`.
#[inline]
#[target_feature(enable = "neon")]
fn row(one: u64, others: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    let limit = vdupq_n_u16(k.min(64) as u16);
    let this = words_of(one);
    let (groups, rest) = others.as_chunks();
    for group in groups {
        let near = at_most(distances_of_words(group, this), limit);
        ones(near).for_each(|bit| found(one, group[bit / 8]));
    }
    for &other in rest {
        if (one ^ other).count_ones() <= k {
            found(one, other);
        }
    }
}

/// Compares fingerprints, folded, with groups of others.
#[target_feature(enable = "neon")]
fn folded<F: Fingerprint, const WORDS: usize>(
    left: &[F],
    groups: &[Group<WORDS>],
    k: u32,
    the_same: bool,
    near: &mut impl FnMut(usize, usize),
) {
    // Folded words are four at most, which differ in 256 bits.
    let limit = vdupq_n_u16(k.min(256) as u16);
    for (row, &one) in left.iter().enumerate() {
        let words = fold::<F, WORDS>(one);
        let first = if the_same { row / LANES } else { 0 };
        for (number, group) in groups.iter().enumerate().skip(first) {
            let mut distance = vdupq_n_u16(0);
            for (lanes, word) in group.iter().zip(words) {
                distance = vaddq_u16(distance, distances_of_words(lanes, words_of(word)));
            }
            let within = at_most(distance, limit);
            ones(within).for_each(|bit| near(row, number * LANES + bit / 8));
        }
    }
}
