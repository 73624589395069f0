//! Values of options that several commands take.

use fpstore::{Fingerprint, Layout, Prefer};

use crate::failure::Failure;

/// The distance of stores for which nothing says another one.
pub const DEFAULT_K: u32 = 3;

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

/// How a store is laid out.
#[derive(Clone, Debug, clap::Args)]
pub struct LayoutArgs {
    /// The distance that queries will mostly ask for, and their default [default: that of the
    /// recipe, if one is known, or 3]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    pub radius: Option<u32>,

    /// What to choose the layout for
    #[arg(long, default_value = "balanced", value_name = "size|balanced|speed")]
    pub prefer: Prefer,

    /// Which index to write, as `fpstore glossary` explains designs: quarters, or 32,24:short, or
    /// parts:9 [default: chosen for the distance]
    #[arg(long, value_parser = index, value_name = "NAME|W1,W2,...[:short]|parts:N")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    pub design: Option<String>,

    /// Bytes of a block: a power of two from 256 to 8192 [default: chosen, 256 to 4096]
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    pub block_bytes: Option<u32>,
}

/// Takes what is an index of some width: that of the store may not be known yet.
fn index(text: &str) -> Result<String, String> {
    match Layout::new().index(u64::BITS, text) {
        Ok(_) => Ok(text.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

impl LayoutArgs {
    /// The layout of fingerprints of this width, for the distance `otherwise` where none is given.
    ///
    /// # Errors
    ///
    /// The index is of another width.
    pub fn layout<F: Fingerprint>(&self, otherwise: u32) -> Result<Layout, Failure> {
        let layout = Layout::new().k(self.radius.unwrap_or(otherwise)).prefer(self.prefer);
        let layout = self.block_bytes.into_iter().fold(layout, Layout::block_bytes);
        match &self.design {
            Some(text) => Ok(layout.index(F::BITS, text)?),
            None => Ok(layout),
        }
    }
}
