//! Sets of bits of a fingerprint, and digits: a few bits from anywhere in it, as a number.

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

/// Some bits of a fingerprint, moved together.
#[derive(Clone, Debug)]
pub(super) struct Digit<F> {
    runs: Vec<Run>,
    mask: Mask<F>,
}

/// Bits of a word of the fingerprint that are moved equally far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    word: usize,
    /// How far the word is rotated to the right, and where the bits are then.
    rotation: u32,
    mask: u64,
}

impl Run {
    /// Its bits in a fingerprint, at their places in the digit.
    #[inline(always)]
    pub(super) fn get<F: Fingerprint>(self, fingerprint: F) -> usize {
        (fingerprint.word(self.word).rotate_right(self.rotation) & self.mask) as usize
    }
}

impl<F: Fingerprint> Digit<F> {
    /// The most significant `bits` of those in `mask`, or all.
    pub(super) fn of(mask: Mask<F>, bits: u32) -> Self {
        let mask = mask.first(bits);
        let mut runs: Vec<Run> = Vec::new();
        let mut place = mask.count();
        for (word, mut rest) in mask.words() {
            while let Some(from) = rest.checked_ilog2() {
                rest &= !(1 << from);
                place -= 1;
                let rotation = (from + 64 - place) % 64;
                let same = |run: &&mut Run| (run.word, run.rotation) == (word, rotation);
                match runs.last_mut().filter(same) {
                    Some(run) => run.mask |= 1 << place,
                    None => runs.push(Run { word, rotation, mask: 1 << place }),
                }
            }
        }
        Self { runs, mask }
    }

    /// Number of bits.
    pub(super) fn bits(&self) -> u32 {
        self.mask.count()
    }

    /// Its bits in a fingerprint.
    pub(super) fn mask(&self) -> Mask<F> {
        self.mask
    }

    /// The digit of a fingerprint.
    #[inline(always)]
    pub(super) fn get(&self, fingerprint: F) -> usize {
        self.runs.iter().fold(0, |value, run| value | run.get(fingerprint))
    }

    /// Its only run, if there is just one.
    pub(super) fn only_run(&self) -> Option<Run> {
        match self.runs[..] {
            [run] => Some(run),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::set_sum;

    /// Compares with a definition by single bits.
    fn check<F: Fingerprint>(seed: u64, sparse: bool, bits: u32) {
        let random = |at: u64| F::of_words(|n| set_sum::term(seed ^ at << 8 ^ n as u64) as u64);
        let (zero, one, fp) = (F::default(), random(1), random(3));
        let mask = Mask::difference(one, zero) & Mask::difference(random(2), zero);
        let mask = if sparse { mask } else { Mask::difference(one, zero) };
        let has = |of: F, bit: &u32| of.bits(*bit, 1) == 1;
        let in_mask = |bit: &u32| !(mask & Mask::difference(bit_of(*bit), zero)).is_empty();
        let chosen: Vec<u32> = (0..F::BITS).filter(in_mask).take(bits as usize).collect();
        let expected = chosen.iter().fold(0, |digit, bit| digit << 1 | usize::from(has(fp, bit)));
        let digit = Digit::of(mask, bits);
        assert_eq!(digit.get(fp), expected);
        assert_eq!(digit.bits() as usize, chosen.len());
        let of_bit = |bit: &u32| Mask::difference(bit_of::<F>(*bit), zero);
        let taken = chosen.iter().fold(Mask::default(), |taken, bit| taken | of_bit(bit));
        assert_eq!(digit.mask(), taken);
        assert_eq!(mask.first(bits), taken);
        if let Some(run) = digit.only_run() {
            assert_eq!(run.get(fp), digit.get(fp));
        }
    }

    /// A fingerprint with nothing but this bit.
    fn bit_of<F: Fingerprint>(bit: u32) -> F {
        let mut bytes = F::Bytes::default();
        bytes.as_mut()[bit as usize / 8] = 0x80 >> (bit % 8);
        F::from_be_bytes(bytes)
    }

    proptest! {
        #[test]
        fn a_digit_has_the_first_bits_of_a_mask_in_order(
            seed in any::<u64>(), sparse in any::<bool>(), bits in 0u32..=22,
        ) {
            check::<u32>(seed, sparse, bits);
            check::<u64>(seed, sparse, bits);
            check::<u128>(seed, sparse, bits);
            check::<[u64; 4]>(seed, sparse, bits);
        }
    }
}
