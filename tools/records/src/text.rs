//! From bytes to fingerprints, in pieces of any length, with the place of every fault.
//!
//! The parsers keep a few words of state and no text, so an input that is no list of fingerprints
//! costs no memory.

use std::marker::PhantomData;

use fpstore::Fingerprint;

use crate::fault::Fault;
use crate::token::{Format, Token, full_digits, full_hex, signed, unsigned};

/// A place in a text, both counted from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column in bytes.
    pub column: u64,
}

/// Parses lists of fingerprints.
pub struct TextParser<F> {
    format: Format,
    line: u64,
    line_start: u64,
    offset: u64,
    token: Option<Token>,
    /// The rest of a faulty token is passed over.
    skipping: bool,
    width: PhantomData<F>,
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

impl<F: Fingerprint> TextParser<F> {
    /// A parser at the start of a text.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            line: 1,
            line_start: 0,
            offset: 0,
            token: None,
            skipping: false,
            width: PhantomData,
        }
    }

    /// Appends the fingerprints that end in `bytes` to `to`, up to a fault. The faulty token is
    /// passed over when the rest of the bytes is fed.
    pub fn feed(&mut self, bytes: &[u8], to: &mut Vec<F>) -> Result<(), Stop> {
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
    fn feed_lines(&mut self, bytes: &[u8], to: &mut Vec<F>) -> usize {
        let mut at = 0;
        loop {
            let line = match self.format {
                Format::Dec => decimal_line(&bytes[at..]),
                Format::Hex | Format::HexMostly | Format::HexFull => {
                    full_hex(&bytes[at..]).zip(line_end(&bytes[at..], full_digits::<F>()))
                }
                _ => None,
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
    pub fn finish(&mut self, to: &mut Vec<F>) -> Result<(), (Place, Fault)> {
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
        self.token.get_or_insert_with(|| Token::new(start)).push::<F>(byte, self.format)
    }

    fn place(&self, offset: u64) -> Place {
        Place { line: self.line, column: offset - self.line_start + 1 }
    }
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
fn decimal_line<F: Fingerprint>(bytes: &[u8]) -> Option<(F, usize)> {
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
    let value = if negative { signed(value.wrapping_neg() as i64) } else { unsigned(value) };
    Some((value?, length))
}
