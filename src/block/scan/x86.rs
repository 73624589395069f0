//! The scan with vector instructions of x86-64.
//!
//! Holding a value of [`Avx2`] or [`Avx512`] is the proof that the CPU has these instructions.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::lanes::{LANES, Lane, Place, Streams};
use super::super::narrow::NarrowRuns;
use super::super::{deposit, vectors};
use super::{Column, Compare, MAX_PLANES, Sieve, bytes_of, scalar};
use crate::error::Corruption;
use crate::simd::avx2::{at_most, count_ones, load};
use crate::simd::avx512::{load as load_all, load_some};
use crate::simd::{Avx2, Avx512, ones};

impl Avx2 {
    /// [`Sieve::run`], compiled for these instructions.
    pub(super) fn sift(
        self,
        sieve: &Sieve<'_>,
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        // SAFETY: a value of this type exists only where `new` found AVX2 and BMI2.
        unsafe { sift_avx2(self, sieve, ahead, survived) }
    }

    /// [`vectors::skip`], compiled for these instructions.
    pub(super) fn skip(self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
        // SAFETY: a value of this type exists only where `new` found AVX2, BMI1, BMI2 and LZCNT.
        unsafe { skip_avx2(self, streams, place, keys) }
    }

    /// [`vectors::decode`], compiled for these instructions.
    pub(super) fn decode(self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        // SAFETY: a value of this type exists only where `new` found AVX2, BMI1, BMI2 and LZCNT.
        unsafe { decode_avx2(self, streams, lanes) }
    }

    /// [`vectors::decode_one`], compiled for these instructions.
    pub(super) fn decode_one(self, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
        // SAFETY: a value of this type exists only where `new` found AVX2, BMI1, BMI2 and LZCNT.
        unsafe { decode_one_avx2(self, streams, lane) }
    }
}

impl Avx512 {
    /// [`Sieve::run`], compiled for these instructions.
    pub(super) fn sift(
        self,
        sieve: &Sieve<'_>,
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        // SAFETY: a value of this type exists only where `new` found AVX-512 BW and BITALG, and
        // what Avx2 needs.
        unsafe { sift_avx512(self, sieve, ahead, survived) }
    }

    /// [`deposit::skip`], compiled for these instructions.
    pub(super) fn skip(self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
        match streams.narrow_runs {
            // SAFETY: a value of this type exists only where `new` found all of these.
            Some(runs) => unsafe { skip_avx512(self, streams, runs, place, keys) },
            None => self.avx2().skip(streams, place, keys),
        }
    }

    /// [`deposit::decode`], compiled for these instructions.
    pub(super) fn decode(self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        match streams.narrow_runs {
            // SAFETY: a value of this type exists only where `new` found all of these.
            Some(runs) => unsafe { decode_avx512(self, streams, runs, lanes) },
            None => self.avx2().decode(streams, lanes),
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn skip_avx2(kernel: Avx2, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
    vectors::skip(kernel, streams, place, keys)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn decode_avx2(kernel: Avx2, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
    vectors::decode(kernel, streams, lanes)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn decode_one_avx2(kernel: Avx2, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
    vectors::decode_one(kernel, streams, lane)
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn skip_avx512(
    kernel: Avx512,
    streams: &Streams<'_>,
    runs: &NarrowRuns,
    place: &mut Place,
    keys: usize,
) -> bool {
    deposit::skip(kernel, streams, runs, place, keys)
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decode_avx512(
    kernel: Avx512,
    streams: &Streams<'_>,
    runs: &NarrowRuns,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    deposit::decode(kernel, streams, runs, lanes)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn sift_avx2(
    kernel: Avx2,
    sieve: &Sieve<'_>,
    ahead: impl FnMut(),
    survived: impl FnMut(usize, u32),
) -> Result<(), Corruption> {
    sieve.run(kernel, ahead, survived)
}

#[target_feature(enable = "avx512bw,avx512bitalg,avx2,bmi1,bmi2,popcnt")]
fn sift_avx512(
    kernel: Avx512,
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
        column: Column<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    ) {
        // SAFETY: a value of this type exists only where `new` found AVX2.
        unsafe { compare_avx2(column, query, budget, near) }
    }
}

impl Compare for Avx512 {
    type Query = [__m512i; MAX_PLANES];

    #[inline(always)]
    fn prepare(self, query: u64) -> Self::Query {
        // SAFETY: a value of this type exists only where `new` found AVX-512 BW, which builds on F.
        bytes_of(query).map(|byte| unsafe { _mm512_set1_epi8(byte as i8) })
    }

    #[inline(always)]
    fn compare<const PLANES: usize>(
        self,
        column: Column<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    ) {
        // SAFETY: a value of this type exists only where `new` found AVX-512 BW and BITALG.
        unsafe { compare_avx512(column, query, budget, near) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn compare_avx2<const PLANES: usize>(
    column: Column<'_, PLANES>,
    query: &[u8; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    const LANES: usize = 32;
    let limit = _mm256_set1_epi8(budget as i8);
    let groups = column.count / LANES;
    for group in 0..groups {
        let start = group * LANES;
        let mut distance = _mm256_setzero_si256();
        for (plane, byte) in column.planes.iter().zip(query) {
            let Some(entries) = plane[start..].first_chunk() else { continue };
            let differs = _mm256_xor_si256(load(entries), _mm256_set1_epi8(*byte as i8));
            distance = _mm256_add_epi8(distance, count_ones(differs));
        }
        ones(at_most(distance, limit).into()).for_each(|entry| near(start + entry));
    }
    scalar::compare_from(column, groups * LANES, query, budget, near);
}

#[inline]
#[target_feature(enable = "avx512bw,avx512bitalg")]
fn compare_avx512<const PLANES: usize>(
    column: Column<'_, PLANES>,
    query: &[__m512i; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    const LANES: usize = 64;
    let limit = _mm512_set1_epi8(budget as i8);
    let whole = column.count / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        let mut distance = _mm512_setzero_si512();
        for (plane, byte) in column.planes.iter().zip(query) {
            let Some(entries) = plane[start..].first_chunk() else { continue };
            let differs = _mm512_xor_si512(load_all(entries), *byte);
            distance = _mm512_add_epi8(distance, _mm512_popcnt_epi8(differs));
        }
        let within = _mm512_cmple_epu8_mask(distance, limit);
        ones(within).for_each(|entry| near(start + entry));
    }
    let mut mask = 0;
    let mut distance = _mm512_setzero_si512();
    for (plane, byte) in column.planes.iter().zip(query) {
        let entries;
        (mask, entries) = load_some(&plane[whole..]);
        let differs = _mm512_xor_si512(entries, *byte);
        distance = _mm512_add_epi8(distance, _mm512_popcnt_epi8(differs));
    }
    let within = _mm512_mask_cmple_epu8_mask(mask, distance, limit);
    ones(within).for_each(|entry| near(whole + entry));
}
