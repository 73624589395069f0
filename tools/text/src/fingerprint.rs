//! A fingerprint of 64, 128 or 256 bits.

use std::fmt;

use crate::error::Error;

/// How wide a fingerprint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 64 bits.
    W64,
    /// 128 bits.
    W128,
    /// 256 bits.
    W256,
}

impl Width {
    /// All widths, the narrowest first.
    pub const ALL: [Width; 3] = [Width::W64, Width::W128, Width::W256];

    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Width::W64 => 64,
            Width::W128 => 128,
            Width::W256 => 256,
        }
    }

    /// The number of limbs of 64 bits.
    #[must_use]
    pub const fn limbs(self) -> usize {
        self.bits() as usize / 64
    }
}

/// A fingerprint: a number of 64, 128 or 256 bits.
///
/// Its text is the number in hexadecimal, the most significant digit first, with all leading zeros.
/// *Limb* 0 holds the 64 least significant bits, and bit `i` is the one of value 2^i. Bytes are
/// those of the number, the most significant first.
///
/// ```
/// use fpstore_text::Fingerprint;
///
/// let fingerprint: Fingerprint = "0000000000000001000000000000000f".parse()?;
/// assert_eq!(fingerprint.limbs(), [15, 1]);
/// assert_eq!(fingerprint.to_string(), "0000000000000001000000000000000f");
/// # Ok::<(), fpstore_text::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    width: Width,
    // Those past the width are zero.
    limbs: [u64; 4],
}

impl Fingerprint {
    /// A fingerprint of the width that this number of limbs has, the least significant first;
    /// `None` unless there are 1, 2 or 4.
    #[must_use]
    pub fn from_limbs(limbs: &[u64]) -> Option<Fingerprint> {
        let width = Width::ALL.into_iter().find(|width| width.limbs() == limbs.len())?;
        let mut all = [0; 4];
        all[..limbs.len()].copy_from_slice(limbs);
        Some(Fingerprint { width, limbs: all })
    }

    /// How wide it is.
    #[must_use]
    pub fn width(&self) -> Width {
        self.width
    }

    /// Its limbs, the least significant first: 1, 2 or 4.
    #[must_use]
    pub fn limbs(&self) -> &[u64] {
        &self.limbs[..self.width.limbs()]
    }

    /// A fingerprint of 64 bits as an integer.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        (self.width == Width::W64).then_some(self.limbs[0])
    }

    /// A fingerprint of 128 bits as an integer.
    #[must_use]
    pub fn as_u128(&self) -> Option<u128> {
        (self.width == Width::W128)
            .then_some(u128::from(self.limbs[1]) << 64 | u128::from(self.limbs[0]))
    }

    /// Its bytes, the most significant first: 8, 16 or 32.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.limbs().iter().rev().flat_map(|limb| limb.to_be_bytes())
    }

    /// Bit `index`, that of value 2^index; false past the width.
    #[must_use]
    pub fn bit(&self, index: u32) -> bool {
        index < self.width.bits() && self.limbs[index as usize / 64] >> (index % 64) & 1 == 1
    }

    /// In how many bits the two differ; `None` if they differ in width.
    #[must_use]
    pub fn distance(&self, other: &Fingerprint) -> Option<u32> {
        let pairs = self.limbs.iter().zip(other.limbs);
        (self.width == other.width).then(|| pairs.map(|(a, b)| (a ^ b).count_ones()).sum())
    }
}

impl From<u64> for Fingerprint {
    fn from(value: u64) -> Fingerprint {
        Fingerprint { width: Width::W64, limbs: [value, 0, 0, 0] }
    }
}

impl From<u128> for Fingerprint {
    fn from(value: u128) -> Fingerprint {
        Fingerprint { width: Width::W128, limbs: [value as u64, (value >> 64) as u64, 0, 0] }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limbs().iter().rev().try_for_each(|limb| write!(f, "{limb:016x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Fingerprint {
    type Err = Error;

    /// Reads 16, 32 or 64 hexadecimal digits.
    fn from_str(digits: &str) -> Result<Fingerprint, Error> {
        let wrong = || Error::Fingerprint { found: digits.chars().take(80).collect() };
        if !matches!(digits.len(), 16 | 32 | 64)
            || !digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        {
            return Err(wrong());
        }
        let mut limbs = [0; 4];
        let count = digits.len() / 16;
        for (index, limb) in limbs[..count].iter_mut().rev().enumerate() {
            *limb = u64::from_str_radix(&digits[16 * index..16 * (index + 1)], 16)
                .map_err(|_| wrong())?;
        }
        Fingerprint::from_limbs(&limbs[..count]).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_bytes_limbs_and_bits_are_one_number() {
        let digits = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210";
        let fingerprint: Fingerprint = digits.parse().unwrap();
        assert_eq!(fingerprint.to_string(), digits);
        assert_eq!(fingerprint.limbs()[0], 0xfedc_ba98_7654_3210);
        assert_eq!(fingerprint.bytes().next(), Some(0));
        assert_eq!(fingerprint.bytes().nth(1), Some(0x11));
        assert_eq!(fingerprint.bytes().last(), Some(0x10));
        assert!(
            fingerprint.bit(4)
                && !fingerprint.bit(0)
                && !fingerprint.bit(255)
                && !fingerprint.bit(256)
        );
    }

    #[test]
    fn other_digits_are_refused() {
        for digits in
            ["", "0", "g000000000000000", "+000000000000000", "00000000000000000", "éééééééé"]
        {
            assert!(
                matches!(digits.parse::<Fingerprint>(), Err(Error::Fingerprint { .. })),
                "{digits}"
            );
        }
    }

    #[test]
    fn widths_are_not_compared_with_each_other() {
        assert_eq!(Fingerprint::from(7u64).distance(&Fingerprint::from(7u128)), None);
        assert_eq!(Fingerprint::from(7u64).distance(&Fingerprint::from(1u64)), Some(2));
        assert_eq!(Fingerprint::from(1u128 << 100).distance(&Fingerprint::from(0u128)), Some(1));
    }
}
