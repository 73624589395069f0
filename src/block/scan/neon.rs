//! The scan with NEON: 16 keys at a time.
//!
//! ```text
//! key            1    2    3   ...   16
//! plane 0      | a0 | b0 | c0 | ... |    |     one load; the next group starts 16 bytes on
//!     ^ byte 0 of the query, in all lanes: bits that are set are counted and added up
//! distances    | d  | d  | d  | ... |    |     at most 48, in a byte each
//! mask           4 bits for each distance within the budget: nearly always 0
//! ```
//!
//! Loads take whole arrays of 16: the last ones of a plane reach into what stands behind it, as far
//! as the overhang of a block at most, and a mask leaves out what is not of the plane.

#![allow(unsafe_code)]

use std::arch::aarch64::*;
use std::ops::Range;

use super::super::view::{OVERHANG, Survivor};
use super::compare::{Compare, KeyRow, MANY, MAX_PLANES, Planes, bytes_of};
use super::sift::{Sieve, Sift, run};
use crate::error::Corruption;
use crate::simd::neon::{Neon, at_most, distances_of_words, load, words_of};
use crate::simd::ones;

/// Keys that are compared at a time.
const LANES: usize = 16;
/// The lowest of the 4 bits of each lane of a mask.
const LOW_BITS: u64 = 0x1111_1111_1111_1111;

impl Sift for Neon {
    fn sift<'a>(
        self,
        sieves: impl Iterator<Item = Sieve<'a>>,
        ahead: impl Iterator<Item = Sieve<'a>>,
        survivors: &mut Vec<Survivor>,
    ) -> Result<(), (usize, Corruption)> {
        run(self, sieves, ahead, survivors)
    }
}

impl Compare for Neon {
    type Query = [uint8x16_t; MAX_PLANES];

    #[inline(always)]
    fn prepare(self, query: u64) -> Self::Query {
        // SAFETY: a value of `Neon` exists only where the CPU has NEON.
        bytes_of(query).map(|byte| unsafe { vdupq_n_u8(byte) })
    }

    #[inline(always)]
    fn compare<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    ) {
        // SAFETY: a value of `Neon` exists only where the CPU has NEON.
        unsafe { compare(planes, query, budget, near) }
    }

    #[inline(always)]
    fn words<'a>(
        self,
        rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
        k: u32,
        near: impl FnMut(&KeyRow<'a>, usize),
    ) {
        // SAFETY: a value of `Neon` exists only where the CPU has NEON.
        unsafe { words(rows, k, near) }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn compare<const PLANES: usize>(
    planes: Planes<'_, PLANES>,
    query: &[uint8x16_t; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    let limit = vdupq_n_u8(budget);
    let add = |distance, plane: usize, at| {
        let differs = veorq_u8(lanes(&planes, plane, at), query[plane]);
        vaddq_u8(distance, vcntq_u8(differs))
    };
    // 4 bits for each lane within the limit.
    let within = |distance| {
        let lanes = vreinterpretq_u16_u8(vcleq_u8(distance, limit));
        vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(lanes)))
    };
    for at in (0..planes.count).step_by(LANES) {
        let mut distance = vdupq_n_u8(0);
        for plane in 0..PLANES {
            distance = add(distance, plane, at);
        }
        let there = (planes.count - at).min(LANES) as u32;
        let mut mask = within(distance) & LOW_BITS & u64::MAX >> (64 - 4 * there);
        if mask == 0 {
            continue;
        }
        if mask.count_ones() >= MANY {
            for plane in PLANES..planes.all {
                distance = add(distance, plane, at);
            }
            mask &= within(distance);
        }
        ones(mask).for_each(|bit| near(at + bit / 4));
    }
}

/// The bytes of a plane from the entry `at` on, which there is, and behind the last one what
/// follows.
#[inline]
#[target_feature(enable = "neon")]
fn lanes<const PLANES: usize>(planes: &Planes<'_, PLANES>, plane: usize, at: usize) -> uint8x16_t {
    const { assert!(LANES <= OVERHANG) };
    let start = planes.place(plane, at);
    debug_assert!(plane < planes.all && at < planes.count && start + LANES <= planes.bytes.len());
    // SAFETY: at most all planes but a byte come before, and behind them stand OVERHANG bytes, as
    // `Planes::new` has checked.
    load(unsafe { &*planes.bytes.as_ptr().add(start).cast() })
}

/// Whole keys, 8 at a time, and one by one what is left of a run.
#[inline]
#[target_feature(enable = "neon")]
fn words<'a>(
    rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
    k: u32,
    mut near: impl FnMut(&KeyRow<'a>, usize),
) {
    let limit = vdupq_n_u16(k.min(64) as u16);
    for (row, runs) in rows {
        let query = words_of(row.query);
        for numbers in runs {
            let (groups, rest) = row.keys[numbers.clone()].as_chunks::<8>();
            let rest_from = numbers.start + 8 * groups.len();
            for (at, group) in (numbers.start..).step_by(8).zip(groups) {
                let within = at_most(distances_of_words(group, query), limit);
                ones(within).for_each(|bit| near(&row, at + bit / 8));
            }
            for (number, key) in (rest_from..).zip(rest) {
                if (key ^ row.query).count_ones() <= k {
                    near(&row, number);
                }
            }
        }
    }
}
