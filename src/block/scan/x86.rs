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

/// AVX2: 32 keys at a time, bits counted by a look-up per half byte.
#[derive(Clone, Copy, Debug)]
pub(in crate::block) struct Avx2(());

/// AVX-512 with VPOPCNTB: 64 keys at a time, tails by masks.
#[derive(Clone, Copy, Debug)]
pub(in crate::block) struct Avx512(());

impl Avx2 {
    /// `None` if the CPU lacks AVX2, BMI1, BMI2, LZCNT or POPCNT.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Self(()))
    }

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
    /// `None` if the CPU lacks AVX-512 BW, VL, BITALG, VBMI or VBMI2, or what [`Avx2`] needs.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        (has && Avx2::new().is_some()).then_some(Self(()))
    }

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

    /// What `new` has found as well.
    pub(super) fn avx2(self) -> Avx2 {
        Avx2(())
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

/// Calls `near` with the number of each entry whose bit is set in `mask`.
#[inline(always)]
fn for_each_bit(mut mask: u64, start: usize, near: &mut impl FnMut(usize)) {
    while mask != 0 {
        near(start + mask.trailing_zeros() as usize);
        mask &= mask - 1;
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
    let nibble_counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low_nibbles = _mm256_set1_epi8(0x0F);
    let limit = _mm256_set1_epi8(budget as i8);
    let groups = column.count / LANES;
    for group in 0..groups {
        let start = group * LANES;
        let mut distance = _mm256_setzero_si256();
        for (plane, byte) in column.planes.iter().zip(query) {
            let entries = &plane[start..][..LANES];
            // SAFETY: the slice has 32 bytes, and the load needs no alignment.
            let entries = unsafe { _mm256_loadu_si256(entries.as_ptr().cast()) };
            let differs = _mm256_xor_si256(entries, _mm256_set1_epi8(*byte as i8));
            let low = _mm256_and_si256(differs, low_nibbles);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(differs), low_nibbles);
            let bits = _mm256_add_epi8(
                _mm256_shuffle_epi8(nibble_counts, low),
                _mm256_shuffle_epi8(nibble_counts, high),
            );
            distance = _mm256_add_epi8(distance, bits);
        }
        let within = _mm256_cmpeq_epi8(_mm256_min_epu8(distance, limit), distance);
        for_each_bit(u64::from(_mm256_movemask_epi8(within) as u32), start, &mut near);
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
            let entries = &plane[start..][..LANES];
            // SAFETY: the slice has 64 bytes, and the load needs no alignment.
            let entries = unsafe { _mm512_loadu_si512(entries.as_ptr().cast()) };
            let differs = _mm512_xor_si512(entries, *byte);
            distance = _mm512_add_epi8(distance, _mm512_popcnt_epi8(differs));
        }
        for_each_bit(_mm512_cmple_epu8_mask(distance, limit), start, &mut near);
    }
    let rest = column.count - whole;
    let mask = (1u64 << rest) - 1;
    let mut distance = _mm512_setzero_si512();
    for (plane, byte) in column.planes.iter().zip(query) {
        let entries = &plane[whole..][..rest];
        // SAFETY: the load touches only the bytes of the mask, which are those of the slice, and
        // needs no alignment.
        let entries = unsafe { _mm512_maskz_loadu_epi8(mask, entries.as_ptr().cast()) };
        let differs = _mm512_xor_si512(entries, *byte);
        distance = _mm512_add_epi8(distance, _mm512_popcnt_epi8(differs));
    }
    for_each_bit(_mm512_mask_cmple_epu8_mask(mask, distance, limit), whole, &mut near);
}
