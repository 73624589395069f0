//! Fingerprints of every width: how a command turns to that of its store.

use std::path::Path;
use std::time::Duration;

use fpstore::{Fingerprint, OpenOptions, Store};

use crate::failure::Failure;

/// The share of memory that hot indexes take at most.
const HOT_SHARE: u64 = 8;
/// Time between two looks at what others have written, while queries come through a pipe.
const LOOKS: Duration = Duration::from_millis(100);

/// Calls a function for fingerprints of so many bits: `for_width!(bits, run(&args))` calls
/// `run::<F>(&args)`.
#[macro_export]
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

/// As [`open`], for searches that may take so many bytes of memory: what they build takes an eighth
/// of it at most. Where many come one after the other, what others commit is seen after `LOOKS`.
pub fn open_within<F: Fingerprint>(path: &Path, memory: u64) -> Result<Store<F>, Failure> {
    let options = OpenOptions::new().memory(memory / HOT_SHARE).refresh_every(LOOKS);
    Ok(options.width::<F>().open(path)?)
}

/// Refuses raw integers, if an output has that name, which are no words of fingerprints of so many
/// bits.
pub fn check_raw(command: &str, output: Option<&str>, bits: u32) -> Result<(), Failure> {
    let right = if bits < u64::BITS { "u32le" } else { "u64le" };
    match output {
        Some(wrong) if wrong != right => Err(Failure::Usage(format!(
            "{command}: fingerprints of {bits} bits are no {wrong}; give --output {right}"
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

#[cfg(test)]
mod tests {
    use fpstore::{Layout, Packer};

    use super::*;

    #[test]
    fn what_searches_keep_is_within_the_memory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let number = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // A hot index of them takes 3 MB.
        let set = (0..60_000).map(number);
        Packer::new()
            .layout(Layout::new().design("quarters".parse().unwrap()))
            .pack(&path, set)
            .unwrap();
        let heap_bytes = |memory| {
            let store = open_within::<u64>(&path, memory).unwrap();
            let mut searcher = store.searcher();
            (0..100_000).for_each(|i| {
                assert!(!searcher.search(number(i % 60_000), 3).unwrap().is_empty());
            });
            store.heap_bytes()
        };
        assert!(heap_bytes(16 << 20) < 2 << 20);
        assert!(heap_bytes(1 << 30) > 3 << 19);
    }
}
