//! Fingerprints of every width: how a function is called for that of a recipe.

use std::path::Path;

use fpstore::{Fingerprint, OpenOptions, Store};

use crate::error::Error;

/// Calls a function for fingerprints of so many bits: `for_width!(bits, run(&args))` calls
/// `run::<F>(&args)`.
macro_rules! for_width {
    ($bits:expr, $function:ident($($argument:expr),*)) => {
        match $bits {
            32 => $function::<u32>($($argument),*),
            64 => $function::<u64>($($argument),*),
            128 => $function::<u128>($($argument),*),
            256 => $function::<[u64; 4]>($($argument),*),
            bits => Err($crate::width::unknown(bits)),
        }
    };
}
pub(crate) use for_width;

/// No fingerprints have so many bits.
pub fn unknown(bits: u32) -> Error {
    let what = "are not known; they have 32, 64, 128 or 256";
    Error::Setting(format!("fingerprints of {bits} bits {what}"))
}

/// Opens a store of this width.
pub fn open<F: Fingerprint>(path: &Path) -> Result<Store<F>, Error> {
    Ok(OpenOptions::new().width::<F>().open(path)?)
}
