//! The comparison with AVX-512: 4 queries with a chunk, 64 entries, at a time.
//!
//! ```text
//! entry            0    1    2   ...   63
//! plane 0        | a0 | b0 | c0 | ... |    |      one load of a chunk, for all 4 queries
//! plane 1        | a1 | b1 | c1 | ... |    |
//!     ^ the byte of query 0, in all lanes; of query 1; ...
//! sum            | (a0 ^ q0) | (a1 ^ q1) ...      planes of a sum laid over each other: VPTERNLOG
//! counts         | bits that are set in the sums of each entry: VPOPCNTB
//! least          | the least count of the 4 queries: most often none is within the budget, and a
//!                  bit of `passed` for the whole chunk is all that is noted
//! ```
//!
//! A chunk is an array of 64 bytes, which is what a load takes.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::shape::FIRST;
use super::task::{CHUNK, Chunk, Kernel, Near, PIECE, ROWS, Task, report};
use crate::simd::avx512::{Avx512, load};

impl Kernel for Avx512 {
    fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
        self,
        planes: &[&[Chunk]; PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    ) {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 BW and BITALG.
        unsafe { compare::<PLANES, SUMS, DIFFERS>(planes, task, near) }
    }
}

#[target_feature(enable = "avx512bw,avx512bitalg")]
fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    task: &Task<'_>,
    near: &mut Vec<Near>,
) {
    for (first, rows) in task.rows() {
        match rows.first_chunk::<ROWS>() {
            Some(rows) => compare_rows::<PLANES, SUMS, DIFFERS, ROWS>(
                planes,
                rows,
                first,
                task.shape.budget,
                near,
            ),
            // Filled up to 4 instead, they make a batch 2% to 12% slower.
            None => {
                for (number, row) in (first..).zip(rows) {
                    let row = std::array::from_ref(row);
                    compare_rows::<PLANES, SUMS, DIFFERS, 1>(
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
fn compare_rows<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    rows: &[u32; ROWS],
    first: usize,
    budget: u8,
    near: &mut Vec<Near>,
) {
    let mut passed = passed::<PLANES, SUMS, DIFFERS, ROWS>(planes, rows, budget);
    while passed != 0 {
        let number = passed.trailing_zeros() as usize;
        report_chunk::<PLANES, SUMS, DIFFERS, ROWS>(planes, number, rows, budget, first, near);
        passed &= passed - 1;
    }
}

/// The chunks of a piece, as bits, in which some entry passes with some query. Calls nothing, so
/// that all queries stay in registers.
#[inline(never)]
#[target_feature(enable = "avx512bw,avx512bitalg")]
fn passed<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    rows: &[u32; ROWS],
    budget: u8,
) -> u64 {
    let limit = _mm512_set1_epi8(budget as i8);
    let rows = broadcast(rows);
    let count = planes.iter().fold(PIECE, |count, plane| count.min(plane.len()));
    let mut passed = 0u64;
    for number in 0..count {
        let counts = counts::<PLANES, SUMS, DIFFERS, ROWS>(planes, number, &rows);
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
fn report_chunk<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    number: usize,
    rows: &[u32; ROWS],
    budget: u8,
    first: usize,
    near: &mut Vec<Near>,
) {
    let limit = _mm512_set1_epi8(budget as i8);
    let counts = counts::<PLANES, SUMS, DIFFERS, ROWS>(planes, number, &broadcast(rows));
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
fn broadcast<const PLANES: usize, const ROWS: usize>(
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
fn counts<const PLANES: usize, const SUMS: usize, const DIFFERS: bool, const ROWS: usize>(
    planes: &[&[Chunk]; PLANES],
    number: usize,
    rows: &[[__m512i; PLANES]; ROWS],
) -> [__m512i; ROWS] {
    /// A | (B ^ C).
    const OR_DIFFERENCE: i32 = 0xF6;
    let mut bits = [_mm512_setzero_si512(); PLANES];
    for (bits, plane) in bits.iter_mut().zip(planes) {
        *bits = load(&plane[number]);
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
