//! Sets of bits of a fingerprint.

use std::ops::{BitAnd, BitOr, Not};

use crate::cover::Difference;
use crate::fingerprint::{Fingerprint, greatest, word_count};

/// Some bits of a fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask<F>(F);

impl<F: Fingerprint> Mask<F> {
    /// All bits.
    pub(super) fn all() -> Self {
        Self(greatest())
    }

    /// The ones of a fingerprint.
    pub(super) fn of(bits: F) -> Self {
        Self(bits)
    }

    /// Those in which two fingerprints differ.
    #[inline(always)]
    pub(super) fn difference(one: F, other: F) -> Self {
        Self(F::of_words(|number| one.word(number) ^ other.word(number)))
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn count(self) -> u32 {
        self.0.distance(F::default())
    }

    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.0 == F::default()
    }

    /// The first `bits` of them, from the most significant on, or all.
    pub(super) fn first(self, bits: u32) -> Self {
        let mut left = bits;
        Self(F::of_words(|number| {
            let word = self.0.word(number);
            let mut rest = word;
            while let (Some(first), 1..) = (rest.checked_ilog2(), left) {
                rest &= !(1 << first);
                left -= 1;
            }
            word & !rest
        }))
    }

    /// The words, and their numbers.
    pub(super) fn words(self) -> impl Iterator<Item = (usize, u64)> {
        (0..word_count::<F>()).map(move |number| (number, self.0.word(number)))
    }
}

impl<F: Fingerprint> Difference<Self> for Mask<F> {
    #[inline(always)]
    fn is_within(self, bits: Self, flips: u32) -> bool {
        (self & bits).count() <= flips
    }
}

impl<F: Fingerprint> BitAnd for Mask<F> {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(F::of_words(|number| self.0.word(number) & other.0.word(number)))
    }
}

impl<F: Fingerprint> BitOr for Mask<F> {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(F::of_words(|number| self.0.word(number) | other.0.word(number)))
    }
}

impl<F: Fingerprint> Not for Mask<F> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(F::of_words(|number| !self.0.word(number)))
    }
}
