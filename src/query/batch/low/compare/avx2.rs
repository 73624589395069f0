//! The comparison with AVX2: a query with half a chunk, 32 entries, at a time.
//!
//! ```text
//! entry            0    1    2   ...   31
//! plane 0        | a0 | b0 | c0 | ... |    |      one load of half a chunk
//! plane 1        | a1 | b1 | c1 | ... |    |
//!     ^ the byte of the query, in all lanes
//! sum            | (a0 ^ q0) | (a1 ^ q1) ...      planes of a sum laid over each other
//! counts         | bits that are set in the sums of each entry
//! mask           | a bit for each entry whose count is within the budget
//! ```
//!
//! A chunk is an array of 64 bytes, so a half of it is what a load takes.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::shape::FIRST;
use super::task::{CHUNK, Chunk, Kernel, Near, PIECE, Task, report};
use crate::simd::avx2::{Avx2, at_most, count_ones, load};

/// Bytes of a register of 256 bits.
const HALF: usize = CHUNK / 2;

impl Kernel for Avx2 {
    fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
        self,
        planes: &[&[Chunk]; PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2.
        unsafe { compare::<PLANES, SUMS, DIFFERS>(planes, task, near) }
    }
}

#[target_feature(enable = "avx2")]
fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    task: &Task<'_>,
    near: &mut Vec<Near>,
) {
    for (first, rows) in task.rows() {
        for (number, row) in (first..).zip(rows) {
            compare_row::<PLANES, SUMS, DIFFERS>(planes, *row, number, task.shape.budget, near);
        }
        if near.len() > task.limit {
            break;
        }
    }
}

/// Compares a query, which has this number.
#[inline]
#[target_feature(enable = "avx2")]
fn compare_row<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
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
            let counts = counts::<PLANES, SUMS, DIFFERS>(planes, (chunk, half), &broadcast);
            mask |= u64::from(at_most(counts, limit)) << (half * HALF);
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
fn counts<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    (chunk, half): (usize, usize),
    row: &[__m256i; PLANES],
) -> __m256i {
    let mut sums = [_mm256_setzero_si256(); SUMS];
    let mut agrees = _mm256_setzero_si256();
    for plane in 0..PLANES {
        let bits = load(&planes[plane][chunk].as_chunks().0[half]);
        let sum = &mut sums[plane % SUMS];
        *sum = _mm256_or_si256(*sum, _mm256_xor_si256(bits, row[plane]));
        if DIFFERS && plane + 1 == FIRST {
            agrees = _mm256_cmpeq_epi8(*sum, _mm256_setzero_si256());
        }
    }
    let mut counts = _mm256_or_si256(count_ones(sums[0]), agrees);
    for sum in &sums[1..] {
        counts = _mm256_add_epi8(counts, count_ones(*sum));
    }
    counts
}
