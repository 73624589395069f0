//! Cuts the raw bits of 8 runs at a time out of 64 bytes.
//!
//! ```text
//! loaded     | 64 bytes: the raw bits of 8 runs, and up to 55 bytes before the first |
//! words      | run 0                   | run 1 ... | ... | run 7 |  8 bytes, from where its
//!                                                                   raw bits start: VPERMB
//! starts     | key 0 | key 1 | key 2 | key 3 | ...                  bits behind each key, twice:
//!                                                                   16 and 8 before its end
//! cut        | ..r0  | ..r1  | ..r2  | ..r3  | ...                  16 bits that end with its
//!                                                                   raw bits: VPMULTISHIFTQB
//! gaps       |  1r0  |  1r1  |  1r2  |  1r3  | ...                  the bit in front; what is
//!                                                                   before it goes: VPSHLDVW
//! closed up  | those where there is a key, side by side: VPCOMPRESSW |
//! ```
//!
//! The 64 bytes are taken out of the slice where it has them all, else copied to an array; the
//! store takes an array of as many gaps as 8 runs can have.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::narrow::NarrowRun;
use super::super::runs::RUN_KEYS;
use super::find::Found;
use crate::simd::avx512::{Avx512, load, load_words, store_shorts};

/// Keys of a lane whose gaps are found before they are added up, at most.
pub(super) const CHUNK: usize = 512;
/// SymbolRuns whose gaps are cut out at a time.
const CUT: usize = 8;

/// The gaps of a chunk, and room to write some more.
pub(super) struct Gaps(pub(super) [u16; CHUNK + RUN_KEYS * CUT]);

impl Gaps {
    pub(super) const NONE: Self = Self([0; CHUNK + RUN_KEYS * CUT]);
}

/// Puts the gaps of the first `count` runs to `at` and behind; gives the place behind the last. May
/// change the gaps behind it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
pub(super) fn cut(
    _avx512: Avx512,
    bytes: &[u8],
    found: &Found,
    count: usize,
    gaps: &mut Gaps,
    mut at: usize,
) -> usize {
    for start in (0..count).step_by(CUT) {
        let Some(out) = gaps.0.get_mut(at..).and_then(|gaps| gaps.first_chunk_mut()) else { break };
        let (found, is_key) = cut_some(bytes, found, start, count);
        let found = _mm512_maskz_compress_epi16(is_key, found);
        store_shorts(out, found);
        at += is_key.count_ones() as usize;
    }
    at
}

/// The sum of the gaps of the first `count` runs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
pub(super) fn add_up(_avx512: Avx512, bytes: &[u8], found: &Found, count: usize) -> u64 {
    let even = _mm512_set1_epi32(0xFFFF);
    let mut sums = _mm512_setzero_si512();
    for start in (0..count).step_by(CUT) {
        let (found, is_key) = cut_some(bytes, found, start, count);
        let found = _mm512_maskz_mov_epi16(is_key, found);
        sums = _mm512_add_epi32(sums, _mm512_and_si512(found, even));
        sums = _mm512_add_epi32(sums, _mm512_srli_epi32::<16>(found));
    }
    // Each of the 16 sums has no more than 2 gaps of each of 5 groups of 8 runs.
    u64::from(_mm512_reduce_add_epi32(sums) as u32)
}

/// The gaps of up to [`CUT`] runs from number `start` on, out of the first `count`, in 16 bits
/// each, and where one stands.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn cut_some(bytes: &[u8], found: &Found, start: usize, count: usize) -> (__m512i, u32) {
    /// Bytes before the one where the raw bits of the first run start: those of 7 other runs may
    /// take 7 times 57 bits.
    const BEFORE: usize = 55;
    let all = |byte: u64| _mm512_set1_epi64((byte * 0x0101_0101_0101_0101) as i64);
    let pairs = |bytes: [u8; RUN_KEYS]| {
        let pairs = bytes.map(|byte| u16::from_le_bytes([byte; 2]));
        _mm512_set1_epi64(pairs.iter().rev().fold(0, |word, &pair| word << 16 | i64::from(pair)))
    };
    let (behind, key) = (pairs(NarrowRun::BEHIND), pairs(NarrowRun::KEY));
    let each_byte = _mm512_set1_epi64(0x07_06_05_04_03_02_01_00);
    // 16 bits end where the raw bits of a key do: 16 and 8 bits before that start their bytes.
    let back = _mm512_set1_epi16(i16::from_le_bytes([-16i8 as u8, -8i8 as u8]));
    let flag = |flag: u8| _mm512_set1_epi16(flag.into());
    let (differs, is_key) = (flag(NarrowRun::DIFFERS), flag(NarrowRun::IS_KEY));
    let (runs, raws) = (found.runs.as_flattened(), found.raws.as_flattened());
    let (Some(runs), Some(raws)) =
        (runs[start..].first_chunk::<CUT>(), raws[start..].first_chunk::<CUT>())
    else {
        return (_mm512_setzero_si512(), 0);
    };
    let first = (raws[0] as usize / 8).wrapping_sub(BEFORE);
    let loaded = match bytes.get(first..).and_then(|bytes| bytes.first_chunk()) {
        Some(bytes) => load(bytes),
        None => load(&at_edge(bytes, first)),
    };
    let (runs, raws) = (load_words(&runs.map(|run| run.0)), load_words(raws));
    // From the first of the loaded bits on.
    let raws = _mm512_sub_epi64(raws, _mm512_set1_epi64(8i64.wrapping_mul(first as i64)));
    // The 8 bytes that each run starts in.
    let order = _mm512_add_epi8(_mm512_multishift_epi64_epi8(all(3), raws), each_byte);
    let words = _mm512_permutexvar_epi8(order, loaded);
    // (raws & 7) | back, in each byte.
    let raws = _mm512_multishift_epi64_epi8(all(0), raws);
    let starts = _mm512_ternarylogic_epi64::<0b1111_1000>(back, raws, all(7));
    let starts = _mm512_add_epi8(starts, _mm512_multishift_epi64_epi8(behind, runs));
    let words = _mm512_multishift_epi64_epi8(starts, words);
    let keys = _mm512_multishift_epi64_epi8(key, runs);
    let differs = _mm512_test_epi16_mask(keys, differs);
    let is_key = _mm512_test_epi16_mask(keys, is_key);
    let is_key = is_key & u32::MAX >> (RUN_KEYS * CUT.saturating_sub(count - start));
    (_mm512_maskz_shldv_epi16(differs, _mm512_set1_epi16(1), words, keys), is_key)
}

/// 64 bytes from number `first` on, where some of them are outside of `bytes`; those are 0.
#[cold]
fn at_edge(bytes: &[u8], first: usize) -> [u8; 64] {
    std::array::from_fn(|i| bytes.get(first.wrapping_add(i)).copied().unwrap_or(0))
}
