//! Fingerprints of every width: how a command turns to that of its store.

use std::path::Path;

use fpstore::{Fingerprint, OpenOptions, Store, width_of};

use crate::failure::Failure;

/// Calls a function for fingerprints of so many bits: `for_width!(bits, run(&args))` calls `run::<F>(&args)`.
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
pub fn unknown(bits: u32) -> Failure {
    Failure::Usage(format!(
        "fingerprints of {bits} bits are not known; they have 32, 64, 128 or 256"
    ))
}

/// Opens a store of this width.
pub fn open<F: Fingerprint>(path: &Path) -> Result<Store<F>, Failure> {
    Ok(OpenOptions::new().width::<F>().open(path)?)
}

/// Commands that work with fingerprints of every width.
const WIDE: &str = "pack, plan, query, join, dedup, dump, stat, verify and backup";

/// Refuses a store for a command that works with fingerprints of 64 bits only.
pub fn check_64(command: &str, path: &Path) -> Result<(), Failure> {
    // Whoever opens it says what else is wrong.
    match width_of(path) {
        Ok(bits) if bits != u64::BITS => Err(Failure::Usage(format!(
            "{}: has fingerprints of {bits} bits, and {command} works with 64 only so far; {WIDE} work \
             with all",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Checks a distance between fingerprints of so many bits.
pub fn check_radius(command: &str, radius: Option<u32>, bits: u32) -> Result<(), Failure> {
    match radius {
        Some(radius) if radius > bits => Err(Failure::Usage(format!(
            "invalid value '{radius}' for '-k <K>': a distance is a whole number of bits, from 0 to \
             {bits}; see `fpstore {command} --help`"
        ))),
        _ => Ok(()),
    }
}
