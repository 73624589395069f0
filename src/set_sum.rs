//! A sum over a set that does not depend on its order (section 6.8 of the specification).
//!
//! It tells whether two tables hold the same set, without bringing them into one order.

use crate::fingerprint::{Fingerprint, words};

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number
/// generators*, OOPSLA 2014).
#[inline]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// What one fingerprint adds to the sum.
#[inline]
pub(crate) fn term(fingerprint: u64) -> u128 {
    let low = mix(fingerprint.wrapping_add(GOLDEN));
    let high = mix(fingerprint.wrapping_add(GOLDEN.wrapping_mul(2)));
    u128::from(high) << 64 | u128::from(low)
}

/// What one fingerprint of any width adds: both halves go over its words, the most significant
/// first.
#[inline]
pub(crate) fn term_of<F: Fingerprint>(fingerprint: F) -> u128 {
    let (low, high) = words(fingerprint).fold((0u64, 0u64), |(low, high), word| {
        let low = mix(low.wrapping_add(word).wrapping_add(GOLDEN));
        (low, mix(high.wrapping_add(word).wrapping_add(GOLDEN.wrapping_mul(2))))
    });
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_are_the_first_two_outputs_of_splitmix64() {
        // Reference outputs for the seed 1234567, as published with the generator.
        let term = term(1_234_567);
        assert_eq!(term as u64, 6_457_827_717_110_365_317);
        assert_eq!((term >> 64) as u64, 3_203_168_211_198_807_973);
    }

    #[test]
    fn of_a_word_or_less_it_is_the_same_whatever_the_width() {
        for number in [0, 7, u32::MAX] {
            let wide = u64::from(number);
            assert_eq!((term_of(number), term_of(wide)), (term(wide), term(wide)));
        }
    }

    #[test]
    fn fingerprints_that_meet_in_one_half_differ_in_the_other() {
        // The second word makes up for the first one in the lower half.
        let second = mix(1u64.wrapping_add(GOLDEN)).wrapping_sub(mix(2u64.wrapping_add(GOLDEN)));
        let (one, other) = (term_of(1u128 << 64), term_of(2u128 << 64 | u128::from(second)));
        assert_eq!(one as u64, other as u64);
        assert_ne!(one, other);
    }
}
