//! Compares fingerprints with each other: all pairs of a list, or of two lists, within k bits.
//!
//! Each vector kernel stands beside the scalar one, its oracle.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernel;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use crate::fingerprint::{Fingerprint, word_count};
use crate::simd::{Level, by_level};

use kernel::{Folded, Kernel, TILE};

/// Words of which most pairs are rejected by one look at the least words that fingerprints can be
/// folded to.
///
/// The distance of two unrelated folded fingerprints has a mean of 32 bits per word, and a standard
/// deviation of 4 times the root of the number of words. Up to 3.5 of them below the mean one in
/// thousands gets through.
pub(super) fn words_compared<F: Fingerprint>(k: u32) -> usize {
    let words = match k {
        0..=18 => 1,
        19..=44 => 2,
        _ => 4,
    };
    words.min(word_count::<F>())
}

/// Calls `found` with each pair of `list`, in either order, that differs in at most `k` bits.
#[inline]
pub(super) fn within<F: Fingerprint>(
    level: Level,
    list: &[F],
    k: u32,
    mut found: impl FnMut(F, F),
) {
    if let Some(list) = as_words(list) {
        return within_words(level, list, k, |one, other| found(of_word(one), of_word(other)));
    }
    match words_compared::<F>(k) {
        1 => within_folded::<F, 1>(level, list, k, &mut found),
        2 => within_folded::<F, 2>(level, list, k, &mut found),
        _ => within_folded::<F, 4>(level, list, k, &mut found),
    }
}

/// Calls `found` with each fingerprint of `left` and each of `right` that differ in at most `k`
/// bits.
#[inline]
pub(crate) fn between<F: Fingerprint>(
    level: Level,
    left: &[F],
    right: &[F],
    k: u32,
    mut found: impl FnMut(F, F),
) {
    if let (Some(left), Some(right)) = (as_words(left), as_words(right)) {
        let found = |one, other| found(of_word(one), of_word(other));
        return between_words(level, left, right, k, found);
    }
    match words_compared::<F>(k) {
        1 => between_folded::<F, 1>(level, left, right, k, &mut found),
        2 => between_folded::<F, 2>(level, left, right, k, &mut found),
        _ => between_folded::<F, 4>(level, left, right, k, &mut found),
    }
}

/// The fingerprints themselves, if they have 64 bits.
#[inline(always)]
fn as_words<F: Fingerprint>(list: &[F]) -> Option<&[u64]> {
    (F::BITS == u64::BITS).then(|| bytemuck::cast_slice(list))
}

/// The other way round.
#[inline(always)]
fn of_word<F: Fingerprint>(word: u64) -> F {
    F::of_words(|_| word)
}

#[inline]
fn within_words(level: Level, list: &[u64], k: u32, mut found: impl FnMut(u64, u64)) {
    for (number, tile) in list.chunks(TILE).enumerate() {
        by_level!(level, kernel => kernel.within(tile, k, &mut found));
        let rest = &list[list.len().min((number + 1) * TILE)..];
        if !rest.is_empty() {
            between_words(level, tile, rest, k, &mut found);
        }
    }
}

#[inline]
fn between_words(
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

/// Does not depend on what is done with pairs, which are few: there is one for each width.
fn within_folded<F: Fingerprint, const WORDS: usize>(
    level: Level,
    list: &[F],
    k: u32,
    found: &mut dyn FnMut(F, F),
) {
    for (number, tile) in list.chunks(TILE).enumerate() {
        for (number, few) in tile.chunks(Folded::<WORDS>::MOST).enumerate() {
            let folded = Folded::<WORDS>::new(few);
            compare_folded(level, few, (few, &folded), k, true, found);
            let rest = &tile[tile.len().min((number + 1) * Folded::<WORDS>::MOST)..];
            compare_folded(level, rest, (few, &folded), k, false, found);
        }
        let rest = &list[list.len().min((number + 1) * TILE)..];
        between_folded::<F, WORDS>(level, tile, rest, k, found);
    }
}

fn between_folded<F: Fingerprint, const WORDS: usize>(
    level: Level,
    left: &[F],
    right: &[F],
    k: u32,
    found: &mut dyn FnMut(F, F),
) {
    for left in left.chunks(TILE) {
        for few in right.chunks(Folded::<WORDS>::MOST) {
            let folded = Folded::<WORDS>::new(few);
            compare_folded(level, left, (few, &folded), k, false, found);
        }
    }
}

/// Compares all of `left` with few others, by way of what these are folded to; if they are
/// `the_same`, each with those behind it.
fn compare_folded<F: Fingerprint, const WORDS: usize>(
    level: Level,
    left: &[F],
    (few, folded): (&[F], &Folded<WORDS>),
    k: u32,
    the_same: bool,
    found: &mut dyn FnMut(F, F),
) {
    let mut near = |row: usize, other: usize| {
        // Behind the last there is room that was never filled.
        let other = few.get(other).filter(|_| !the_same || row < other);
        if let (Some(&one), Some(&other)) = (left.get(row), other)
            && (WORDS == word_count::<F>() || one.distance(other) <= k)
        {
            found(one, other);
        }
    };
    let groups = folded.groups(few.len());
    by_level!(level, kernel => kernel.folded(left, groups, k, the_same, &mut near));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<F: Fingerprint>(
        seed: u64,
        lengths: (usize, usize),
        k: u32,
        spread: u32,
        is_long: bool,
    ) {
        let (k, long) = (k * F::BITS / 256, if is_long { TILE + 30 } else { 0 });
        // Fingerprints that differ in the first bits of each word.
        let mask = u64::MAX.checked_shl(64 - spread).unwrap_or(0) >> (64 - F::BITS.min(64));
        let at =
            |i: u64| F::of_words(|n| crate::set_sum::term(seed ^ i << 7 ^ n as u64) as u64 & mask);
        let left: Vec<F> = (0..(lengths.0 + long) as u64).map(at).collect();
        let right: Vec<F> = (0..lengths.1 as u64).map(|i| at(i + 5000)).collect();
        let sorted = |mut pairs: Vec<(F, F)>| {
            pairs.sort_unstable();
            pairs
        };
        let near = |&(a, b): &(F, F)| a.distance(b) <= k;
        let ordered = |(a, b): (F, F)| (a.min(b), a.max(b));
        let within = left.iter().enumerate();
        let within = within.flat_map(|(i, &a)| left[i + 1..].iter().map(move |&b| (a, b)));
        let within = sorted(within.filter(near).map(ordered).collect());
        let between = left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b)));
        let between = sorted(between.filter(near).collect());
        for level in Level::all() {
            let mut found = Vec::new();
            super::within(level, &left, k, |a, b| found.push(ordered((a, b))));
            assert_eq!(sorted(found), within, "{level:?}");
            let mut found = Vec::new();
            super::between(level, &left, &right, k, |a, b| found.push((a, b)));
            assert_eq!(sorted(found), between, "{level:?}");
        }
    }

    proptest! {
        #[test]
        fn every_kernel_finds_what_the_definition_gives(
            seed in any::<u64>(), lengths in (0usize..90, 0usize..90), k in 0u32..=256,
            spread in 0u32..=64, long in prop::bool::weighted(0.02),
        ) {
            check::<u32>(seed, lengths, k, spread, long);
            check::<u64>(seed, lengths, k, spread, long);
            check::<u128>(seed, lengths, k, spread, long);
            check::<[u64; 4]>(seed, lengths, k, spread, long);
        }
    }
}
