//! Values of options that several commands take.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use fpstore::{Costs, Design, Fingerprint};

use crate::failure::Failure;

/// Reads a distance, as `-k` takes it everywhere.
pub fn radius(text: &str) -> Result<u32, String> {
    let radius = text.parse().ok().filter(|radius| *radius <= 64);
    radius.ok_or_else(|| "a distance is a whole number of bits, from 0 to 64".to_string())
}

/// The same where fingerprints may have any width, which says what the most is.
pub fn any_radius(text: &str) -> Result<u32, String> {
    let rule = "a distance is a whole number of bits, from 0 to those of a fingerprint";
    text.parse().map_err(|_| rule.to_string())
}

/// Reads the number of bits of a fingerprint.
pub fn bits(text: &str) -> Result<u32, String> {
    let bits = text.parse().ok().filter(|bits| [32, 64, 128, 256].contains(bits));
    bits.ok_or_else(|| "fingerprints have 32, 64, 128 or 256 bits".to_string())
}

/// Reads `8e9`, `2^34`, `1_000_000`.
pub fn count(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    let number = match (plain.split_once('^'), plain.split_once(['e', 'E'])) {
        (Some((base, exponent)), _) => {
            let base: Option<u64> = base.parse().ok();
            base.zip(exponent.parse().ok()).and_then(|(base, exponent)| base.checked_pow(exponent))
        }
        (None, Some(_)) => {
            let number: Option<f64> = plain.parse().ok();
            let whole = |n: &f64| n.fract() == 0.0 && (0.0..9e18).contains(n);
            number.filter(whole).map(|number| number as u64)
        }
        (None, None) => plain.parse().ok(),
    };
    number
        .ok_or_else(|| "give a whole number below 2^63, such as 8e9, 2^34 or 1_000_000".to_string())
}

/// Reads the constants that `bench calibrate` wrote.
pub fn read_costs(path: &Path) -> Result<Costs, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!("{}: cannot read: {error}; check the path", path.display()))
    })?;
    text.parse().map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// `auto`, or a value.
#[derive(Clone, Debug)]
pub enum Auto<T> {
    /// Left open.
    Auto,
    /// The value.
    Given(T),
}

impl<T> Auto<T> {
    /// Whether there is a value.
    pub fn is_given(&self) -> bool {
        matches!(self, Auto::Given(_))
    }

    /// The value, if there is one.
    pub fn given(self) -> Option<T> {
        match self {
            Auto::Auto => None,
            Auto::Given(value) => Some(value),
        }
    }

    /// The options with the value set, if there is one.
    pub fn set<O>(self, options: O, set: impl FnOnce(O, T) -> O) -> O {
        match self {
            Auto::Auto => options,
            Auto::Given(value) => set(options, value),
        }
    }
}

impl<T: FromStr> FromStr for Auto<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        match text {
            "auto" => Ok(Auto::Auto),
            _ => text.parse().map(Auto::Given),
        }
    }
}

/// A design, which is made for the width of a store.
#[derive(Clone, Debug)]
pub struct DesignArg(String);

impl FromStr for DesignArg {
    type Err = fpstore::Error;

    /// Takes what is a design of some width: the width of the store may not be known yet.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Design::read(u64::BITS, text).map(|_| Self(text.to_string()))
    }
}

impl LayoutArgs {
    /// The design for fingerprints of this width, if one is given.
    pub fn design<F: Fingerprint>(&self) -> Result<Option<Design>, Failure> {
        let Auto::Given(DesignArg(text)) = &self.design else { return Ok(None) };
        // Of wider ones the store says that they have no tables.
        Ok(Some(Design::read(F::BITS.min(u64::BITS), text)?))
    }

    /// Whether tables are to be short, if there are any.
    pub fn short_tables<F: Fingerprint>(&self, parts: Option<u16>) -> Result<bool, Failure> {
        if self.short_tables && (F::BITS > u64::BITS || parts.is_some()) {
            let message = "--short-tables is for tables, and this store has parts; leave it out";
            return Err(Failure::Usage(message.to_string()));
        }
        Ok(self.short_tables)
    }
}

/// How a store is laid out.
#[derive(Clone, clap::Args)]
pub struct LayoutArgs {
    /// Which tables to write [auto: as planned for the distance]
    #[arg(long, default_value = "auto", value_name = "auto|NAME|W1,W2,...")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    pub design: Auto<DesignArg>,

    /// Bytes of a block: a power of two from 256 to 8192 [auto: as planned, 256 to 4096]
    #[arg(long, default_value = "auto", value_name = "auto|N")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    pub block_bytes: Auto<u32>,

    /// Low bits kept apart in a column: 0, 8, 16, 24, 32, 40 or 48 [auto: as many as cost little]
    #[arg(long, default_value = "auto", value_name = "auto|N")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    pub low_bits: Auto<u32>,

    /// Keep whole fingerprints in the first table alone, and in those behind it only the bits by which they are found
    /// there: `quarters` takes a quarter less space, queries beyond the distance K 2 to 3 times as long
    #[arg(long)]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    pub short_tables: bool,
}
