//! The scan with AVX2: 32 keys at a time.
//!
//! ```text
//! key            1    2    3   ...   32
//! plane 0      | a0 | b0 | c0 | ... |    |     one load; the next group starts 32 bytes on
//!     ^ byte 0 of the query, in all lanes: bits that are set are counted and added up
//! plane 1      | a1 | b1 | c1 | ... |    |     the same with byte 1, and so on
//! distances    | d  | d  | d  | ... |    |     at most 48, in a byte each
//! mask           a bit for each distance within the budget: nearly always 0
//! ```
//!
//! All planes have the same number of bytes. Loads take whole arrays of 32: the last ones of a
//! plane reach into what stands behind it, as far as the overhang of a block at most, and a mask
//! leaves out what is not of the plane.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::view::{OVERHANG, Survivor};
use super::compare::{Compare, MANY, MAX_PLANES, Planes, bytes_of};
use super::sift::{Sieve, Sift, run};
use crate::error::Corruption;
use crate::simd::avx2::{Avx2, at_most, count_ones, load};
use crate::simd::ones;

/// Keys that are compared at a time.
const LANES: usize = 32;

impl Sift for Avx2 {
    fn sift<'a>(
        self,
        sieves: impl Iterator<Item = Sieve<'a>>,
        ahead: impl Iterator<Item = Sieve<'a>>,
        survivors: &mut Vec<Survivor>,
    ) -> Result<(), (usize, Corruption)> {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2, BMI1, BMI2 and POPCNT.
        unsafe { sift(self, sieves, ahead, survivors) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn sift<'a>(
    kernel: Avx2,
    sieves: impl Iterator<Item = Sieve<'a>>,
    ahead: impl Iterator<Item = Sieve<'a>>,
    survivors: &mut Vec<Survivor>,
) -> Result<(), (usize, Corruption)> {
    run(kernel, sieves, ahead, survivors)
}

impl Compare for Avx2 {
    type Query = [__m256i; MAX_PLANES];

    #[inline(always)]
    fn prepare(self, query: u64) -> Self::Query {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2.
        bytes_of(query).map(|byte| unsafe { _mm256_set1_epi8(byte as i8) })
    }

    #[inline(always)]
    fn compare<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2 and BMI2.
        unsafe { compare(planes, query, budget, near) }
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi2,popcnt")]
fn compare<const PLANES: usize>(
    planes: Planes<'_, PLANES>,
    query: &[__m256i; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    let limit = _mm256_set1_epi8(budget as i8);
    let add = |distance, plane: usize, at| {
        let differs = _mm256_xor_si256(lanes(&planes, plane, at), query[plane]);
        _mm256_add_epi8(distance, count_ones(differs))
    };
    for at in (0..planes.count).step_by(LANES) {
        let mut distance = _mm256_setzero_si256();
        for plane in 0..PLANES {
            distance = add(distance, plane, at);
        }
        let there = (planes.count - at).min(LANES) as u32;
        let mut within = _bzhi_u32(at_most(distance, limit), there);
        if within.count_ones() >= MANY {
            for plane in PLANES..planes.all {
                distance = add(distance, plane, at);
            }
            within &= at_most(distance, limit);
        }
        ones(within.into()).for_each(|lane| near(at + lane));
    }
}

/// The bytes of a plane from the entry `at` on, which there is, and behind the last one what
/// follows.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes<const PLANES: usize>(planes: &Planes<'_, PLANES>, plane: usize, at: usize) -> __m256i {
    const { assert!(LANES <= OVERHANG) };
    let start = planes.place(plane, at);
    debug_assert!(plane < planes.all && at < planes.count && start + LANES <= planes.bytes.len());
    // SAFETY: at most all planes but a byte come before, and behind them stand OVERHANG bytes, as
    // `Planes::new` has checked.
    load(unsafe { &*planes.bytes.as_ptr().add(start).cast() })
}
