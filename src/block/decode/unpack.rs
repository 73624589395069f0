//! Joins middles with their low parts, 16 keys at a time, with AVX2.
//!
//! ```text
//! planes          | a0 b0 ... p0 |  | a1 b1 ... p1 |  | a2 b2 ... p2 |  | a3 b3 ... p3 |
//! 2 interleaved   | a0 a1 b0 b1 ...          h0 h1 |  | a2 a3 b2 b3 ...          h2 h3 |
//! 4 interleaved   | a0 a1 a2 a3 | b0 b1 b2 b3 | ...   the low parts of 4 keys, 32 bits each
//! planes 4, 5     | a4 a5 b4 b5 ...          h4 h5 |    if there: 16 bits of 4 keys, above them
//! keys            | middle a << 8 * planes | low a | ...     4 words
//! ```
//!
//! Every load takes an array of 16 bytes out of a plane, and every load and store one of 4 keys;
//! the keys that are left are joined one by one.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::stream::{Assemble, Lane};
use crate::format::MAX_PLANES;
use crate::simd::avx2::{Avx2, load_half, load_words, store_words};

/// Keys that are joined at a time.
const JOINED: usize = 16;

/// Joins by interleaving the planes.
#[derive(Clone, Copy)]
pub(super) struct Unpack(pub(super) Avx2);

impl Assemble for Unpack {
    #[inline(always)]
    fn assemble(self, lane: &mut Lane<'_>, planes: usize) {
        let (keys, column) = (&mut lane.keys[1..], lane.column);
        match planes {
            0 => (),
            // SAFETY: a value of `Avx2` exists only where the CPU has AVX2.
            1 => unsafe { unpack::<1>(column, keys) },
            // SAFETY: as above.
            2 => unsafe { unpack::<2>(column, keys) },
            // SAFETY: as above.
            3 => unsafe { unpack::<3>(column, keys) },
            // SAFETY: as above.
            4 => unsafe { unpack::<4>(column, keys) },
            // SAFETY: as above.
            5 => unsafe { unpack::<5>(column, keys) },
            // SAFETY: as above.
            _ => unsafe { unpack::<MAX_PLANES>(column, keys) },
        }
    }
}

/// With a number of planes that is not a constant, decoding by runs takes 4% to 19% more time.
#[target_feature(enable = "avx2")]
fn unpack<const PLANES: usize>(column: &[u8], keys: &mut [u64]) {
    let mut planes: [&[u8]; PLANES] = [&[]; PLANES];
    for (plane, bytes) in planes.iter_mut().enumerate() {
        *bytes = &column[plane * keys.len()..][..keys.len()];
    }
    let (chunks, rest) = keys.as_chunks_mut::<JOINED>();
    let rest_at = JOINED * chunks.len();
    for (number, keys) in chunks.iter_mut().enumerate() {
        // Where there is no plane, 0.
        let mut bytes = [_mm_setzero_si128(); MAX_PLANES];
        for (bytes, plane) in bytes.iter_mut().zip(&planes) {
            *bytes = load_half(&plane.as_chunks().0[number]);
        }
        // The bytes of planes 0 and 1, and of 2 and 3, side by side; then all four.
        let [a, b, c, d, e, f] = bytes;
        let (ab, cd) = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d));
        let lows = [
            _mm_unpacklo_epi16(ab, cd),
            _mm_unpackhi_epi16(ab, cd),
            _mm_unpacklo_epi16(ab_high, cd_high),
            _mm_unpackhi_epi16(ab_high, cd_high),
        ];
        // The bytes of planes 4 and 5, above those.
        let (ef, ef_high) = (_mm_unpacklo_epi8(e, f), _mm_unpackhi_epi8(e, f));
        let highs = [ef, _mm_srli_si128::<8>(ef), ef_high, _mm_srli_si128::<8>(ef_high)];
        let shift = _mm_cvtsi32_si128(8 * PLANES as i32);
        for ((keys, low), high) in keys.as_chunks_mut().0.iter_mut().zip(lows).zip(highs) {
            let mut low = _mm256_cvtepu32_epi64(low);
            if PLANES > 4 {
                let high = _mm256_slli_epi64::<32>(_mm256_cvtepu16_epi64(high));
                low = _mm256_or_si256(low, high);
            }
            let middles = _mm256_sll_epi64(load_words(keys), shift);
            store_words(keys, _mm256_or_si256(middles, low));
        }
    }
    for (i, key) in rest.iter_mut().enumerate() {
        for bytes in planes.iter().rev() {
            *key = *key << 8 | u64::from(bytes[rest_at + i]);
        }
    }
}
