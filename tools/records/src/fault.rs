//! What is wrong with a fingerprint in a text, and what to do about it.

use std::fmt;

/// What is wrong with a fingerprint in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants say what their fields are")]
pub enum Fault {
    /// A byte that is no hexadecimal digit.
    HexDigit(u8),
    /// A byte that is no decimal digit.
    DecDigit(u8),
    /// A byte that is no binary digit.
    BinDigit(u8),
    /// A byte that is no digit of base64.
    Base64Digit(u8),
    /// `0x` or `-`, and no digit.
    NoDigits,
    /// So many hexadecimal digits, more than a fingerprint of so many bits has.
    HexOverflow { digits: u32, bits: u32 },
    /// A decimal value that does not fit into so many bits.
    DecOverflow { bits: u32 },
    /// Decimal digits, where fingerprints have so many bits.
    WideDec { bits: u32 },
    /// Another number of hexadecimal digits than all of so many bits, in an input that was judged
    /// to have all.
    NotFull { digits: u32, bits: u32 },
    /// All hexadecimal digits of another width, in an input of which most have all of so many bits.
    OtherWidth { digits: u32, bits: u32 },
    /// Another number of binary digits than so many bits.
    BinLength { digits: u32, bits: u32 },
    /// Base64 of another number of bytes than those of so many bits.
    Base64Length { bytes: usize, bits: u32 },
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
            Fault::BinDigit(byte) => {
                write!(f, "'{}' is no binary digit; ", byte.escape_ascii())?;
                f.write_str("separate fingerprints by white space, or give another --format")
            }
            Fault::Base64Digit(byte) => {
                write!(f, "'{}' is no digit of base64; correct it", byte.escape_ascii())
            }
            Fault::NoDigits => f.write_str("no digits follow; complete or remove it"),
            Fault::HexOverflow { digits, bits } => {
                write_overflow(f, *digits, *bits)?;
                write!(f, "; a fingerprint has at most {bits} bits")
            }
            Fault::DecOverflow { bits } => {
                let (least, most) =
                    (i64::MIN >> (64 - bits.min(&64)), u64::MAX >> (64 - bits.min(&64)));
                write!(f, "the value is over {bits} bits; give {least} to {most}")
            }
            Fault::WideDec { bits } => write!(
                f,
                "fingerprints of {bits} bits are not written in decimal digits; give hexadecimal ones"
            ),
            Fault::NotFull { digits, bits } => {
                write_after(f, *digits, *bits)?;
                f.write_str("or give --format hex if zeros in front are left out")
            }
            Fault::OtherWidth { digits, bits } => write!(
                f,
                "{digits} digits, where most fingerprints have {}; correct it, or write 0x in front if \
                 zeros are left out",
                bits / 4
            ),
            Fault::BinLength { digits, bits } => {
                write!(f, "{digits} binary digits, where a fingerprint has {bits}; correct it")
            }
            Fault::Base64Length { bytes, bits } => write!(
                f,
                "{bytes} bytes in base64, where a fingerprint of {bits} bits has {}; correct it",
                bits / 8
            ),
        }
    }
}

/// So many hexadecimal digits are more than so many bits have.
fn write_overflow(f: &mut dyn fmt::Write, digits: u32, bits: u32) -> fmt::Result {
    match digits {
        // All digits of another width are no slip.
        16 | 32 | 64 => write!(f, "{digits} hexadecimal digits, which are {} bits", 4 * digits),
        _ => write!(f, "more than {} hexadecimal digits", bits / 4),
    }
}

fn write_after(f: &mut dyn fmt::Write, digits: u32, bits: u32) -> fmt::Result {
    write!(
        f,
        "{digits} digits, after fingerprints of {} hexadecimal digits; correct it, ",
        bits / 4
    )
}

/// What a function writes.
fn written(write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> String {
    let mut text = String::new();
    // Writing to memory does not fail.
    let _ = write(&mut text);
    text
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
            Fault::HexOverflow { digits, bits } => {
                let digits = written(|f| write_overflow(f, *digits, *bits));
                format!("{digits}; correct it, or give --format dec if it is decimal")
            }
            Fault::NotFull { digits, bits } => format!(
                "{digits} hexadecimal digits, where a fingerprint has {}; give all of them, or 0x in \
                 front if zeros are left out",
                bits / 4
            ),
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
                    "'{}' is no {kind} digit; correct it, or give --format auto,{other}",
                    byte.escape_ascii()
                )
            }
            Fault::NoDigits => "no digits; fill it in".to_string(),
            Fault::BinDigit(byte) => {
                format!(
                    "'{}' is no binary digit; correct it, or give --format auto,hex",
                    byte.escape_ascii()
                )
            }
            Fault::NotFull { digits, bits } => {
                let after = written(|f| write_after(f, *digits, *bits));
                format!("{after}or give --format auto,hex if zeros in front are left out")
            }
            _ => self.to_string(),
        }
    }
}
