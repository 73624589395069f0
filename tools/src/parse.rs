//! From bytes to fingerprints, in pieces of any length, with the place of every fault.
//!
//! The parsers keep a few words of state and no text, so an input that is no list of fingerprints
//! costs no memory.

use std::fmt;

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Raw little-endian integers of 8 bytes.
    U64le,
    /// Up to 16 hexadecimal digits each, with or without `0x`.
    Hex,
    /// Hexadecimal because each of the first ones has 16 digits or `0x`: then all must have.
    Hex16,
    /// Decimal, negative ones in two's complement.
    Dec,
}

/// A place in a text, both counted from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column in bytes.
    pub column: u64,
}

/// What is wrong with a fingerprint in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A byte that is no hexadecimal digit.
    HexDigit(u8),
    /// A byte that is no decimal digit.
    DecDigit(u8),
    /// `0x` or `-`, and no digit.
    NoDigits,
    /// More hexadecimal digits than 16.
    HexOverflow,
    /// A decimal value that does not fit.
    DecOverflow,
    /// Another number of digits than 16, in an input that was judged to have 16 each.
    NotSixteen(u32),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::HexDigit(byte) => {
                write!(f, "'{}' is no hexadecimal digit; ", byte.escape_ascii())?;
                f.write_str("separate fingerprints by white space, or give another --format")
            }
            Fault::DecDigit(byte) => {
                write!(f, "'{}' is no decimal digit; ", byte.escape_ascii())?;
                f.write_str("separate fingerprints by white space, or give another --format")
            }
            Fault::NoDigits => f.write_str("no digits follow; complete or remove it"),
            Fault::HexOverflow => {
                f.write_str("more than 16 hexadecimal digits; a fingerprint has at most 64 bits")
            }
            Fault::DecOverflow => f.write_str(
                "the value is over 64 bits; give -9223372036854775808 to 18446744073709551615",
            ),
            Fault::NotSixteen(digits) => {
                write!(f, "{digits} digits, after fingerprints of 16 hexadecimal digits; ")?;
                f.write_str("give --format hex or --format dec")
            }
        }
    }
}

/// Parses fingerprints as text.
pub struct TextParser {
    format: Format,
    line: u64,
    line_start: u64,
    offset: u64,
    token: Option<Token>,
}

/// The part of a fingerprint that was read so far.
struct Token {
    start: u64,
    value: u64,
    digits: u32,
    negative: bool,
    prefixed: bool,
    overflow: bool,
}

impl TextParser {
    /// A parser at the start of a text in a `format` other than `U64le`.
    pub fn new(format: Format) -> Self {
        Self { format, line: 1, line_start: 0, offset: 0, token: None }
    }

    /// Appends the fingerprints that end in `bytes` to `to`, up to a fault.
    pub fn feed(&mut self, bytes: &[u8], to: &mut Vec<u64>) -> Result<(), (Place, Fault)> {
        for &byte in bytes {
            if byte.is_ascii_whitespace() {
                self.finish(to)?;
                if byte == b'\n' {
                    self.line += 1;
                    self.line_start = self.offset + 1;
                }
            } else if let Err(fault) = self.push(byte) {
                return Err((self.place(self.offset), fault));
            }
            self.offset += 1;
        }
        Ok(())
    }

    /// Appends the fingerprint that ends here, if there is one.
    pub fn finish(&mut self, to: &mut Vec<u64>) -> Result<(), (Place, Fault)> {
        if let Some(token) = self.token.take() {
            let value =
                token.value(self.format).map_err(|fault| (self.place(token.start), fault))?;
            to.push(value);
        }
        Ok(())
    }

    fn push(&mut self, byte: u8) -> Result<(), Fault> {
        let start = self.offset;
        let token = self.token.get_or_insert(Token {
            start,
            value: 0,
            digits: 0,
            negative: false,
            prefixed: false,
            overflow: false,
        });
        match self.format {
            Format::Dec => token.push_dec(byte),
            _ => token.push_hex(byte),
        }
    }

    fn place(&self, offset: u64) -> Place {
        Place { line: self.line, column: offset - self.line_start + 1 }
    }
}

impl Token {
    fn push_hex(&mut self, byte: u8) -> Result<(), Fault> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'x' | b'X' if self.digits == 1 && self.value == 0 && !self.prefixed => {
                self.prefixed = true;
                self.digits = 0;
                return Ok(());
            }
            _ => return Err(Fault::HexDigit(byte)),
        };
        self.overflow |= self.digits == 16;
        self.digits = self.digits.saturating_add(1);
        self.value = self.value << 4 | u64::from(digit);
        Ok(())
    }

    fn push_dec(&mut self, byte: u8) -> Result<(), Fault> {
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                match self.value.checked_mul(10).and_then(|v| v.checked_add(digit)) {
                    Some(value) => self.value = value,
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

    fn value(&self, format: Format) -> Result<u64, Fault> {
        match format {
            _ if self.digits == 0 => Err(Fault::NoDigits),
            Format::Dec if self.overflow => Err(Fault::DecOverflow),
            Format::Dec if self.negative && self.value > 1 << 63 => Err(Fault::DecOverflow),
            Format::Dec if self.negative => Ok(self.value.wrapping_neg()),
            Format::Dec => Ok(self.value),
            _ if self.overflow => Err(Fault::HexOverflow),
            Format::Hex16 if !self.prefixed && self.digits != 16 => {
                Err(Fault::NotSixteen(self.digits))
            }
            _ => Ok(self.value),
        }
    }
}

/// Parses raw little-endian integers.
#[derive(Default)]
pub struct RawParser {
    cut: [u8; 8],
    cut_bytes: usize,
    offset: u64,
}

impl RawParser {
    /// Appends the fingerprints that end in `bytes` to `to`.
    pub fn feed(&mut self, mut bytes: &[u8], to: &mut Vec<u64>) {
        self.offset += bytes.len() as u64;
        if self.cut_bytes > 0 {
            let taken = bytes.len().min(8 - self.cut_bytes);
            self.cut[self.cut_bytes..][..taken].copy_from_slice(&bytes[..taken]);
            self.cut_bytes += taken;
            bytes = &bytes[taken..];
            if self.cut_bytes < 8 {
                return;
            }
            to.push(u64::from_le_bytes(self.cut));
        }
        let (whole, rest) = bytes.as_chunks::<8>();
        to.extend(whole.iter().map(|&bytes| u64::from_le_bytes(bytes)));
        self.cut[..rest.len()].copy_from_slice(rest);
        self.cut_bytes = rest.len();
    }

    /// The bytes that were read, where they end inside a fingerprint.
    pub fn cut(&self) -> Option<u64> {
        (self.cut_bytes > 0).then_some(self.offset)
    }
}
