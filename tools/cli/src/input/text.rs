//! From bytes to fingerprints, in pieces of any length, with the place of every fault.
//!
//! The parsers keep a few words of state and no text, so an input that is no list of fingerprints
//! costs no memory.

use std::fmt;

/// How fingerprints are written in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
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
                write!(
                    f,
                    "{digits} digits, after fingerprints of 16 hexadecimal digits; correct it, "
                )?;
                f.write_str("or give --format hex or --format dec if all of them are that")
            }
        }
    }
}

impl Fault {
    /// The message where the fingerprint is an argument of the command.
    pub fn in_argument(&self) -> String {
        match self {
            Fault::HexDigit(byte) => format!(
                "'{}' is no hexadecimal digit; correct it, or give --format dec if it is decimal",
                byte.escape_ascii()
            ),
            Fault::DecDigit(byte) => format!(
                "'{}' is no decimal digit; correct it, or leave --format dec out",
                byte.escape_ascii()
            ),
            Fault::HexOverflow => {
                "more than 16 hexadecimal digits; correct it, or give --format dec if it is decimal"
                    .to_string()
            }
            _ => self.to_string(),
        }
    }

    /// The message where the fingerprint is a value of a column.
    pub fn in_column(&self) -> String {
        match self {
            Fault::HexDigit(byte) | Fault::DecDigit(byte) => {
                let (kind, other) = match self {
                    Fault::HexDigit(_) => ("hexadecimal", "dec"),
                    _ => ("decimal", "hex"),
                };
                format!(
                    "'{}' is no {kind} digit; correct it, or give --digits {other}",
                    byte.escape_ascii()
                )
            }
            Fault::NoDigits => "no digits; fill it in".to_string(),
            Fault::NotSixteen(digits) => format!(
                "{digits} digits, after fingerprints of 16 hexadecimal digits; correct it, or give \
                 --digits hex or --digits dec if all of them are that"
            ),
            Fault::HexOverflow | Fault::DecOverflow => self.to_string(),
        }
    }
}

/// Parses lists of fingerprints.
pub struct TextParser {
    format: Format,
    line: u64,
    line_start: u64,
    offset: u64,
    token: Option<Token>,
    /// The rest of a faulty token is passed over.
    skipping: bool,
}

/// A fault, its place, and the number of bytes before it that need not be fed again.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    /// Where the fault is.
    pub place: Place,
    /// What it is.
    pub fault: Fault,
    /// The parser goes on behind so many bytes.
    pub consumed: usize,
}

/// The part of a fingerprint that was read so far.
#[derive(Default)]
struct Token {
    start: u64,
    value: u64,
    digits: u32,
    negative: bool,
    prefixed: bool,
    overflow: bool,
}

/// Parses one fingerprint, all of `text`.
pub fn parse(text: &[u8], format: Format) -> Result<u64, Fault> {
    if let (Some(value), true) = (sixteen(text), format != Format::Dec && text.len() == 16) {
        return Ok(value);
    }
    let mut token = Token::default();
    for &byte in text {
        token.push(byte, format)?;
    }
    token.value(format)
}

impl TextParser {
    /// A parser at the start of a text.
    pub fn new(format: Format) -> Self {
        Self { format, line: 1, line_start: 0, offset: 0, token: None, skipping: false }
    }

    /// Appends the fingerprints that end in `bytes` to `to`, up to a fault. The faulty token is
    /// passed over when the rest of the bytes is fed.
    pub fn feed(&mut self, bytes: &[u8], to: &mut Vec<u64>) -> Result<(), Stop> {
        let mut at = 0;
        while at < bytes.len() {
            if self.token.is_none() && !self.skipping {
                at += self.feed_lines(&bytes[at..], to);
            }
            let Some(&byte) = bytes.get(at) else { break };
            let stop = |(place, fault)| Stop { place, fault, consumed: at };
            if byte.is_ascii_whitespace() {
                self.finish(to).map_err(stop)?;
                if byte == b'\n' {
                    self.line += 1;
                    self.line_start = self.offset + 1;
                }
            } else if !self.skipping
                && let Err(fault) = self.push(byte)
            {
                self.token = None;
                self.skipping = true;
                return Err(stop((self.place(self.offset), fault)));
            }
            self.offset += 1;
            at += 1;
        }
        Ok(())
    }

    /// Appends fingerprints as long as each is a line of its own in the usual form, and gives the
    /// number of bytes.
    fn feed_lines(&mut self, bytes: &[u8], to: &mut Vec<u64>) -> usize {
        let mut at = 0;
        loop {
            let line = match self.format {
                Format::Dec => decimal_line(&bytes[at..]),
                _ => sixteen(&bytes[at..]).zip(line_end(&bytes[at..], 16)),
            };
            let Some((value, length)) = line else { break };
            to.push(value);
            at += length;
            self.line += 1;
            self.line_start = self.offset + at as u64;
        }
        self.offset += at as u64;
        at
    }

    /// Appends the fingerprint that ends here, if there is one.
    pub fn finish(&mut self, to: &mut Vec<u64>) -> Result<(), (Place, Fault)> {
        self.skipping = false;
        if let Some(token) = self.token.take() {
            let value =
                token.value(self.format).map_err(|fault| (self.place(token.start), fault))?;
            to.push(value);
        }
        Ok(())
    }

    fn push(&mut self, byte: u8) -> Result<(), Fault> {
        let start = self.offset;
        let token = self.token.get_or_insert(Token { start, ..Token::default() });
        token.push(byte, self.format)
    }

    fn place(&self, offset: u64) -> Place {
        Place { line: self.line, column: offset - self.line_start + 1 }
    }
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

/// The value of the 16 hexadecimal digits in front.
fn sixteen(bytes: &[u8]) -> Option<u64> {
    let digits: &[u8; 16] = bytes.first_chunk()?;
    let (mut value, mut all) = (0, 0);
    for &byte in digits {
        let digit = HEX[usize::from(byte)];
        all |= digit;
        value = value << 4 | u64::from(digit & 15);
    }
    (all < 16).then_some(value)
}

/// The length of a line whose text has `length` bytes.
fn line_end(bytes: &[u8], length: usize) -> Option<usize> {
    match bytes.get(length..)? {
        [b'\n', ..] => Some(length + 1),
        [b'\r', b'\n', ..] => Some(length + 2),
        _ => None,
    }
}

/// A line of up to 19 decimal digits, which cannot be too large, and its length.
fn decimal_line(bytes: &[u8]) -> Option<(u64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut value, mut at) = (0u64, start);
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10) {
        if at - start == 19 {
            return None;
        }
        value = value * 10 + u64::from(digit);
        at += 1;
    }
    if at == start || negative && value > 1 << 63 {
        return None;
    }
    let length = line_end(bytes, at)?;
    Some((if negative { value.wrapping_neg() } else { value }, length))
}

impl Token {
    fn push(&mut self, byte: u8, format: Format) -> Result<(), Fault> {
        match format {
            Format::Dec => self.push_dec(byte),
            _ => self.push_hex(byte),
        }
    }

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
