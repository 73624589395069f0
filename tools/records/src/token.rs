//! Single fingerprints in digits.

use fpstore::Fingerprint;

use crate::fault::Fault;

/// How fingerprints are written in a text. Most significant digits stand first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Hexadecimal digits, up to as many as a fingerprint has, with or without `0x`.
    Hex,
    /// The same, where most of the first ones have all digits: then all digits of another width are
    /// no fingerprint without the zeros in front, unless they have `0x`.
    HexMostly,
    /// Hexadecimal because each of the first ones has all digits or `0x`: then all must have.
    HexFull,
    /// Decimal, negative ones in two's complement; for up to 64 bits.
    Dec,
    /// All binary digits.
    Bin,
    /// The bytes in base64, in either alphabet, with or without padding.
    Base64,
}

impl Format {
    /// The ways by the names that users give them.
    pub const NAMES: &[(&str, Self)] =
        &[("hex", Self::Hex), ("dec", Self::Dec), ("bin", Self::Bin), ("base64", Self::Base64)];
}

/// The fingerprint of a number; `None` if it does not fit, or fingerprints are wider than numbers.
#[inline(always)]
pub fn unsigned<F: Fingerprint>(number: u64) -> Option<F> {
    let bytes = number.to_be_bytes();
    let (above, own) = bytes.split_at(bytes.len().checked_sub((F::BITS / 8) as usize)?);
    above.iter().all(|&byte| byte == 0).then(|| F::from_be_slice(own)).flatten()
}

/// The fingerprint with the bits of a signed number of as many bits, under the same conditions.
#[inline(always)]
pub fn signed<F: Fingerprint>(number: i64) -> Option<F> {
    let unused = u64::BITS.checked_sub(F::BITS)?;
    let is_own = number << unused >> unused == number;
    is_own.then(|| unsigned((number << unused) as u64 >> unused)).flatten()
}

/// The part of a fingerprint that was read so far.
pub struct Token {
    /// Where it starts.
    pub start: u64,
    /// The value, the most significant word first; as many of the last words as a fingerprint has.
    value: [u64; 4],
    digits: u32,
    negative: bool,
    prefixed: bool,
    overflow: bool,
}

/// Parses one fingerprint, all of `text`.
pub fn parse<F: Fingerprint>(text: &[u8], format: Format) -> Result<F, Fault> {
    if format == Format::Base64 {
        return base64(text);
    }
    if text.len() == full_digits::<F>()
        && matches!(format, Format::Hex | Format::HexMostly | Format::HexFull)
        && let Some(fingerprint) = full_hex(text)
    {
        return Ok(fingerprint);
    }
    let mut token = Token::new(0);
    for &byte in text {
        token.push::<F>(byte, format)?;
    }
    token.value(format)
}

/// Hexadecimal digits of a whole fingerprint.
pub const fn full_digits<F: Fingerprint>() -> usize {
    F::BITS as usize / 4
}

/// Whether there are fingerprints of so many bits.
fn is_width(bits: u32) -> bool {
    matches!(bits, 32 | 64 | 128 | 256)
}

/// The values of hexadecimal digits; 255 for other bytes.
static HEX: [u8; 256] = {
    let mut values = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u8;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

/// The fingerprint of all of its hexadecimal digits in front.
#[inline(always)]
pub fn full_hex<F: Fingerprint>(bytes: &[u8]) -> Option<F> {
    let digits = bytes.get(..full_digits::<F>())?;
    let mut own = F::Bytes::default();
    let mut all = 0;
    for (own, digits) in own.as_mut().chunks_mut(8).zip(digits.chunks(16)) {
        let mut value = 0;
        for &byte in digits {
            let digit = HEX[usize::from(byte)];
            all |= digit;
            value = value << 4 | u64::from(digit & 15);
        }
        let skipped = 8 - own.len();
        own.copy_from_slice(&value.to_be_bytes()[skipped..]);
    }
    (all < 16).then(|| F::from_be_bytes(own))
}

impl Token {
    /// A token that starts here.
    pub fn new(start: u64) -> Self {
        let (value, digits) = ([0; 4], 0);
        Self { start, value, digits, negative: false, prefixed: false, overflow: false }
    }

    /// Appends a digit.
    pub fn push<F: Fingerprint>(&mut self, byte: u8, format: Format) -> Result<(), Fault> {
        match format {
            Format::Dec => self.push_dec(byte),
            Format::Hex | Format::HexMostly | Format::HexFull => self.push_hex::<F>(byte),
            Format::Bin => match byte {
                b'0' | b'1' => {
                    self.shift::<F>(1, byte - b'0');
                    Ok(())
                }
                _ => Err(Fault::BinDigit(byte)),
            },
            Format::Base64 => Err(Fault::Base64Digit(byte)),
        }
    }

    /// Appends a digit of so many bits.
    #[inline(always)]
    fn shift<F: Fingerprint>(&mut self, bits: u32, digit: u8) {
        self.digits = self.digits.saturating_add(1);
        let words = F::BITS.div_ceil(u64::BITS) as usize;
        let mut carry = u64::from(digit);
        for word in self.value.iter_mut().rev().take(words) {
            (*word, carry) = (*word << bits | carry, *word >> (u64::BITS - bits));
        }
    }

    fn push_hex<F: Fingerprint>(&mut self, byte: u8) -> Result<(), Fault> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'x' | b'X' if self.digits == 1 && self.value == [0; 4] && !self.prefixed => {
                self.prefixed = true;
                self.digits = 0;
                return Ok(());
            }
            _ => return Err(Fault::HexDigit(byte)),
        };
        self.shift::<F>(4, digit);
        Ok(())
    }

    fn push_dec(&mut self, byte: u8) -> Result<(), Fault> {
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                let [.., value] = &mut self.value;
                match value.checked_mul(10).and_then(|v| v.checked_add(digit)) {
                    Some(sum) => *value = sum,
                    None => self.overflow = true,
                }
                self.digits = self.digits.saturating_add(1);
                Ok(())
            }
            b'-' if self.digits == 0 && !self.negative => {
                self.negative = true;
                Ok(())
            }
            _ => Err(Fault::DecDigit(byte)),
        }
    }

    /// The fingerprint that ends here.
    pub fn value<F: Fingerprint>(&self, format: Format) -> Result<F, Fault> {
        let (digits, bits) = (self.digits, F::BITS);
        match format {
            _ if digits == 0 => Err(Fault::NoDigits),
            Format::Dec => self.decimal(),
            Format::Bin if digits != bits => Err(Fault::BinLength { digits, bits }),
            Format::Hex | Format::HexMostly | Format::HexFull if digits > bits / 4 => {
                Err(Fault::HexOverflow { digits, bits })
            }
            Format::HexMostly if !self.prefixed && digits < bits / 4 && is_width(4 * digits) => {
                Err(Fault::OtherWidth { digits, bits })
            }
            Format::HexFull if !self.prefixed && digits != bits / 4 => {
                Err(Fault::NotFull { digits, bits })
            }
            _ => {
                let mut bytes = [0; 32];
                for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.value) {
                    *bytes = word.to_be_bytes();
                }
                let own = &bytes[bytes.len() - (bits / 8) as usize..];
                F::from_be_slice(own).ok_or(Fault::HexOverflow { digits, bits })
            }
        }
    }

    fn decimal<F: Fingerprint>(&self) -> Result<F, Fault> {
        let bits = F::BITS;
        let overflow =
            || if bits > u64::BITS { Fault::WideDec { bits } } else { Fault::DecOverflow { bits } };
        let [.., value] = self.value;
        let fingerprint = match (self.overflow, self.negative) {
            (true, _) => None,
            (false, true) if value > 1 << 63 => None,
            (false, true) => signed(value.wrapping_neg() as i64),
            (false, false) => unsigned(value),
        };
        fingerprint.ok_or_else(overflow)
    }
}

/// The fingerprint of its bytes in base64.
fn base64<F: Fingerprint>(text: &[u8]) -> Result<F, Fault> {
    let bits = F::BITS;
    let digits = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let bytes = digits.len() * 6 / 8;
    let mut own = F::Bytes::default();
    let (mut word, mut held, mut to) = (0u32, 0, own.as_mut().iter_mut());
    for &byte in digits {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return Err(Fault::Base64Digit(byte)),
        };
        // Up to 7 bits are held from before.
        word = (word << 6 | u32::from(digit)) & 0x1FFF;
        held += 6;
        if held >= 8 {
            held -= 8;
            let Some(to) = to.next() else { break };
            *to = (word >> held) as u8;
        }
    }
    if bytes * 8 != bits as usize || digits.len() != (bytes * 8).div_ceil(6) {
        return Err(Fault::Base64Length { bytes, bits });
    }
    Ok(F::from_be_bytes(own))
}

/// Whether a text is written as all bytes of a fingerprint in base64 with its padding, which
/// nothing else has.
pub fn is_padded_base64(text: &[u8], bits: u32) -> bool {
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let digits = text.iter().take_while(|byte| digit(byte)).count();
    let bytes = bits as usize / 8;
    text.len() == bytes.div_ceil(3) * 4
        && digits == (bytes * 8).div_ceil(6)
        && text[digits..].iter().all(|&byte| byte == b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_gives_the_bytes_in_order() {
        // As `printf '...' | xxd -r -p | base64` writes them.
        assert_eq!(parse::<u32>(b"3q2+7w==", Format::Base64), Ok(0xdead_beef));
        assert_eq!(parse::<u32>(b"3q2-7w", Format::Base64), Ok(0xdead_beef));
        assert_eq!(parse::<u64>(b"jzrEHgm30mU=", Format::Base64), Ok(0x8f3a_c41e_09b7_d265));
        let word = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f_u128;
        assert_eq!(parse::<u128>(b"AAECAwQFBgcICQoLDA0ODw==", Format::Base64), Ok(word));
        let ones = b"//////////////////////////////////////////8=";
        assert_eq!(parse::<[u64; 4]>(ones, Format::Base64), Ok([u64::MAX; 4]));
        assert!(is_padded_base64(ones, 256) && !is_padded_base64(ones, 128));
        assert!(is_padded_base64(b"3q2+7w==", 32) && !is_padded_base64(b"deadbeef", 32));
        for (text, fault) in [
            (&b"AAECAwQF"[..], Fault::Base64Length { bytes: 6, bits: 64 }),
            (b"AAECAwQFBgcICQ==", Fault::Base64Length { bytes: 10, bits: 64 }),
            (b"", Fault::Base64Length { bytes: 0, bits: 64 }),
            (b"AAEC*wQFBgc=", Fault::Base64Digit(b'*')),
        ] {
            assert_eq!(parse::<u64>(text, Format::Base64), Err(fault));
        }
    }

    #[test]
    fn numbers_fit_their_width_or_are_none() {
        assert_eq!(
            (unsigned::<u32>(u32::MAX.into()), unsigned::<u32>(1 << 32)),
            (Some(u32::MAX), None)
        );
        assert_eq!(
            (signed::<u32>(-1), signed::<u32>(i64::from(i32::MIN))),
            (Some(u32::MAX), Some(1 << 31))
        );
        assert_eq!((signed::<u32>(1 << 31), signed::<u32>(-1 << 32)), (None, None));
        assert_eq!((unsigned(u64::MAX), signed(-1)), (Some(u64::MAX), Some(u64::MAX)));
        assert_eq!((unsigned::<u128>(1), signed::<[u64; 4]>(1)), (None, None));
    }

    #[test]
    fn digits_are_those_of_all_words() {
        let words = [1, 2, 3, u64::MAX];
        let text: String = words.iter().map(|word| format!("{word:016x}")).collect();
        assert_eq!(parse(text.as_bytes(), Format::HexFull), Ok(words));
        assert_eq!(parse(format!("0x{text}").as_bytes(), Format::Hex), Ok(words));
        let bits: String = words.iter().map(|word| format!("{word:064b}")).collect();
        assert_eq!(parse(bits.as_bytes(), Format::Bin), Ok(words));
        assert_eq!(parse(b"1f", Format::Hex), Ok([0, 0, 0, 31]));
        assert_eq!(parse(b"1f", Format::Hex), Ok(31u128));
        let fault = Fault::NotFull { digits: 2, bits: 128 };
        assert_eq!(parse::<u128>(b"1f", Format::HexFull), Err(fault));
        assert_eq!(
            parse::<u32>(b"100000000", Format::Hex),
            Err(Fault::HexOverflow { digits: 9, bits: 32 })
        );
        assert_eq!(parse::<u128>(b"5", Format::Dec), Err(Fault::WideDec { bits: 128 }));
        assert_eq!(parse::<u64>(b"01", Format::Bin), Err(Fault::BinLength { digits: 2, bits: 64 }));
    }
}
