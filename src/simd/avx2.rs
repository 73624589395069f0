//! AVX2 and the bit instructions of CPUs that have it: registers of 256 bits.
//!
//! ```text
//! byte  0 1 2 3 4 5 6 7 | 8 ...     15 | 16 ...    23 | 24 ...    31
//! word         0        |      1       |      2       |      3
//! half               0 (128 bits)      |          1 (128 bits)
//! ```
//!
//! Byte 0 has the lowest address, and is the least significant of its word. Loads and stores take
//! references to arrays of the size of the register: that is what makes them safe, since none needs
//! an alignment. Functions that are compiled for AVX2 may call these; others must hold an [`Avx2`],
//! and say so where they enter.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::work::Work;

/// The proof that the CPU has AVX2, BMI1, BMI2, LZCNT and POPCNT: every one with AVX2 does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `None` if the CPU lacks one of them.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Self(()))
    }

    /// Does some work, compiled for these instructions.
    #[inline(always)]
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: a value of `Avx2` exists only where the CPU has them.
        unsafe { run(work) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run<W: Work>(work: W) -> W::Output {
    work.work()
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load_words(words: &[u64; 4]) -> __m256i {
    // SAFETY: the array has 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store_words(words: &mut [u64; 4], lanes: __m256i) {
    // SAFETY: the array has 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), lanes) }
}

/// Loads 8 numbers of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load_halves(halves: &[u32; 8]) -> __m256i {
    // SAFETY: the array has 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(halves.as_ptr().cast()) }
}

/// Stores 8 numbers of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store_halves(halves: &mut [u32; 8], lanes: __m256i) {
    // SAFETY: the array has 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(halves.as_mut_ptr().cast(), lanes) }
}

/// Loads half a register.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load_half(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has 16 bytes, and the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// The number of bits that are set in each byte: a look-up per half byte.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn count_ones(bytes: __m256i) -> __m256i {
    let nibble_counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low_nibbles = _mm256_set1_epi8(0x0F);
    let low = _mm256_and_si256(bytes, low_nibbles);
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_nibbles);
    _mm256_add_epi8(
        _mm256_shuffle_epi8(nibble_counts, low),
        _mm256_shuffle_epi8(nibble_counts, high),
    )
}

/// The number of bits that are set in each word.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn count_ones_of_words(words: __m256i) -> __m256i {
    _mm256_sad_epu8(count_ones(words), _mm256_setzero_si256())
}

/// A bit for each byte, without sign, that is at most that of `limit`.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn at_most(bytes: __m256i, limit: __m256i) -> u32 {
    let within = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, limit), bytes);
    _mm256_movemask_epi8(within) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_and_compared_per_byte_and_per_word() {
        if Avx2::new().is_none() {
            return;
        }
        for seed in 0..64u8 {
            let bytes: [u8; 32] = std::array::from_fn(|i| (i as u8).wrapping_mul(37) ^ (seed * 4));
            let words: [u64; 4] =
                std::array::from_fn(|i| u64::from_le_bytes(*bytes[8 * i..].first_chunk().unwrap()));
            let (mut of_bytes, mut of_words) = ([0; 4], [0; 4]);
            // SAFETY: the CPU has AVX2, as `new` has found.
            let within = unsafe {
                let counts = count_ones(load(&bytes));
                store_words(&mut of_bytes, counts);
                store_words(&mut of_words, count_ones_of_words(load_words(&words)));
                at_most(counts, _mm256_set1_epi8(3))
            };
            let of_bytes = of_bytes.map(u64::to_le_bytes);
            for (i, (byte, count)) in bytes.iter().zip(of_bytes.as_flattened()).enumerate() {
                assert_eq!(byte.count_ones(), u32::from(*count));
                assert_eq!(within >> i & 1 == 1, *count <= 3);
            }
            assert_eq!(of_words, words.map(|word| u64::from(word.count_ones())));
        }
    }
}
