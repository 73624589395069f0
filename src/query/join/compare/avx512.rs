//! The comparisons with AVX-512: 4 fingerprints with 8 others at a time, or with 16 folded ones.
//!
//! ```text
//! others        |  a  |  b  |  c  |  d  |  e  |  f  |  g  |  h  |   one load of 8 words
//!     ^ rows 0 to 3, each in all words of a register
//! distances 0   | a^0 | b^0 | ...                               |   VPOPCNTQ
//!           ... |                                               |
//!           3   | a^3 | b^3 | ...                               |
//! least         | the least of the 4 in each word               |   most often none is near,
//! mask             0     0     0     0     0     1     0     0      and this alone is looked at
//!
//! folded        |a |b |c |d | ...                         |o |p |   16 halves: high ^ low
//! ```
//!
//! Loads take whole groups of 8 out of the slice, or what is left of it with a mask.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::kernel::{Group, Kernel, TILE, fold_rows};
use crate::fingerprint::Fingerprint;
use crate::simd::avx512::{Avx512, load_some_halves, load_some_words, load_words};
use crate::simd::ones;

/// Fingerprints of the left list that are compared together.
const ROWS: usize = 4;
/// Fingerprints in a register of 512 bits.
const LANES: usize = 8;
/// Folded ones.
const FOLDED_LANES: usize = 16;
/// The largest radius at which folded fingerprints are compared first: few pairs get through.
const MAX_FOLDED_K: u32 = 7;
/// Fingerprints of a short tile. Room for a long one has to be cleared as well: with that alone a
/// self-join of 2^20 takes 65 ms instead of 61, the least of 130 runs each; others differ by more.
const SHORT: usize = 256;
/// Fingerprints for which folding them is worth while.
const MIN_FOLDED: usize = 64;

impl Kernel for Avx512 {
    fn within(self, tile: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 F and VPOPCNTDQ.
        unsafe { within(tile, k, found) }
    }

    fn between(self, left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 F and VPOPCNTDQ.
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
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 F and VPOPCNTDQ.
        unsafe { folded(left, groups, k, the_same, near) }
    }
}

/// Calls `found` for each lane that is set in `near`.
#[inline(always)]
fn report(one: u64, others: &[u64], near: __mmask8, found: &mut impl FnMut(u64, u64)) {
    ones(near.into()).for_each(|lane| found(one, others[lane]));
}

/// Compares the rows with all of `others`.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn rows_of_words(
    rows: [u64; ROWS],
    others: &[u64],
    limit: __m512i,
    found: &mut impl FnMut(u64, u64),
) {
    let broadcast = rows.map(|row| _mm512_set1_epi64(row as i64));
    let (groups, rest) = others.as_chunks::<LANES>();
    for group in groups {
        let bits = load_words(group);
        let distances = broadcast.map(|row| _mm512_popcnt_epi64(_mm512_xor_si512(row, bits)));
        let least = _mm512_min_epu64(
            _mm512_min_epu64(distances[0], distances[1]),
            _mm512_min_epu64(distances[2], distances[3]),
        );
        if _mm512_cmple_epu64_mask(least, limit) != 0 {
            for (row, distance) in rows.into_iter().zip(distances) {
                report(row, group, _mm512_cmple_epu64_mask(distance, limit), found);
            }
        }
    }
    if !rest.is_empty() {
        let (mask, bits) = load_some_words(rest);
        for (row, broadcast) in rows.into_iter().zip(broadcast) {
            let distance = _mm512_popcnt_epi64(_mm512_xor_si512(broadcast, bits));
            report(row, rest, _mm512_mask_cmple_epu64_mask(mask, distance, limit), found);
        }
    }
}

/// Fingerprints whose halves are laid over each other by exclusive or. Two folded ones differ in no
/// more bits than the fingerprints do, since folding the difference can only cancel bits.
struct Folded<const ROOM: usize>([u32; ROOM]);

impl<const ROOM: usize> Folded<ROOM> {
    #[inline]
    fn new(tile: &[u64]) -> Self {
        let mut folded = [0; ROOM];
        for (folded, &fingerprint) in folded.iter_mut().zip(tile) {
            *folded = fold(fingerprint);
        }
        Self(folded)
    }
}

#[inline(always)]
fn fold(fingerprint: u64) -> u32 {
    (fingerprint ^ fingerprint >> 32) as u32
}

/// As [`rows_of_words`], by way of what `others` are folded to.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn rows_folded(
    rows: [u64; ROWS],
    others: &[u64],
    folded: &[u32],
    k: u32,
    found: &mut impl FnMut(u64, u64),
) {
    let limit = _mm512_set1_epi32(k as i32);
    let broadcast = rows.map(|row| _mm512_set1_epi32(fold(row) as i32));
    let folded = &folded[..others.len().min(folded.len())];
    for (others, folded) in others.chunks(FOLDED_LANES).zip(folded.chunks(FOLDED_LANES)) {
        let (mask, bits) = load_some_halves(folded);
        let distances = broadcast.map(|row| _mm512_popcnt_epi32(_mm512_xor_si512(row, bits)));
        let least = _mm512_min_epu32(
            _mm512_min_epu32(distances[0], distances[1]),
            _mm512_min_epu32(distances[2], distances[3]),
        );
        if _mm512_mask_cmple_epu32_mask(mask, least, limit) != 0 {
            for (row, distance) in rows.into_iter().zip(distances) {
                let near = _mm512_mask_cmple_epu32_mask(mask, distance, limit);
                for lane in ones(near.into()) {
                    if (row ^ others[lane]).count_ones() <= k {
                        found(row, others[lane]);
                    }
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn within(list: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    match list.len() {
        MIN_FOLDED..=SHORT if k <= MAX_FOLDED_K => {
            within_by(list, &Folded::<SHORT>::new(list).0, k, found);
        }
        MIN_FOLDED..=TILE if k <= MAX_FOLDED_K => {
            within_by(list, &Folded::<TILE>::new(list).0, k, found);
        }
        _ => within_by(list, &[], k, found),
    }
}

/// As [`within`], by way of what the list is folded to, if it is.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn within_by(list: &[u64], folded: &[u32], k: u32, found: &mut impl FnMut(u64, u64)) {
    let limit = _mm512_set1_epi64(i64::from(k));
    for start in (0..list.len()).step_by(ROWS) {
        // The rows with each other and with what shares their register: lanes behind each row.
        let first = &list[start..list.len().min(start + LANES)];
        let (mask, bits) = load_some_words(first);
        for (row, &one) in first.iter().enumerate().take(ROWS) {
            let behind = mask & (0xFEu8 << row);
            let distance =
                _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_set1_epi64(one as i64), bits));
            report(one, first, _mm512_mask_cmple_epu64_mask(behind, distance, limit), found);
        }
        if let Some(others) = list.get(start + LANES..).filter(|others| !others.is_empty()) {
            let rows = std::array::from_fn(|row| list[start + row]);
            match folded.get(start + LANES..) {
                Some(folded) => rows_folded(rows, others, folded, k, found),
                None => rows_of_words(rows, others, limit, found),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn between(left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    match right.len() {
        MIN_FOLDED..=SHORT if k <= MAX_FOLDED_K && left.len() >= ROWS => {
            between_by(left, right, &Folded::<SHORT>::new(right).0, k, found);
        }
        MIN_FOLDED..=TILE if k <= MAX_FOLDED_K && left.len() >= ROWS => {
            between_by(left, right, &Folded::<TILE>::new(right).0, k, found);
        }
        _ => between_by(left, right, &[], k, found),
    }
}

/// As [`between`], by way of what the right list is folded to, if it is.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn between_by(
    left: &[u64],
    right: &[u64],
    folded: &[u32],
    k: u32,
    found: &mut impl FnMut(u64, u64),
) {
    let limit = _mm512_set1_epi64(i64::from(k));
    let mut groups = left.chunks_exact(ROWS);
    for rows in &mut groups {
        let rows = std::array::from_fn(|row| rows[row]);
        if folded.is_empty() {
            rows_of_words(rows, right, limit, found);
        } else {
            rows_folded(rows, right, folded, k, found);
        }
    }
    for &one in groups.remainder() {
        let this = _mm512_set1_epi64(one as i64);
        for group in right.chunks(LANES) {
            let (mask, bits) = load_some_words(group);
            let distance = _mm512_popcnt_epi64(_mm512_xor_si512(this, bits));
            report(one, group, _mm512_mask_cmple_epu64_mask(mask, distance, limit), found);
        }
    }
}

/// Compares fingerprints, folded, with groups of others: 4 with a group at a time.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn folded<F: Fingerprint, const WORDS: usize>(
    left: &[F],
    groups: &[Group<WORDS>],
    k: u32,
    the_same: bool,
    near: &mut impl FnMut(usize, usize),
) {
    let limit = _mm512_set1_epi64(i64::from(k));
    for (start, rows) in (0..).step_by(ROWS).zip(left.chunks(ROWS)) {
        let folded = fold_rows::<F, WORDS, ROWS>(rows);
        let first = if the_same { start / LANES } else { 0 };
        for (number, group) in groups.iter().enumerate().skip(first) {
            // Loops, not closures: those of an array's `map` are not compiled for these
            // instructions.
            let mut distances = [_mm512_setzero_si512(); ROWS];
            for (word, lanes) in group.iter().enumerate() {
                let others = load_words(lanes);
                for (distance, row) in distances.iter_mut().zip(&folded) {
                    let bits = _mm512_xor_si512(_mm512_set1_epi64(row[word] as i64), others);
                    *distance = _mm512_add_epi64(*distance, _mm512_popcnt_epi64(bits));
                }
            }
            let least = _mm512_min_epu64(
                _mm512_min_epu64(distances[0], distances[1]),
                _mm512_min_epu64(distances[2], distances[3]),
            );
            if _mm512_cmple_epu64_mask(least, limit) != 0 {
                for (row, distance) in distances.into_iter().enumerate().take(rows.len()) {
                    let within = _mm512_cmple_epu64_mask(distance, limit);
                    ones(within.into()).for_each(|lane| near(start + row, number * LANES + lane));
                }
            }
        }
    }
}
