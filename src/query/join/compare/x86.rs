//! The comparisons with vector instructions of x86-64.
//!
//! Holding a value of [`Avx2`] or [`Avx512`] is the proof that the CPU has these instructions.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::TILE;

/// AVX2: 4 fingerprints at a time, bits counted by a look-up per half byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// AVX-512 with VPOPCNTQ: 8 fingerprints, or 16 folded ones, with 4 others at a time, tails by
/// masks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

/// Fingerprints of the left list that are compared together.
const ROWS: usize = 4;
/// Fingerprints in a register of 512 bits.
const LANES: usize = 8;
/// Folded ones.
const FOLDED_LANES: usize = 16;
/// The largest radius at which folded fingerprints are compared first: few pairs get through.
const MAX_FOLDED_K: u32 = 7;
/// Fingerprints of a short tile.
const SHORT: usize = 256;
/// Fingerprints for which folding them is worth while.
const MIN_FOLDED: usize = 64;

impl Avx2 {
    /// `None` if the CPU lacks AVX2 or POPCNT.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        has.then_some(Self(()))
    }

    pub(super) fn within(self, list: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        // SAFETY: a value of this type exists only where `new` found AVX2 and POPCNT.
        unsafe { within_avx2(list, k, found) }
    }

    pub(super) fn between(
        self,
        left: &[u64],
        right: &[u64],
        k: u32,
        found: &mut impl FnMut(u64, u64),
    ) {
        // SAFETY: a value of this type exists only where `new` found AVX2 and POPCNT.
        unsafe { between_avx2(left, right, k, found) }
    }
}

impl Avx512 {
    /// `None` if the CPU lacks AVX-512 F or VPOPCNTDQ.
    pub(super) fn new() -> Option<Self> {
        let has =
            is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq");
        has.then_some(Self(()))
    }

    pub(super) fn within(self, list: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        // SAFETY: a value of this type exists only where `new` found AVX-512 F and VPOPCNTDQ.
        unsafe { within_avx512(list, k, found) }
    }

    pub(super) fn between(
        self,
        left: &[u64],
        right: &[u64],
        k: u32,
        found: &mut impl FnMut(u64, u64),
    ) {
        // SAFETY: a value of this type exists only where `new` found AVX-512 F and VPOPCNTDQ.
        unsafe { between_avx512(left, right, k, found) }
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn within_avx2(list: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for (i, &one) in list.iter().enumerate() {
        row_avx2(one, &list[i + 1..], k, found);
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn between_avx2(left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for &one in left {
        row_avx2(one, right, k, found);
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn row_avx2(one: u64, others: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    const LANES: usize = 4;
    let nibble_counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low_nibbles = _mm256_set1_epi8(0x0F);
    let limit = _mm256_set1_epi64x(i64::from(k));
    let this = _mm256_set1_epi64x(one as i64);
    let mut groups = others.chunks_exact(LANES);
    for group in &mut groups {
        // SAFETY: the slice has 32 bytes, and the load needs no alignment.
        let group_bits = unsafe { _mm256_loadu_si256(group.as_ptr().cast()) };
        let differs = _mm256_xor_si256(group_bits, this);
        let low = _mm256_and_si256(differs, low_nibbles);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(differs), low_nibbles);
        let bits = _mm256_add_epi8(
            _mm256_shuffle_epi8(nibble_counts, low),
            _mm256_shuffle_epi8(nibble_counts, high),
        );
        let distance = _mm256_sad_epu8(bits, _mm256_setzero_si256());
        let beyond = _mm256_cmpgt_epi64(distance, limit);
        let mut near = !(_mm256_movemask_pd(_mm256_castsi256_pd(beyond)) as u32) & 0xF;
        while near != 0 {
            found(one, group[near.trailing_zeros() as usize]);
            near &= near - 1;
        }
    }
    for &other in groups.remainder() {
        if (one ^ other).count_ones() <= k {
            found(one, other);
        }
    }
}

/// Calls `found` for each lane that is set in `near`.
#[inline(always)]
fn report(one: u64, others: &[u64], near: __mmask8, found: &mut impl FnMut(u64, u64)) {
    let mut near = u32::from(near);
    while near != 0 {
        found(one, others[near.trailing_zeros() as usize]);
        near &= near - 1;
    }
}

/// Compares the rows with all of `others`.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn rows_avx512(
    rows: [u64; ROWS],
    others: &[u64],
    limit: __m512i,
    found: &mut impl FnMut(u64, u64),
) {
    let broadcast = rows.map(|row| _mm512_set1_epi64(row as i64));
    let mut groups = others.chunks_exact(LANES);
    for group in &mut groups {
        // SAFETY: the slice has 64 bytes, and the load needs no alignment.
        let bits = unsafe { _mm512_loadu_si512(group.as_ptr().cast()) };
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
    let rest = groups.remainder();
    if !rest.is_empty() {
        let mask = (1u8 << rest.len()) - 1;
        // SAFETY: the load touches only the lanes of the mask, which are those of the slice, and
        // needs no alignment.
        let bits = unsafe { _mm512_maskz_loadu_epi64(mask, rest.as_ptr().cast()) };
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

/// As [`rows_avx512`], by way of what `others` are folded to.
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
    let (mut at, count) = (0, others.len().min(folded.len()));
    while at < count {
        let lanes = FOLDED_LANES.min(count - at);
        let mask = u16::MAX >> (FOLDED_LANES - lanes);
        // SAFETY: the load touches only the lanes of the mask, which lie in the slice, and needs no
        // alignment.
        let bits = unsafe { _mm512_maskz_loadu_epi32(mask, folded.as_ptr().add(at).cast()) };
        let distances = broadcast.map(|row| _mm512_popcnt_epi32(_mm512_xor_si512(row, bits)));
        let least = _mm512_min_epu32(
            _mm512_min_epu32(distances[0], distances[1]),
            _mm512_min_epu32(distances[2], distances[3]),
        );
        if _mm512_mask_cmple_epu32_mask(mask, least, limit) != 0 {
            for (row, distance) in rows.into_iter().zip(distances) {
                let mut near = u32::from(_mm512_mask_cmple_epu32_mask(mask, distance, limit));
                while near != 0 {
                    let other = others[at + near.trailing_zeros() as usize];
                    if (row ^ other).count_ones() <= k {
                        found(row, other);
                    }
                    near &= near - 1;
                }
            }
        }
        at += FOLDED_LANES;
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn within_avx512(list: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
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

/// As [`within_avx512`], by way of what the list is folded to, if it is.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn within_by(list: &[u64], folded: &[u32], k: u32, found: &mut impl FnMut(u64, u64)) {
    let limit = _mm512_set1_epi64(i64::from(k));
    for start in (0..list.len()).step_by(ROWS) {
        // The rows with each other and with what shares their register: lanes behind each row.
        let first = &list[start..list.len().min(start + LANES)];
        let mask = u8::MAX >> (LANES - first.len());
        // SAFETY: the load touches only the lanes of the mask, which are those of the slice, and
        // needs no alignment.
        let bits = unsafe { _mm512_maskz_loadu_epi64(mask, first.as_ptr().cast()) };
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
                None => rows_avx512(rows, others, limit, found),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn between_avx512(left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
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

/// As [`between_avx512`], by way of what the right list is folded to, if it is.
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
            rows_avx512(rows, right, limit, found);
        } else {
            rows_folded(rows, right, folded, k, found);
        }
    }
    for &one in groups.remainder() {
        let this = _mm512_set1_epi64(one as i64);
        for group in right.chunks(LANES) {
            let mask = u8::MAX >> (LANES - group.len());
            // SAFETY: the load touches only the lanes of the mask, which are those of the slice,
            // and needs no alignment.
            let bits = unsafe { _mm512_maskz_loadu_epi64(mask, group.as_ptr().cast()) };
            let distance = _mm512_popcnt_epi64(_mm512_xor_si512(this, bits));
            report(one, group, _mm512_mask_cmple_epu64_mask(mask, distance, limit), found);
        }
    }
}
