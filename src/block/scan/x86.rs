//! The scan with vector instructions of x86-64.
//!
//! Holding a value of [`Avx2`] or [`Avx512`] is the proof that the CPU has these instructions.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::lanes::{LANES, Lane, Streams};
use super::{Column, FIRST_PLANES, scalar};

/// AVX2: 32 keys at a time, bits counted by a look-up per half byte.
#[derive(Clone, Copy, Debug)]
pub(in crate::block) struct Avx2(());

/// AVX-512 with VPOPCNTB: 64 keys at a time, tails by masks.
#[derive(Clone, Copy, Debug)]
pub(in crate::block) struct Avx512(());

impl Avx2 {
    /// `None` if the CPU lacks AVX2 or BMI2.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2");
        has.then_some(Self(()))
    }

    #[inline]
    pub(super) fn scan(self, column: Column<'_>, query: u64, budget: u8, survivors: &mut Vec<u32>) {
        // SAFETY: a value of this type exists only where `new` found AVX2 and BMI2.
        unsafe { scan_avx2(column, query, budget, survivors) }
    }

    pub(super) fn decode(self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        // SAFETY: a value of this type exists only where `new` found AVX2 and BMI2.
        unsafe { decode_avx2(streams, lanes) }
    }
}

impl Avx512 {
    /// `None` if the CPU lacks AVX-512 BW, BITALG, or what [`Avx2`] needs.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512bitalg");
        (has && Avx2::new().is_some()).then_some(Self(()))
    }

    #[inline]
    pub(super) fn scan(self, column: Column<'_>, query: u64, budget: u8, survivors: &mut Vec<u32>) {
        // SAFETY: a value of this type exists only where `new` found AVX-512 BW and BITALG.
        unsafe { scan_avx512(column, query, budget, survivors) }
    }

    /// What `new` has found as well.
    pub(super) fn avx2(self) -> Avx2 {
        Avx2(())
    }
}

/// [`Streams::decode`], compiled for these instructions.
#[target_feature(enable = "avx2,bmi2")]
fn decode_avx2(streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
    streams.decode(lanes)
}

/// Appends the number, from 1 on, of each entry whose bit is set in `mask`.
#[inline(always)]
fn push(mut mask: u64, start: usize, survivors: &mut Vec<u32>) {
    while mask != 0 {
        survivors.push(start as u32 + mask.trailing_zeros() + 1);
        mask &= mask - 1;
    }
}

#[target_feature(enable = "avx2")]
fn scan_avx2(column: Column<'_>, query: u64, budget: u8, survivors: &mut Vec<u32>) {
    const LANES: usize = 32;
    let Column { bytes, count, planes } = column;
    let nibble_counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low_nibbles = _mm256_set1_epi8(0x0F);
    let limit = _mm256_set1_epi8(budget as i8);
    let groups = count / LANES;
    for group in 0..groups {
        let start = group * LANES;
        let mut distance = _mm256_setzero_si256();
        let mut near = 0;
        for plane in 0..planes {
            let entries = &bytes[plane * count + start..][..LANES];
            // SAFETY: the slice has 32 bytes, and the load needs no alignment.
            let entries = unsafe { _mm256_loadu_si256(entries.as_ptr().cast()) };
            let differs = _mm256_xor_si256(entries, _mm256_set1_epi8((query >> (8 * plane)) as i8));
            let low = _mm256_and_si256(differs, low_nibbles);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(differs), low_nibbles);
            let bits = _mm256_add_epi8(
                _mm256_shuffle_epi8(nibble_counts, low),
                _mm256_shuffle_epi8(nibble_counts, high),
            );
            distance = _mm256_add_epi8(distance, bits);
            if plane + 1 >= FIRST_PLANES || plane + 1 == planes {
                let within = _mm256_cmpeq_epi8(_mm256_min_epu8(distance, limit), distance);
                near = _mm256_movemask_epi8(within) as u32;
                if near == 0 {
                    break;
                }
            }
        }
        push(u64::from(near), start, survivors);
    }
    scalar::scan_from(column, groups * LANES, query, budget, survivors);
}

#[target_feature(enable = "avx512bw,avx512bitalg")]
fn scan_avx512(column: Column<'_>, query: u64, budget: u8, survivors: &mut Vec<u32>) {
    const LANES: usize = 64;
    let Column { bytes, count, planes } = column;
    let limit = _mm512_set1_epi8(budget as i8);
    for start in (0..count).step_by(LANES) {
        let lanes = LANES.min(count - start);
        let mask = u64::MAX >> (LANES - lanes);
        let mut distance = _mm512_setzero_si512();
        let mut near = 0;
        for plane in 0..planes {
            let entries = &bytes[plane * count + start..][..lanes];
            // SAFETY: the load touches only the bytes of the mask, which are those of the slice,
            // and needs no alignment.
            let entries = unsafe { _mm512_maskz_loadu_epi8(mask, entries.as_ptr().cast()) };
            let differs = _mm512_xor_si512(entries, _mm512_set1_epi8((query >> (8 * plane)) as i8));
            distance = _mm512_add_epi8(distance, _mm512_popcnt_epi8(differs));
            if plane + 1 >= FIRST_PLANES || plane + 1 == planes {
                near = _mm512_mask_cmple_epu8_mask(mask, distance, limit);
                if near == 0 {
                    break;
                }
            }
        }
        push(near, start, survivors);
    }
}
