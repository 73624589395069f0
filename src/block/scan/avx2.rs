//! The scan with AVX2: 32 keys at a time.
//!
//! ```text
//! key            1    2    3   ...   32
//! plane 0      | a0 | b0 | c0 | ... |    |     one load; the next group starts 32 bytes on
//!     ^ byte 0 of the query, in all lanes: bits that are set are counted and added up
//! plane 1      | a1 | b1 | c1 | ... |    |     the same with byte 1, and so on
//! distances    | d  | d  | d  | ... |    |     at most 32, in a byte each
//! mask           a bit for each distance within the budget: nearly always 0
//! ```
//!
//! All planes have the same number of bytes, and loads take whole arrays of 32 out of each; the keys that
//! are left are compared without vectors.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::compare::{Compare, MAX_PLANES, Planes, bytes_of};
use super::sieve::{Sieve, Sift};
use super::tail::compare_from;
use crate::error::Corruption;
use crate::simd::avx2::{Avx2, at_most, count_ones, load};
use crate::simd::ones;

impl Sift for Avx2 {
    fn sift(
        self,
        sieve: &Sieve<'_>,
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2, BMI1, BMI2 and POPCNT.
        unsafe { sift(self, sieve, ahead, survived) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn sift(
    kernel: Avx2,
    sieve: &Sieve<'_>,
    ahead: impl FnMut(),
    survived: impl FnMut(usize, u32),
) -> Result<(), Corruption> {
    sieve.run(kernel, ahead, survived)
}

impl Compare for Avx2 {
    type Query = [u8; MAX_PLANES];

    #[inline(always)]
    fn prepare(self, query: u64) -> Self::Query {
        bytes_of(query)
    }

    #[inline(always)]
    fn compare<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2.
        unsafe { compare(planes, query, budget, near) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn compare<const PLANES: usize>(
    planes: Planes<'_, PLANES>,
    query: &[u8; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    const LANES: usize = 32;
    let limit = _mm256_set1_epi8(budget as i8);
    let groups = planes.count / LANES;
    for group in 0..groups {
        let mut distance = _mm256_setzero_si256();
        for (plane, byte) in planes.planes.iter().zip(query) {
            let entries = load(&plane.as_chunks().0[group]);
            let differs = _mm256_xor_si256(entries, _mm256_set1_epi8(*byte as i8));
            distance = _mm256_add_epi8(distance, count_ones(differs));
        }
        ones(at_most(distance, limit).into()).for_each(|lane| near(group * LANES + lane));
    }
    compare_from(planes, groups * LANES, query, budget, near);
}
