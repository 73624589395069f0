//! Sizes of memory, and how much of it there is.

use std::str::FromStr;

use fpstore::{Bytes, machine};

use crate::failure::Failure;

/// A number of bytes, as `1073741824`, `1GiB`, `1G` or `1.5g`; units are powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err("a size is a number and perhaps KiB, MiB, GiB or TiB".to_string()),
        };
        let number: f64 = number.parse().map_err(|_| format!("{number:?} is no number"))?;
        let bytes = number * f64::from(1u32 << (shift % 20)) * 2f64.powi(shift / 20 * 20);
        if bytes < u64::MAX as f64 {
            Ok(Self(bytes as u64))
        } else {
            Err("there is no such memory".to_string())
        }
    }
}

/// The least that a pack can be held to.
pub const LEAST: u64 = 16 << 20;
/// What is taken to be there where the system does not tell.
const UNKNOWN: u64 = 4 << 30;

/// Refuses less than a command takes at the least.
///
/// # Errors
///
/// [`Failure::Usage`].
pub fn check_least(what: &str, limit: u64) -> Result<(), Failure> {
    if limit >= LEAST {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "memory cannot be {}: {what} needs at least {}; give more (--memory)",
        Bytes(limit),
        Bytes(LEAST)
    )))
}

/// A quarter of the memory of the machine, or of the control group that the process is in.
pub fn default_limit() -> u64 {
    (machine::total_bytes().unwrap_or(UNKNOWN) / 4).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_units_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("123", 123),
            ("1K", 1024),
            ("64MiB", 64 << 20),
            ("1.5g", 3 << 29),
            ("4 GiB", 4 << 30),
            ("2t", 2 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "x", "1Q", "-1", "1..2", "99999999T"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
