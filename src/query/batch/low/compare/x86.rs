//! The comparison with vector instructions of x86-64.
//!
//! Holding a value of [`Avx2`] or [`Avx512`] is the proof that the CPU has these instructions.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{CHUNK, Chunk, FIRST, Near, PIECE, ROWS, Task};

/// AVX2: 32 entries at a time, bits counted by a look-up per half byte.
#[derive(Clone, Copy, Debug)]
pub(in crate::query::batch) struct Avx2(());

/// AVX-512 with VPOPCNTB: 64 entries at a time, with 4 queries.
#[derive(Clone, Copy, Debug)]
pub(in crate::query::batch) struct Avx512(());

/// Bytes of a register of 256 bits.
const HALF: usize = CHUNK / 2;

impl Avx2 {
    /// `None` if the CPU lacks AVX2.
    pub(super) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    pub(super) fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
        self,
        planes: &[&[Chunk]; PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    ) {
        // SAFETY: a value of this type exists only where `new` found AVX2.
        unsafe { compare_avx2::<PLANES, SUMS, DIFFERS>(planes, task, near) }
    }
}

impl Avx512 {
    /// `None` if the CPU lacks AVX-512 BW or BITALG.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512bitalg");
        has.then_some(Self(()))
    }

    pub(super) fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
        self,
        planes: &[&[Chunk]; PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    ) {
        // SAFETY: a value of this type exists only where `new` found AVX-512 BW, which builds on F,
        // and BITALG.
        unsafe { compare_avx512::<PLANES, SUMS, DIFFERS>(planes, task, near) }
    }
}

/// Appends the entries of the bits that are set in `mask`.
#[cold]
#[inline(never)]
fn report(mut mask: u64, start: usize, query: usize, near: &mut Vec<Near>) {
    while mask != 0 {
        let entry = start + mask.trailing_zeros() as usize;
        near.push(Near { entry: entry as u32, query: query as u32 });
        mask &= mask - 1;
    }
}

#[target_feature(enable = "avx512bw,avx512bitalg")]
fn compare_avx512<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    task: &Task<'_>,
    near: &mut Vec<Near>,
) {
    for (first, rows) in task.rows() {
        match rows.first_chunk::<ROWS>() {
            Some(rows) => rows_avx512::<PLANES, SUMS, DIFFERS, ROWS>(
                planes,
                rows,
                first,
                task.shape.budget,
                near,
            ),
            None => {
                for (number, row) in (first..).zip(rows) {
                    let row = std::array::from_ref(row);
                    rows_avx512::<PLANES, SUMS, DIFFERS, 1>(
                        planes,
                        row,
                        number,
                        task.shape.budget,
                        near,
                    );
                }
            }
        }
        if near.len() > task.limit {
            break;
        }
    }
}

/// Compares some queries, the first of which has this number.
#[inline]
#[target_feature(enable = "avx512bw,avx512bitalg")]
fn rows_avx512<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    rows: &[u32; ROWS],
    first: usize,
    budget: u8,
    near: &mut Vec<Near>,
) {
    let mut passed = passed_avx512::<PLANES, SUMS, DIFFERS, ROWS>(planes, rows, budget);
    while passed != 0 {
        let number = passed.trailing_zeros() as usize;
        report_avx512::<PLANES, SUMS, DIFFERS, ROWS>(planes, number, rows, budget, first, near);
        passed &= passed - 1;
    }
}

/// The chunks of a piece, as bits, in which some entry passes with some query. Calls nothing, so
/// that all queries stay in registers.
#[inline(never)]
#[target_feature(enable = "avx512bw,avx512bitalg")]
fn passed_avx512<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    rows: &[u32; ROWS],
    budget: u8,
) -> u64 {
    let limit = _mm512_set1_epi8(budget as i8);
    let rows = broadcast_avx512(rows);
    let count = planes.iter().fold(PIECE, |count, plane| count.min(plane.len()));
    let mut passed = 0u64;
    for number in 0..count {
        let counts = counts_avx512::<PLANES, SUMS, DIFFERS, ROWS>(planes, number, &rows);
        let least =
            counts[1..].iter().fold(counts[0], |least, &count| _mm512_min_epu8(least, count));
        let any = _mm512_cmple_epu8_mask(least, limit) != 0;
        passed |= u64::from(any) << number;
    }
    passed
}

/// Appends what passes in a chunk.
#[inline(never)]
#[target_feature(enable = "avx512bw,avx512bitalg")]
fn report_avx512<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    number: usize,
    rows: &[u32; ROWS],
    budget: u8,
    first: usize,
    near: &mut Vec<Near>,
) {
    let limit = _mm512_set1_epi8(budget as i8);
    let counts =
        counts_avx512::<PLANES, SUMS, DIFFERS, ROWS>(planes, number, &broadcast_avx512(rows));
    let mut masks = [0; ROWS];
    for (mask, count) in masks.iter_mut().zip(counts) {
        *mask = _mm512_cmple_epu8_mask(count, limit);
    }
    for (row, mask) in masks.into_iter().enumerate() {
        report(mask, number * CHUNK, first + row, near);
    }
}

/// For each query and each plane, the byte of the query in all lanes.
#[inline]
#[target_feature(enable = "avx512bw")]
fn broadcast_avx512<const PLANES: usize, const ROWS: usize>(
    rows: &[u32; ROWS],
) -> [[__m512i; PLANES]; ROWS] {
    let mut broadcast = [[_mm512_setzero_si512(); PLANES]; ROWS];
    for (broadcast, row) in broadcast.iter_mut().zip(rows) {
        for (lanes, byte) in broadcast.iter_mut().zip(row.to_le_bytes()) {
            *lanes = _mm512_set1_epi8(byte as i8);
        }
    }
    broadcast
}

/// For each query and each entry of a chunk, the number of bits that are set in the sums, or 255 if
/// the entry agrees where it has to differ.
#[inline]
#[target_feature(enable = "avx512bw,avx512bitalg")]
fn counts_avx512<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    number: usize,
    rows: &[[__m512i; PLANES]; ROWS],
) -> [__m512i; ROWS] {
    /// A | (B ^ C).
    const OR_DIFFERENCE: i32 = 0xF6;
    let mut bits = [_mm512_setzero_si512(); PLANES];
    for (bits, plane) in bits.iter_mut().zip(planes) {
        // SAFETY: a chunk has 64 bytes, and the load needs no alignment.
        *bits = unsafe { _mm512_loadu_si512(plane[number].as_ptr().cast()) };
    }
    let mut counts = [_mm512_set1_epi8(-1); ROWS];
    for (count, row) in counts.iter_mut().zip(rows) {
        let mut sums = [_mm512_setzero_si512(); SUMS];
        for (plane, sum) in sums.iter_mut().enumerate() {
            *sum = _mm512_xor_si512(bits[plane], row[plane]);
        }
        let mut differs = u64::MAX;
        for plane in SUMS..PLANES {
            let sum = &mut sums[plane % SUMS];
            *sum = _mm512_ternarylogic_epi32::<OR_DIFFERENCE>(*sum, bits[plane], row[plane]);
            if DIFFERS && plane + 1 == FIRST {
                differs = _mm512_test_epi8_mask(*sum, *sum);
            }
        }
        *count = if DIFFERS {
            _mm512_mask_popcnt_epi8(*count, differs, sums[0])
        } else {
            _mm512_popcnt_epi8(sums[0])
        };
        for sum in &sums[1..] {
            *count = _mm512_add_epi8(*count, _mm512_popcnt_epi8(*sum));
        }
    }
    counts
}

#[target_feature(enable = "avx2")]
fn compare_avx2<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    task: &Task<'_>,
    near: &mut Vec<Near>,
) {
    for (first, rows) in task.rows() {
        for (number, row) in (first..).zip(rows) {
            row_avx2::<PLANES, SUMS, DIFFERS>(planes, *row, number, task.shape.budget, near);
        }
        if near.len() > task.limit {
            break;
        }
    }
}

/// Compares a query, which has this number.
#[inline]
#[target_feature(enable = "avx2")]
fn row_avx2<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    row: u32,
    number: usize,
    budget: u8,
    near: &mut Vec<Near>,
) {
    let limit = _mm256_set1_epi8(budget as i8);
    let mut broadcast = [_mm256_setzero_si256(); PLANES];
    for (lanes, byte) in broadcast.iter_mut().zip(row.to_le_bytes()) {
        *lanes = _mm256_set1_epi8(byte as i8);
    }
    let count = planes.iter().fold(PIECE, |count, plane| count.min(plane.len()));
    for chunk in 0..count {
        let mut mask = 0;
        for half in 0..CHUNK / HALF {
            let counts = counts_avx2::<PLANES, SUMS, DIFFERS>(planes, (chunk, half), &broadcast);
            let within = _mm256_cmpeq_epi8(_mm256_min_epu8(counts, limit), counts);
            mask |= u64::from(_mm256_movemask_epi8(within) as u32) << (half * HALF);
        }
        if mask != 0 {
            report(mask, chunk * CHUNK, number, near);
        }
    }
}

/// For each entry of half a chunk, the number of bits that are set in the sums, or 255 if it agrees
/// where it has to differ.
#[inline]
#[target_feature(enable = "avx2")]
fn counts_avx2<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    (chunk, half): (usize, usize),
    row: &[__m256i; PLANES],
) -> __m256i {
    let mut sums = [_mm256_setzero_si256(); SUMS];
    let mut agrees = _mm256_setzero_si256();
    for plane in 0..PLANES {
        let bits = &planes[plane][chunk].as_chunks::<HALF>().0[half];
        // SAFETY: a half has 32 bytes, and the load needs no alignment.
        let bits = unsafe { _mm256_loadu_si256(bits.as_ptr().cast()) };
        let sum = &mut sums[plane % SUMS];
        *sum = _mm256_or_si256(*sum, _mm256_xor_si256(bits, row[plane]));
        if DIFFERS && plane + 1 == FIRST {
            agrees = _mm256_cmpeq_epi8(*sum, _mm256_setzero_si256());
        }
    }
    let mut counts = _mm256_or_si256(count_ones_avx2(sums[0]), agrees);
    for sum in &sums[1..] {
        counts = _mm256_add_epi8(counts, count_ones_avx2(*sum));
    }
    counts
}

/// The number of bits that are set in each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn count_ones_avx2(bytes: __m256i) -> __m256i {
    let nibble_counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low_nibbles = _mm256_set1_epi8(0x0F);
    let low = _mm256_and_si256(bytes, low_nibbles);
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_nibbles);
    _mm256_add_epi8(
        _mm256_shuffle_epi8(nibble_counts, low),
        _mm256_shuffle_epi8(nibble_counts, high),
    )
}
