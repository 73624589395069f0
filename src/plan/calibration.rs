//! What the steps of a search cost on a machine.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Declares the constants, their place in a file and what they mean.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $shipped:literal, $text:literal;)*) => {
        /// The constants of a machine, from which latencies are predicted. Times are in
        /// nanoseconds.
        ///
        /// As text it is a line `name = number` for each constant; `#` starts a comment.
        ///
        /// # Examples
        ///
        /// ```
        /// use fpstore::Calibration;
        ///
        /// let shipped = Calibration::default();
        /// let read: Calibration = shipped.to_string().parse()?;
        /// assert_eq!(read, shipped);
        /// # Ok::<(), fpstore::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct Calibration {
            $($(#[$doc])* pub $name: f64,)*
        }

        impl Default for Calibration {
            /// The shipped constants: those of the machine of the project's measurements.
            fn default() -> Self {
                Self { $($name: $shipped,)* }
            }
        }

        impl Calibration {
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            fn constant(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for Calibration {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                writeln!(f, "# What the steps of a search cost on a machine, in nanoseconds.")?;
                writeln!(f, "# Read by `fpstore plan --calibration`.")?;
                $(writeln!(f, "{} = {} # {}", stringify!($name), self.$name, $text)?;)*
                Ok(())
            }
        }
    };
}

constants! {
    /// A search, before it looks at any table.
    query_ns = 13.0, "a search, before any table";
    /// A table that is descended, and the way to one block.
    table_ns = 74.0, "a table that is descended, and the way to one block";
    /// What comes on top where the router is not in the cache.
    table_dram_ns = 200.0, "on top, from memory";
    /// The way of a descent to each further block.
    path_ns = 51.0, "the way of a descent to each further block";
    /// A block that is scanned, whatever its size, from the cache.
    block_ns = 6.6, "a scanned block, from the cache";
    /// What comes on top where it is not in the cache.
    block_dram_ns = 9.7, "on top, from memory";
    /// A byte of a column that is scanned, from the cache.
    column_byte_ns = 0.027, "a byte of a column, from the cache";
    /// What comes on top where it is not in the cache.
    column_byte_dram_ns = 0.11, "on top, from memory";
    /// A block that is decoded, before its first key.
    decode_block_ns = 76.0, "a decoded block, before its first key";
    /// A key that is decoded.
    decode_key_ns = 3.1, "a decoded key";
    /// A byte of a block whose checksum is verified, at its first touch.
    crc_byte_ns = 0.041, "a byte that is checked at its first touch";
    /// A read of a block from the disk, before its first byte.
    cold_read_ns = 52_000.0, "a read from the disk, before its first byte";
    /// A byte that is read from the disk.
    cold_byte_ns = 0.8, "a byte from the disk";
    /// Bytes of the caches that one search finds again in the next. Not measured.
    cache_bytes = 4_194_304.0, "bytes of cache that a search has for itself, not measured";
}

impl FromStr for Calibration {
    type Err = Error;

    /// Reads the lines that [`fmt::Display`] writes. A constant that is not there keeps its
    /// shipped value.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for a line that is no `name = number` with a known name and a
    /// finite number of 0 or more.
    fn from_str(text: &str) -> Result<Self> {
        let mut calibration = Self::default();
        for line in text.lines() {
            let plain = line.split('#').next().unwrap_or_default().trim();
            if plain.is_empty() {
                continue;
            }
            let set = plain.split_once('=').and_then(|(name, number)| {
                let number: f64 = number.trim().parse().ok()?;
                let constant = calibration.constant(name.trim())?;
                (number.is_finite() && number >= 0.0).then(|| *constant = number)
            });
            if set.is_none() {
                return Err(Error::InvalidOption {
                    option: "calibration",
                    value: plain.to_string(),
                    expected: format!(
                        "each line is NAME = NUMBER, the number 0 or more, the name one of {}",
                        Self::NAMES.join(", ")
                    ),
                });
            }
        }
        Ok(calibration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_changes_its_constant_and_no_other() {
        let read: Calibration = "# mine\n\n cold_read_ns = 7e6 # a disk\n".parse().unwrap();
        assert_eq!(read, Calibration { cold_read_ns: 7e6, ..Calibration::default() });
    }

    #[test]
    fn a_line_that_is_no_constant_is_named() {
        for line in ["path_ns", "path_ns = x", "path_ns = -1", "path_ns = inf", "speed = 1"] {
            let error = line.parse::<Calibration>().unwrap_err().to_string();
            assert!(error.contains(line) && error.contains("NAME = NUMBER"), "{error}");
        }
    }
}
