//! The scan with AVX-512: 64 keys at a time.
//!
//! ```text
//! key            1    2    3   ...   64
//! plane 0      | a0 | b0 | c0 | ... |    |     one load; the next group starts 64 bytes on
//!     ^ byte 0 of the query, in all lanes: VPOPCNTB, and added up
//! plane 1      | a1 | b1 | c1 | ... |    |     the same with byte 1, and so on
//! distances    | d  | d  | d  | ... |    |     at most 48, in a byte each
//! mask           a bit for each distance within the budget: nearly always 0
//! ```
//!
//! All planes have the same number of bytes. Loads take whole arrays of 64 out of each, and of the
//! keys that are left those that there are, by a mask: what stands behind a plane is not touched.

#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::view::Survivor;
use super::compare::{Compare, KeyRow, MANY, MAX_PLANES, Planes, bytes_of};
use super::sift::{Sieve, Sift, run};
use crate::error::Corruption;
use crate::simd::avx512::{Avx512, load, load_some, load_some_words, load_words};
use crate::simd::ones;

impl Sift for Avx512 {
    fn sift<'a>(
        self,
        sieves: impl Iterator<Item = Sieve<'a>>,
        ahead: impl Iterator<Item = Sieve<'a>>,
        survivors: &mut Vec<Survivor>,
    ) -> Result<(), (usize, Corruption)> {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 BW and BITALG, and what
        // Avx2 proves.
        unsafe { sift(self, sieves, ahead, survivors) }
    }
}

#[target_feature(enable = "avx512bw,avx512bitalg,avx2,bmi1,bmi2,popcnt")]
fn sift<'a>(
    kernel: Avx512,
    sieves: impl Iterator<Item = Sieve<'a>>,
    ahead: impl Iterator<Item = Sieve<'a>>,
    survivors: &mut Vec<Survivor>,
) -> Result<(), (usize, Corruption)> {
    run(kernel, sieves, ahead, survivors)
}

impl Compare for Avx512 {
    type Query = [__m512i; MAX_PLANES];

    #[inline(always)]
    fn prepare(self, query: u64) -> Self::Query {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 F.
        bytes_of(query).map(|byte| unsafe { _mm512_set1_epi8(byte as i8) })
    }

    #[inline(always)]
    fn compare<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    ) {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 BW and BITALG.
        unsafe { compare(planes, query, budget, near) }
    }

    #[inline(always)]
    fn words<'a>(
        self,
        rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
        k: u32,
        near: impl FnMut(&KeyRow<'a>, usize),
    ) {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 VPOPCNTDQ, and what
        // Avx2 proves.
        unsafe { words(rows, k, near) }
    }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512bitalg")]
fn compare<const PLANES: usize>(
    planes: Planes<'_, PLANES>,
    query: &[__m512i; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    const LANES: usize = 64;
    let limit = _mm512_set1_epi8(budget as i8);
    let add = |distance, plane: usize, lanes| {
        let differs = _mm512_xor_si512(lanes, query[plane]);
        _mm512_add_epi8(distance, _mm512_popcnt_epi8(differs))
    };
    let groups = planes.count / LANES;
    for group in 0..groups {
        let lanes = |plane| load(&planes.plane(plane).as_chunks().0[group]);
        let mut distance = _mm512_setzero_si512();
        for plane in 0..PLANES {
            distance = add(distance, plane, lanes(plane));
        }
        let mut within = _mm512_cmple_epu8_mask(distance, limit);
        if within.count_ones() >= MANY {
            for plane in PLANES..planes.all {
                distance = add(distance, plane, lanes(plane));
            }
            within = _mm512_cmple_epu8_mask(distance, limit);
        }
        ones(within).for_each(|lane| near(group * LANES + lane));
    }
    let mut mask = 0;
    let mut distance = _mm512_setzero_si512();
    for plane in 0..PLANES {
        let entries;
        (mask, entries) = load_some(planes.plane(plane).as_chunks::<LANES>().1);
        distance = add(distance, plane, entries);
    }
    let within = _mm512_mask_cmple_epu8_mask(mask, distance, limit);
    ones(within).for_each(|lane| near(groups * LANES + lane));
}

#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt")]
fn words<'a>(
    rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
    k: u32,
    mut near: impl FnMut(&KeyRow<'a>, usize),
) {
    const LANES: usize = 8;
    let limit = _mm512_set1_epi64(k.into());
    for (row, runs) in rows {
        let query = _mm512_set1_epi64(row.query as i64);
        let distances = |words| _mm512_popcnt_epi64(_mm512_xor_si512(words, query));
        let within = |distances| _mm512_cmple_epu64_mask(distances, limit);
        let (all, rest) = row.keys.as_chunks::<LANES>();
        for Range { start, end } in runs {
            // In whole lines, and behind them.
            let (first, lines_end) = (start / LANES, end.min(all.len() * LANES));
            let lines = &all[first..lines_end.div_ceil(LANES).max(first)];
            // Hardly any is near in a long run: four lines make one question.
            let mut ask = |at: usize, of: [&[u64; LANES]; 4]| {
                let [a, b, c, d] = [
                    distances(load_words(of[0])),
                    distances(load_words(of[1])),
                    distances(load_words(of[2])),
                    distances(load_words(of[3])),
                ];
                let least = _mm512_min_epu64(_mm512_min_epu64(a, b), _mm512_min_epu64(c, d));
                if within(least) != 0 {
                    let masks = u32::from_le_bytes([within(a), within(b), within(c), within(d)]);
                    let here = (first + at) * LANES;
                    let before = u32::MAX << start.saturating_sub(here);
                    let behind = u32::MAX >> (4 * LANES).saturating_sub(lines_end - here);
                    ones((masks & before & behind).into()).for_each(|lane| near(&row, here + lane));
                }
            };
            let (fours, others) = lines.as_chunks::<4>();
            for (number, four) in fours.iter().enumerate() {
                ask(4 * number, four.each_ref());
            }
            // A line that has none of the keys is not loaded, but the last one again.
            if let Some(last) = others.len().checked_sub(1) {
                let of = |line: usize| &others[line.min(last)];
                ask(4 * fours.len(), [of(0), of(1), of(2), of(3)]);
            }
            let here = all.len() * LANES;
            if end > here {
                let (there, some) = load_some_words(&rest[..end - here]);
                let before = u8::MAX << start.saturating_sub(here);
                ones((within(distances(some)) & there & before).into())
                    .for_each(|lane| near(&row, here + lane));
            }
        }
    }
}
