//! AVX-512 as CPUs have it since Ice Lake and Zen 4: registers of 512 bits, and masks with a bit
//! per lane.
//!
//! ```text
//! byte  0 ... 7 | 8 ... 15 | ...                                   | 56 ... 63
//! word     0    |     1    |    2    |    3    |    4    |    5    |    6    |    7
//! mask   bit 0 of the mask belongs to lane 0, whatever the size of the lanes
//! ```
//!
//! What holds for the loads of [`avx2`](super::avx2) holds here. Those of fewer lanes take a slice:
//! its length makes the mask, and lanes that are not in the mask are not touched; they are 0.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::avx2::Avx2;

/// The proof that the CPU has AVX-512 F, BW, VL, VBMI, VBMI2, BITALG and VPOPCNTDQ, and what
/// [`Avx2`] proves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    /// `None` if the CPU lacks one of them.
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("avx512vpopcntdq");
        Avx2::new().filter(|_| has).map(Self)
    }

    /// What is proven as well.
    pub(crate) fn avx2(self) -> Avx2 {
        self.0
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load_words(words: &[u64; 8]) -> __m512i {
    // SAFETY: the array has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Stores 32 numbers of 16 bits.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store_shorts(shorts: &mut [u16; 32], lanes: __m512i) {
    // SAFETY: the array has 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(shorts.as_mut_ptr().cast(), lanes) }
}

/// Stores 16 numbers of 32 bits.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store_halves(halves: &mut [u32; 16], lanes: __m512i) {
    // SAFETY: the array has 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(halves.as_mut_ptr().cast(), lanes) }
}

/// Loads up to 64 bytes, with the mask of those that there are.
#[inline]
#[target_feature(enable = "avx512bw")]
pub(crate) fn load_some(bytes: &[u8]) -> (__mmask64, __m512i) {
    let mask = u64::MAX.unbounded_shr(64 - bytes.len().min(64) as u32);
    // SAFETY: the load touches only the bytes of the mask, which are in the slice, and needs no
    // alignment.
    (mask, unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) })
}

/// Loads up to 16 numbers of 32 bits, with the mask of those that there are.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load_some_halves(halves: &[u32]) -> (__mmask16, __m512i) {
    let mask = (u32::MAX.unbounded_shr(32 - halves.len().min(16) as u32)) as u16;
    // SAFETY: the load touches only the lanes of the mask, which are in the slice, and needs no
    // alignment.
    (mask, unsafe { _mm512_maskz_loadu_epi32(mask, halves.as_ptr().cast()) })
}

/// Loads up to 8 words, with the mask of those that there are.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load_some_words(words: &[u64]) -> (__mmask8, __m512i) {
    let mask = (u32::MAX.unbounded_shr(32 - words.len().min(8) as u32)) as u8;
    // SAFETY: the load touches only the lanes of the mask, which are in the slice, and needs no
    // alignment.
    (mask, unsafe { _mm512_maskz_loadu_epi64(mask, words.as_ptr().cast()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the masked loads bring of so many lanes, and their masks.
    #[target_feature(enable = "avx512bw")]
    fn loaded(bytes: &[u8], halves: &[u32], words: &[u64]) -> ([[u64; 8]; 3], [u64; 3]) {
        let (in_bytes, a) = load_some(bytes);
        let (in_halves, b) = load_some_halves(halves);
        let (in_words, c) = load_some_words(words);
        let lanes = [a, b, c].map(|lanes| {
            let mut words = [0; 8];
            // SAFETY: the array has 64 bytes, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), lanes) };
            words
        });
        (lanes, [in_bytes, in_halves.into(), in_words.into()])
    }

    #[test]
    fn masked_loads_bring_what_the_slice_has_and_no_more() {
        if Avx512::new().is_none() {
            return;
        }
        let bytes: [u8; 80] = std::array::from_fn(|i| i as u8 + 1);
        let halves: [u32; 20] = std::array::from_fn(|i| i as u32 + 1);
        let words: [u64; 20] = std::array::from_fn(|i| i as u64 + 1);
        for count in 0..=80 {
            let (bytes, halves) = (&bytes[..count], &halves[..count.min(20)]);
            let words = &words[..count.min(20)];
            // SAFETY: the CPU has AVX-512 BW, as `new` has found.
            let (lanes, masks) = unsafe { loaded(bytes, halves, words) };
            let mask = |lanes: u32| u64::MAX.unbounded_shr(64 - lanes.min(count as u32));
            assert_eq!(masks, [mask(64), mask(16), mask(8)]);
            let found = lanes[0].map(u64::to_le_bytes);
            let expected = |i: usize| bytes.get(i).copied().unwrap_or(0);
            assert_eq!(found.as_flattened(), &std::array::from_fn::<u8, 64, _>(expected));
            let expected = |i: usize| u64::from(halves.get(i).copied().unwrap_or(0));
            let expected = |i: usize| expected(2 * i) | expected(2 * i + 1) << 32;
            assert_eq!(lanes[1], std::array::from_fn(expected));
            let expected = |i: usize| words.get(i).copied().unwrap_or(0);
            assert_eq!(lanes[2], std::array::from_fn(expected));
        }
    }
}
