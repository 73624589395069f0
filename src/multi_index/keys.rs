//! The keys of fingerprints in a part: some of their bits, taken together.

use super::kernel::Kernel;
use super::mask::KeyMask;
use crate::fingerprint::{Fingerprint, of_file_bytes};
use crate::format::KeyBits;
use crate::simd::{Level, by_level};

/// Takes the bits of a key of fingerprints together, the first of them as the most significant.
#[derive(Clone, Debug)]
pub(crate) enum KeyOf<F> {
    /// Of so many adjacent bits.
    Range { start: u32, bits: u32 },
    /// Of the ones of a mask.
    Mask(KeyMask<F>),
}

impl<F: Fingerprint> KeyOf<F> {
    /// The keys of a part table.
    pub(crate) fn new(keys: KeyBits, key_bits: u32) -> Self {
        match keys {
            KeyBits::Range { start_bit, .. } => {
                Self::Range { start: start_bit.into(), bits: key_bits }
            }
            KeyBits::Mask(mask) => {
                let mask = mask.get(..F::BITS as usize / 8).and_then(of_file_bytes);
                Self::Mask(KeyMask::new(mask.unwrap_or_default()))
            }
        }
    }

    /// The bits, ascending; bit 0 is the most significant one.
    pub(crate) fn bits(&self) -> Vec<u32> {
        match self {
            &Self::Range { start, bits } => (start..start + bits).collect(),
            Self::Mask(mask) => (0..F::BITS).filter(|&bit| mask.mask.bits(bit, 1) == 1).collect(),
        }
    }

    /// Calls `found` with the number of each fingerprint in the list, and its key.
    #[inline]
    pub(crate) fn each(&self, level: Level, fingerprints: &[F], mut found: impl FnMut(usize, u64)) {
        match self {
            &Self::Range { start, bits } => {
                let keys = fingerprints.iter().map(|one| one.bits(start, bits));
                keys.enumerate().for_each(|(number, key)| found(number, key));
            }
            Self::Mask(mask) => by_level!(level, kernel => kernel.keys(mask, fingerprints, found)),
        }
    }

    /// The key of a fingerprint.
    #[inline]
    pub(crate) fn key(&self, level: Level, fingerprint: F) -> u64 {
        let mut found = 0;
        self.each(level, &[fingerprint], |_, key| found = key);
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bits of a mask one by one, of bytes of which the most significant comes first.
    fn one_by_one(mask: &[u8], bytes: &[u8]) -> u64 {
        let bit = |bytes: &[u8], number: usize| bytes[number / 8] >> (7 - number % 8) & 1;
        let taken = (0..8 * mask.len()).filter(|&number| bit(mask, number) == 1);
        taken.fold(0, |key, number| key << 1 | u64::from(bit(bytes, number)))
    }

    fn check<F: Fingerprint>(mask: &[u8], fingerprints: &[Vec<u8>]) {
        let of = |bytes: &[u8]| F::from_be_slice(&bytes[..F::BITS as usize / 8]).unwrap();
        let mut in_header = [0; 32];
        let bytes = F::BITS as usize / 8;
        in_header[..bytes].copy_from_slice(&mask[..bytes]);
        in_header[..bytes].reverse();
        let key_bits = mask[..bytes].iter().map(|byte| byte.count_ones()).sum();
        let keys = KeyOf::<F>::new(KeyBits::Mask(in_header), key_bits);
        let list: Vec<F> = fingerprints.iter().map(|one| of(one)).collect();
        for level in Level::all() {
            let mut found = Vec::new();
            keys.each(level, &list, |number, key| found.push((number, key)));
            let expected = fingerprints.iter().map(|one| one_by_one(&mask[..bytes], &one[..bytes]));
            assert_eq!(found, expected.enumerate().collect::<Vec<_>>(), "{level:?} {}", F::BITS);
            if let Some(one) = list.first() {
                assert_eq!(keys.key(level, *one), found[0].1);
            }
        }
    }

    proptest! {
        #[test]
        fn keys_are_the_bits_of_the_mask(
            bits in prop::collection::btree_set(0usize..256, 0..33),
            fingerprints in prop::collection::vec(prop::collection::vec(any::<u8>(), 32), 0..4),
        ) {
            let mut mask = [0; 32];
            bits.into_iter().for_each(|bit| mask[bit / 8] |= 0x80 >> (bit % 8));
            check::<u32>(&mask, &fingerprints);
            check::<u64>(&mask, &fingerprints);
            check::<u128>(&mask, &fingerprints);
            check::<[u64; 4]>(&mask, &fingerprints);
        }
    }
}
