//! NEON, which every 64-bit ARM has: registers of 128 bits.
//!
//! ```text
//! byte  0 1 2 3 4 5 6 7 | 8 ...      15
//! word         0        |       1
//! ```
//!
//! Distances of eight words from one come out in a byte pair each:
//!
//! ```text
//! words        | a | b |   | c | d |   | e | f |   | g | h |     4 loads
//! bits set     8 bytes a word, by one instruction
//! pairs added  | a a a a b b b b | c c c c d d d d | ...         4 bytes a word, then 2
//! distances    | a | b | c | d | e | f | g | h |                 16 bits each
//! mask         a byte for each lane, all ones or all zeros
//! ```
//!
//! Loads take references to arrays of the size of the register: that is what makes them safe.

#![allow(unsafe_code)]

use std::arch::aarch64::*;

/// The proof that the CPU has NEON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon(());

/// One bit of each byte of a mask.
pub(crate) const LOW_BITS: u64 = 0x0101_0101_0101_0101;

impl Neon {
    /// `None` if the CPU lacks it.
    pub(super) fn new() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the array has 16 bytes, and the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_words(words: &[u64; 2]) -> uint8x16_t {
    // SAFETY: the array has 16 bytes, and the load needs no more alignment than words have.
    vreinterpretq_u8_u64(unsafe { vld1q_u64(words.as_ptr()) })
}

#[inline]
#[target_feature(enable = "neon")]
fn load_halves(halves: &[u32; 4]) -> uint8x16_t {
    // SAFETY: the array has 16 bytes, and the load needs no more alignment than its numbers have.
    vreinterpretq_u8_u32(unsafe { vld1q_u32(halves.as_ptr()) })
}

/// A word in both lanes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn words_of(word: u64) -> uint8x16_t {
    vreinterpretq_u8_u64(vdupq_n_u64(word))
}

/// A number of 32 bits in all lanes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn halves_of(half: u32) -> uint8x16_t {
    vreinterpretq_u8_u32(vdupq_n_u32(half))
}

/// In how many bits eight words differ from one, which stands in both lanes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn distances_of_words(words: &[u64; 8], word: uint8x16_t) -> uint16x8_t {
    let [a, b, c, d] = words.as_chunks::<2>().0 else { return vdupq_n_u16(u16::MAX) };
    let count = |two| vcntq_u8(veorq_u8(load_words(two), word));
    let (first, second) = (vpaddq_u8(count(a), count(b)), vpaddq_u8(count(c), count(d)));
    vpaddlq_u8(vpaddq_u8(first, second))
}

/// In how many bits of `mask` eight numbers of 32 bits differ from one; it and the mask stand in
/// all lanes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn distances_of_halves(
    halves: &[u32; 8],
    half: uint8x16_t,
    mask: uint8x16_t,
) -> uint16x8_t {
    let [a, b] = halves.as_chunks::<4>().0 else { return vdupq_n_u16(u16::MAX) };
    let count = |four| vcntq_u8(vandq_u8(veorq_u8(load_halves(four), half), mask));
    vpaddlq_u8(vpaddq_u8(count(a), count(b)))
}

/// A bit for each lane that is at most `limit`: the lowest of its byte.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn at_most(lanes: uint16x8_t, limit: uint16x8_t) -> u64 {
    let within = vmovn_u16(vcleq_u16(lanes, limit));
    vget_lane_u64::<0>(vreinterpret_u64_u8(within)) & LOW_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_counted_lane_by_lane_and_compared() {
        for seed in 0..64u64 {
            let word = |i: u64| crate::set_sum::term(seed << 8 | i) as u64;
            let words: [u64; 8] = std::array::from_fn(|i| match (i as u64 + seed) % 5 {
                0 => !word(99),
                1 => word(99),
                _ => word(i as u64),
            });
            let (one, mask) = (word(99), word(100) as u32);
            let halves = words.map(|word| word as u32);
            let limit = 30 + (seed % 4) as u16;
            let mut found = [[0u16; 8]; 2];
            // SAFETY: the CPU has NEON, without which no test runs; the arrays have 16 bytes.
            let within = unsafe {
                let of_words = distances_of_words(&words, words_of(one));
                let of_halves =
                    distances_of_halves(&halves, halves_of(one as u32), halves_of(mask));
                vst1q_u16(found[0].as_mut_ptr(), of_words);
                vst1q_u16(found[1].as_mut_ptr(), of_halves);
                at_most(of_words, vdupq_n_u16(limit))
            };
            for (lane, &word) in words.iter().enumerate() {
                let distance = (word ^ one).count_ones() as u16;
                assert_eq!(found[0][lane], distance);
                assert_eq!(found[1][lane], ((word ^ one) as u32 & mask).count_ones() as u16);
                assert_eq!(within >> (8 * lane) & 0xFF, u64::from(distance <= limit));
            }
        }
    }
}
