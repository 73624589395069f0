//! Fingerprints of every width.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

mod sealed {
    use std::sync::atomic::AtomicU64;

    use crate::record::Record;

    pub trait Sealed: Record {
        /// With an id, in the order of the fingerprint and then of the id.
        type WithId: Record;

        fn with_id(self, id: u64) -> Self::WithId;

        /// The fingerprint and the id.
        fn of_pair(pair: &Self::WithId) -> (Self, u64);

        /// Word number `number`, the most significant first; there is one such. Of 32 bits they are
        /// its lowest.
        fn word(self, number: usize) -> u64;

        /// The fingerprint of the words that `word` gives, asked for in order.
        fn of_words(word: impl FnMut(usize) -> u64) -> Self;

        /// As words that threads share.
        type Shared: AsRef<[AtomicU64]> + Default + Send + Sync + 'static;
    }
}

pub(crate) use sealed::Sealed;

/// A fingerprint: a string of bits, of which the number of differing ones is what searches ask for.
///
/// As bytes, and as hexadecimal digits, it stands with the most significant byte first, whatever
/// the width; of `[u64; 4]` the first word is the most significant one. The order is that of the
/// bytes. Bit 0 is the most significant one.
///
/// Implemented for [`u32`], [`u64`], [`u128`] and `[u64; 4]`: 32, 64, 128 and 256 bits.
pub trait Fingerprint:
    sealed::Sealed + Copy + Ord + Hash + Debug + Default + Send + Sync + 'static
{
    /// Number of bits.
    const BITS: u32;

    /// As bytes: `[u8; BITS / 8]`.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy + Default + Debug + Eq + Send + Sync + 'static;

    /// The bytes, the most significant first.
    fn to_be_bytes(self) -> Self::Bytes;

    /// Of such bytes.
    fn from_be_bytes(bytes: Self::Bytes) -> Self;

    /// Number of bits that differ.
    fn distance(self, other: Self) -> u32;

    /// The `width` bits, up to 64, from bit `start` on, as a number. They lie in the fingerprint.
    fn bits(self, start: u32, width: u32) -> u64;

    /// Of as many bytes, the most significant first; `None` of another number of bytes.
    fn from_be_slice(bytes: &[u8]) -> Option<Self> {
        let mut own = Self::Bytes::default();
        if own.as_ref().len() != bytes.len() {
            return None;
        }
        own.as_mut().copy_from_slice(bytes);
        Some(Self::from_be_bytes(own))
    }
}

/// The bytes of a fingerprint in a file: an integer as all others there, the least significant byte
/// first.
#[inline(always)]
pub(crate) fn file_bytes<F: Fingerprint>(fingerprint: F) -> F::Bytes {
    let mut bytes = fingerprint.to_be_bytes();
    bytes.as_mut().reverse();
    bytes
}

/// The fingerprint of such bytes; `None` of another number of bytes.
#[inline(always)]
pub(crate) fn of_file_bytes<F: Fingerprint>(bytes: &[u8]) -> Option<F> {
    let mut own = F::Bytes::default();
    if own.as_ref().len() != bytes.len() {
        return None;
    }
    own.as_mut().copy_from_slice(bytes);
    own.as_mut().reverse();
    Some(F::from_be_bytes(own))
}

/// The words of a fingerprint, the most significant first.
#[inline(always)]
pub(crate) fn words<F: Fingerprint>(fingerprint: F) -> impl Iterator<Item = u64> {
    (0..F::BITS).step_by(64).map(move |start| fingerprint.bits(start, F::BITS.min(64)))
}

/// The first word.
#[inline(always)]
pub(crate) fn first_word<F: Fingerprint>(fingerprint: F) -> u64 {
    fingerprint.bits(0, F::BITS.min(64))
}

/// Writes a fingerprint where others read it, who learn in another way that it is there.
#[inline(always)]
pub(crate) fn share<F: Fingerprint>(fingerprint: F, shared: &F::Shared) {
    for (shared, word) in shared.as_ref().iter().zip(words(fingerprint)) {
        shared.store(word, Ordering::Relaxed);
    }
}

/// Reads what [`share`] has written.
#[inline(always)]
pub(crate) fn shared<F: Fingerprint>(shared: &F::Shared) -> F {
    let mut bytes = F::Bytes::default();
    for (bytes, word) in bytes.as_mut().chunks_mut(8).zip(shared.as_ref()) {
        let word = word.load(Ordering::Relaxed).to_be_bytes();
        let own = bytes.len();
        bytes.copy_from_slice(&word[8 - own..]);
    }
    F::from_be_bytes(bytes)
}

/// A fingerprint of any width as people read it: hexadecimal digits, the most significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hex {
    bytes: [u8; 32],
    length: u8,
}

impl Hex {
    /// The digits of a fingerprint.
    pub fn of<F: Fingerprint>(fingerprint: F) -> Self {
        let own = fingerprint.to_be_bytes();
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(own.as_ref()).for_each(|(byte, own)| *byte = *own);
        Self { bytes, length: own.as_ref().len() as u8 }
    }
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes.iter().take(self.length.into()).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Evaluates an expression for the type of fingerprints of so many bits, a width that a manifest
/// can have.
macro_rules! by_width {
    ($bits:expr, $type:ident => $value:expr) => {
        match $bits {
            32 => {
                type $type = u32;
                $value
            }
            128 => {
                type $type = u128;
                $value
            }
            256 => {
                type $type = [u64; 4];
                $value
            }
            _ => {
                type $type = u64;
                $value
            }
        }
    };
}
pub(crate) use by_width;

/// The greatest fingerprint.
pub(crate) fn greatest<F: Fingerprint>() -> F {
    let mut bytes = F::Bytes::default();
    bytes.as_mut().fill(u8::MAX);
    F::from_be_bytes(bytes)
}

/// The fingerprint behind another one in their order; `None` behind the greatest.
pub(crate) fn successor<F: Fingerprint>(fingerprint: F) -> Option<F> {
    let mut bytes = fingerprint.to_be_bytes();
    for byte in bytes.as_mut().iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return Some(F::from_be_bytes(bytes));
        }
    }
    None
}

/// A fingerprint of up to 64 bits as the highest bits of a key of a table; of a wider one the first
/// 64.
#[inline(always)]
pub(crate) fn key_of<F: Fingerprint>(fingerprint: F) -> u64 {
    first_word(fingerprint) << (u64::BITS - F::BITS.min(64))
}

/// The fingerprint of a key: what [`key_of`] made of up to 64 bits.
#[inline(always)]
pub(crate) fn of_key<F: Fingerprint>(key: u64) -> F {
    let mut bytes = F::Bytes::default();
    for (byte, of_key) in bytes.as_mut().iter_mut().zip(key.to_be_bytes()) {
        *byte = of_key;
    }
    F::from_be_bytes(bytes)
}

/// Words of a fingerprint.
pub(crate) const fn word_count<F: Fingerprint>() -> usize {
    F::BITS.div_ceil(u64::BITS) as usize
}

/// The keys of fingerprints of up to 64 bits: these themselves where they have 64.
pub(crate) fn keys_of<F: Fingerprint>(fingerprints: &[F]) -> Cow<'_, [u64]> {
    match bytemuck::try_cast_slice(fingerprints) {
        Ok(keys) if F::BITS == u64::BITS => Cow::Borrowed(keys),
        _ => fingerprints.iter().map(|&fingerprint| key_of(fingerprint)).collect(),
    }
}

/// Bytes of a fingerprint.
pub(crate) const fn bytes_of<F: Fingerprint>() -> usize {
    F::BITS as usize / 8
}

/// The lowest `width` bits, up to 64, of a number.
#[inline(always)]
fn lowest(number: u64, width: u32) -> u64 {
    number & u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0)
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {
            type WithId = [u64; (size_of::<$type>()).div_ceil(8) + 1];

            #[inline(always)]
            fn with_id(self, id: u64) -> Self::WithId {
                let mut pair = [id; (size_of::<$type>()).div_ceil(8) + 1];
                pair.iter_mut().zip(words(self)).for_each(|(own, word)| *own = word);
                pair
            }

            #[inline(always)]
            fn of_pair(pair: &Self::WithId) -> (Self, u64) {
                let [first @ .., id] = pair;
                let fingerprint = first.iter().fold(0u128, |all, &word| all << 64 | u128::from(word));
                (fingerprint as $type, *id)
            }

            #[inline(always)]
            fn word(self, number: usize) -> u64 {
                let behind = <$type>::BITS.saturating_sub(u64::BITS * (number as u32 + 1));
                // Of a single word there is nothing to choose.
                if <$type>::BITS <= u64::BITS { self as u64 } else { (self >> behind) as u64 }
            }

            #[inline(always)]
            fn of_words(word: impl FnMut(usize) -> u64) -> Self {
                let words = (0..(<$type>::BITS as usize).div_ceil(64)).map(word);
                words.fold(0u128, |all, word| all << 64 | u128::from(word)) as $type
            }

            type Shared = [AtomicU64; (size_of::<$type>()).div_ceil(8)];
        }

        impl Fingerprint for $type {
            const BITS: u32 = <$type>::BITS;

            type Bytes = [u8; size_of::<$type>()];

            #[inline(always)]
            fn to_be_bytes(self) -> Self::Bytes {
                <$type>::to_be_bytes(self)
            }

            #[inline(always)]
            fn from_be_bytes(bytes: Self::Bytes) -> Self {
                <$type>::from_be_bytes(bytes)
            }

            #[inline(always)]
            fn distance(self, other: Self) -> u32 {
                (self ^ other).count_ones()
            }

            #[inline(always)]
            fn bits(self, start: u32, width: u32) -> u64 {
                let behind = <$type>::BITS - start - width;
                lowest(self.checked_shr(behind).unwrap_or(0) as u64, width)
            }
        }
    )*};
}

integer!(u32, u64, u128);

impl sealed::Sealed for [u64; 4] {
    type WithId = [u64; 5];

    #[inline(always)]
    fn with_id(self, id: u64) -> [u64; 5] {
        let [a, b, c, d] = self;
        [a, b, c, d, id]
    }

    #[inline(always)]
    fn of_pair(&[a, b, c, d, id]: &[u64; 5]) -> (Self, u64) {
        ([a, b, c, d], id)
    }

    #[inline(always)]
    fn word(self, number: usize) -> u64 {
        self[number % 4]
    }

    #[inline(always)]
    fn of_words(word: impl FnMut(usize) -> u64) -> Self {
        std::array::from_fn(word)
    }

    type Shared = [AtomicU64; 4];
}

impl Fingerprint for [u64; 4] {
    const BITS: u32 = 256;

    type Bytes = [u8; 32];

    #[inline(always)]
    fn to_be_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(self) {
            *bytes = word.to_be_bytes();
        }
        bytes
    }

    #[inline(always)]
    fn from_be_bytes(bytes: [u8; 32]) -> Self {
        let mut words = [0; 4];
        for (word, &bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_be_bytes(bytes);
        }
        words
    }

    #[inline(always)]
    fn distance(self, other: Self) -> u32 {
        self.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
    }

    #[inline(always)]
    fn bits(self, start: u32, width: u32) -> u64 {
        let (word, bit) = ((start / u64::BITS) as usize, start % u64::BITS);
        let at = |word: usize| u128::from(self.get(word).copied().unwrap_or(0));
        let both = at(word) << u64::BITS | at(word + 1);
        lowest(both.checked_shr(2 * u64::BITS - bit - width).unwrap_or(0) as u64, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a definition by single bits.
    fn check<F: Fingerprint>(random: impl Fn(u64) -> F) {
        let bit = |fingerprint: F, at: u32| {
            let bytes = fingerprint.to_be_bytes();
            bytes.as_ref()[at as usize / 8] >> (7 - at % 8) & 1
        };
        for seed in 0..200 {
            let (one, other) = (random(seed), random(seed + 1000));
            assert_eq!(F::from_be_slice(one.to_be_bytes().as_ref()), Some(one));
            assert_eq!(F::of_pair(&one.with_id(7)), (one, 7));
            assert_eq!(F::of_words(|number| one.word(number)), one);
            assert!(words(one).enumerate().all(|(number, word)| one.word(number) == word));
            assert_eq!(one.cmp(&other), one.with_id(9).cmp(&other.with_id(3)));
            let atomic = F::Shared::default();
            share(one, &atomic);
            assert_eq!(shared::<F>(&atomic), one);
            assert!(successor(one) > Some(one) && successor(greatest::<F>()).is_none());
            assert!(F::BITS > 64 || of_key::<F>(key_of(one)) == one);
            assert_eq!(of_file_bytes(file_bytes(one).as_ref()), Some(one));
            assert_eq!(F::from_be_slice(&one.to_be_bytes().as_ref()[1..]), None);
            let differs = |&at: &u32| bit(one, at) != bit(other, at);
            assert_eq!(one.distance(other) as usize, (0..F::BITS).filter(differs).count());
            assert_eq!(
                one.cmp(&other),
                one.to_be_bytes().as_ref().cmp(other.to_be_bytes().as_ref())
            );
            for start in 0..=F::BITS {
                for width in 0..=(F::BITS - start).min(64) {
                    let bits = (start..start + width)
                        .fold(0, |bits, at| bits << 1 | u64::from(bit(one, at)));
                    assert_eq!(one.bits(start, width), bits, "{start} {width}");
                }
            }
        }
    }

    #[test]
    fn every_width_says_the_same_as_its_bits() {
        let word = |seed: u64, at: u64| crate::set_sum::term(seed << 8 | at) as u64;
        check(|seed| word(seed, 0) as u32);
        check(|seed| word(seed, 0));
        check(|seed| u128::from(word(seed, 0)) << 64 | u128::from(word(seed, 1)));
        check(|seed| [0, 1, 2, 3].map(|at| word(seed, at)));
    }
}
