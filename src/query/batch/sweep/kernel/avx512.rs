//! The steps with AVX-512: 16 queries at a time.
//!
//! ```text
//! lane           0    1    2   ...   15
//! upper        | u0 | u1 | u2 | ... |     |   one load: the upper halves of 16 queries
//!     ^ key    |  k |  k |  k | ... |  k  |   of a prefix, or of a key to compare with
//! counts       | bits that are set: VPOPCNTD
//! mask         | a bit for each query that is near enough
//! ```
//!
//! To sift, the queries of the mask are closed up in a register and written whole: what stands
//! behind the last one is overwritten by what comes next. To compare, the least count over some
//! keys is kept in each lane: most often none is within k, and one look at the mask is enough for
//! all of them.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{Entries, Kernel, LANES, Near, Room, Within};
use crate::simd::avx512::{Avx512, load_some_halves, store_halves};
use crate::simd::ones;

/// Keys after which it is looked whether one of them was near.
const KEYS: usize = 32;

impl Kernel for Avx512 {
    fn sift<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        within: Within,
        room: &mut Room<'_>,
    ) -> usize {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 BW and VPOPCNTDQ.
        unsafe { sift::<UPPER>(entries, within, room) }
    }

    fn compare<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        keys: &[u64],
        k: u32,
        near: &mut Vec<Near>,
    ) {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 BW and VPOPCNTDQ.
        unsafe { compare::<UPPER>(entries, keys, k, near) }
    }
}

/// The upper and the lower half of a word, each in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn halves(word: u64) -> [__m512i; 2] {
    [_mm512_set1_epi32((word >> 32) as i32), _mm512_set1_epi32(word as i32)]
}

#[target_feature(enable = "avx512bw,avx512vpopcntdq,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn sift<const UPPER: bool>(entries: Entries<'_>, within: Within, room: &mut Room<'_>) -> usize {
    let most = _mm512_set1_epi32(within.most as i32);
    let (key, mask) = (halves(within.key), halves(within.mask));
    let mut count = 0;
    let chunks = entries.upper.chunks(LANES).zip(entries.lower.chunks(LANES));
    for (upper, lower) in chunks {
        let ((lanes, upper), (_, lower)) = (load_some_halves(upper), load_some_halves(lower));
        let mut differing = differing(upper, key[0], mask[0]);
        if !UPPER {
            differing = _mm512_add_epi32(differing, self::differing(lower, key[1], mask[1]));
        }
        let kept = _mm512_mask_cmple_epu32_mask(lanes, differing, most);
        let [Some(to_upper), Some(to_lower)] = [&mut *room.upper, &mut *room.lower]
            .map(|room| room.get_mut(count..).and_then(|room| room.first_chunk_mut()))
        else {
            break;
        };
        // The form that writes to memory takes a hundred cycles on Zen 4.
        store_halves(to_upper, _mm512_maskz_compress_epi32(kept, upper));
        store_halves(to_lower, _mm512_maskz_compress_epi32(kept, lower));
        count += kept.count_ones() as usize;
    }
    count
}

/// How many bits of a mask differ, in each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn differing(words: __m512i, key: __m512i, mask: __m512i) -> __m512i {
    _mm512_popcnt_epi32(_mm512_and_si512(_mm512_xor_si512(words, key), mask))
}

#[target_feature(enable = "avx512bw,avx512vpopcntdq,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn compare<const UPPER: bool>(entries: Entries<'_>, keys: &[u64], k: u32, near: &mut Vec<Near>) {
    let limit = _mm512_set1_epi32(k as i32);
    let words = if UPPER { entries.upper } else { entries.lower };
    for (number, words) in words.chunks(LANES).enumerate() {
        let (lanes, words) = load_some_halves(words);
        for (first, keys) in (0..).step_by(KEYS).zip(keys.chunks(KEYS)) {
            let least = least::<UPPER>(words, keys);
            if _mm512_mask_cmple_epu32_mask(lanes, least, limit) != 0 {
                report(entries, number * LANES, keys, first, k, near);
            }
        }
    }
}

/// The least number of bits, in each lane, in which one of the keys differs.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn least<const UPPER: bool>(words: __m512i, keys: &[u64]) -> __m512i {
    let differing = |key: u64| {
        let word = if UPPER { key >> 32 } else { key };
        _mm512_popcnt_epi32(_mm512_xor_si512(words, _mm512_set1_epi32(word as i32)))
    };
    let (fours, rest) = keys.as_chunks::<4>();
    // Two, so that one need not wait for the other.
    let mut least = [_mm512_set1_epi32(64); 2];
    for four in fours {
        let counts = four.map(differing);
        least[0] = _mm512_min_epu32(least[0], _mm512_min_epu32(counts[0], counts[1]));
        least[1] = _mm512_min_epu32(least[1], _mm512_min_epu32(counts[2], counts[3]));
    }
    for &key in rest {
        least[0] = _mm512_min_epu32(least[0], differing(key));
    }
    _mm512_min_epu32(least[0], least[1])
}

/// Appends what is near by both halves, of up to 16 entries from one on and of keys whose first has
/// this number.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512bw,avx512vpopcntdq")]
fn report(entries: Entries<'_>, at: usize, keys: &[u64], first: u32, k: u32, near: &mut Vec<Near>) {
    let all = _mm512_set1_epi32(-1);
    let limit = _mm512_set1_epi32(k as i32);
    let (lanes, upper) = load_some_halves(&entries.upper[at..]);
    let (_, lower) = load_some_halves(&entries.lower[at..]);
    for (number, &key) in (first..).zip(keys) {
        let key = halves(key);
        let counts = _mm512_add_epi32(differing(upper, key[0], all), differing(lower, key[1], all));
        let found = _mm512_mask_cmple_epu32_mask(lanes, counts, limit);
        let found = ones(u64::from(found)).map(|lane| (at + lane) as u32);
        near.extend(found.map(|entry| Near { entry, key: number }));
    }
}
