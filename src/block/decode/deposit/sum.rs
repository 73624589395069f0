//! Adds up gaps, and joins the sums with their low parts, 16 keys at a time.
//!
//! ```text
//! gaps            | g0 | g1 | ... | g15 |             16 bits each
//! sums            | g0 | g0+g1 | ... | g0+...+g15 |   32 bits each, from the middle before on
//! low parts       | 16 bytes of plane 0 | of plane 1 | of plane 2 | of plane 3 |
//! joined          | l0 l1 l2 l3 s0 s0 s0 s0 | ...     8 keys: VPERMI2B takes bytes from both
//! of planes 4 and 5   where there are these: VPERMB puts theirs between, under a mask
//! + the middle before, which stands where it does in a key, in all words
//! ```
//!
//! What is left of a chunk, fewer than 16 keys, has a mask: its loads and stores touch no lane that
//! is not in it. The gaps have room for whole loads.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::stream::Lane;
use super::cut::Gaps;
use crate::simd::avx512::load;

/// Keys that are joined at a time.
const JOINED: usize = 16;

/// Adds up the gaps of `count` keys from number `from` on, and joins them with their low parts;
/// false if a middle leaves its bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn sum_up<const PLANES: usize>(
    gaps: &Gaps,
    count: usize,
    lane: &mut Lane<'_>,
    from: usize,
) -> bool {
    let others = lane.keys.len() - 1;
    let mut planes: [&[u8]; PLANES] = [&[]; PLANES];
    for (plane, bytes) in planes.iter_mut().enumerate() {
        *bytes = &lane.column[plane * others..][from - 1..from - 1 + count];
    }
    let (before, keys) = lane.keys.split_at_mut(from);
    let keys = &mut keys[..count];
    // Middles stand where they do in a key.
    let first = before[from - 1] >> (8 * PLANES) << (8 * PLANES);
    let mut middle = _mm512_set1_epi64(first as i64);
    let orders = const { Orders::new::<PLANES>() };
    let last = load(&orders.last);
    let halves = [load(&orders.halves[0]), load(&orders.halves[1])];
    let highs = [load(&orders.highs[0]), load(&orders.highs[1])];
    let mut all_sums = _mm512_setzero_si512();
    let third = _mm512_setr_epi32(0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0, 11, 11, 11, 11);
    let mut step = |at: usize, mask: u16, middle: &mut __m512i, keys: &mut [u64]| {
        let plane = |plane: usize| match planes.get(plane) {
            Some(bytes) => {
                let bytes = &bytes[at..];
                assert!(bytes.len() >= (u16::BITS - mask.leading_zeros()) as usize);
                // SAFETY: the slice has all bytes in the mask, and the load needs no alignment.
                unsafe { _mm_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
            }
            None => _mm_setzero_si128(),
        };
        let low = _mm512_zextsi128_si512(plane(0));
        let low = if PLANES > 1 { _mm512_inserti32x4::<1>(low, plane(1)) } else { low };
        let low = if PLANES > 2 { _mm512_inserti32x4::<2>(low, plane(2)) } else { low };
        let low = if PLANES > 3 { _mm512_inserti32x4::<3>(low, plane(3)) } else { low };
        let high = _mm512_zextsi128_si512(plane(4));
        let high = if PLANES > 5 { _mm512_inserti32x4::<1>(high, plane(5)) } else { high };
        // SAFETY: the array has 32 bytes, and the load needs no alignment.
        let found = unsafe { _mm256_loadu_si256(gaps.0[at..at + JOINED].as_ptr().cast()) };
        let found = if PLANES > 4 { _mm256_maskz_mov_epi16(mask, found) } else { found };
        let sums = _mm512_cvtepu16_epi32(found);
        let sums = _mm512_add_epi32(sums, _mm512_bslli_epi128::<4>(sums));
        let sums = _mm512_add_epi32(sums, _mm512_bslli_epi128::<8>(sums));
        let before = _mm512_maskz_permutexvar_epi32(0xF0F0, third, sums);
        let sums = _mm512_add_epi32(sums, before);
        let before = _mm512_maskz_permutexvar_epi32(0xFF00, _mm512_set1_epi32(7), sums);
        let sums = _mm512_add_epi32(sums, before);
        if PLANES > 4 {
            all_sums = _mm512_add_epi32(all_sums, sums);
        }
        let before = *middle;
        let four_bytes = (0x0F << PLANES & 0xFF) * 0x0101_0101_0101_0101;
        let added = _mm512_maskz_permutexvar_epi8(four_bytes, last, sums);
        *middle = _mm512_add_epi64(before, added);
        let keys = &mut keys[at..];
        assert!(keys.len() >= (u16::BITS - mask.leading_zeros()) as usize);
        for (half, order) in halves.into_iter().enumerate() {
            let used = (u64::MAX >> (64 - PLANES - 4) & 0xFF) * 0x0101_0101_0101_0101;
            let joined = _mm512_maskz_permutex2var_epi8(used, sums, order, low);
            let joined = if PLANES > 4 {
                let between = (0x3F >> (6 - PLANES) & 0xF0) * 0x0101_0101_0101_0101;
                _mm512_mask_permutexvar_epi8(joined, between, highs[half], high)
            } else {
                joined
            };
            let joined = _mm512_add_epi64(joined, before);
            let mask = (mask >> (8 * half)) as u8;
            let keys = keys.as_mut_ptr().wrapping_add(8 * half);
            // SAFETY: the slice has all words in the mask, and the store needs no alignment.
            unsafe { _mm512_mask_storeu_epi64(keys.cast(), mask, joined) };
        }
    };
    let mut at = 0;
    while at + JOINED <= count {
        step(at, u16::MAX, &mut middle, keys);
        at += JOINED;
    }
    if at < count {
        step(at, (1 << (count - at)) - 1, &mut middle, keys);
    }
    if PLANES > 4 {
        // A middle has fewer bits than the gaps together, so that sums may wrap more than once.
        let sums = _mm512_extracti32x4_epi32::<3>(all_sums);
        let sum = u64::from(_mm_extract_epi32::<3>(sums) as u32);
        return (first >> (8 * PLANES)) + sum <= u64::MAX >> (8 * PLANES);
    }
    // All gaps together are less than 2^57, so a sum that wraps is less than the first.
    keys.last().is_none_or(|&last| last >> (8 * PLANES) >= first >> (8 * PLANES))
}

/// Where bytes come from.
struct Orders {
    /// From 16 sums of 32 bits, to 8 times the last one.
    last: [u8; 64],
    /// From 16 sums of 32 bits and 16 bytes of each of planes 0 to 3, to 8 keys and 8 more.
    halves: [[u8; 64]; 2],
    /// From 16 bytes of planes 4 and 5, to the same.
    highs: [[u8; 64]; 2],
}

impl Orders {
    const fn new<const PLANES: usize>() -> Self {
        let mut orders = Self { last: [0; 64], halves: [[0; 64]; 2], highs: [[0; 64]; 2] };
        let mut key = 0;
        while key < JOINED {
            let (half, high) = (&mut orders.halves[key / 8], &mut orders.highs[key / 8]);
            let at = 8 * (key % 8);
            let mut byte = 0;
            while byte < PLANES {
                if byte < 4 {
                    half[at + byte] = (64 + 16 * byte + key) as u8;
                } else {
                    high[at + byte] = (16 * (byte - 4) + key) as u8;
                }
                byte += 1;
            }
            byte = 0;
            while byte < 4 && PLANES + byte < 8 {
                half[at + PLANES + byte] = (4 * key + byte) as u8;
                if key < 8 {
                    orders.last[at + PLANES + byte] = (60 + byte) as u8;
                }
                byte += 1;
            }
            key += 1;
        }
        orders
    }
}
