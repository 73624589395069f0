//! Pairs of fingerprints in files: what `join` writes, and `merge-pairs` and `dedup` read.

#[cfg(feature = "parquet")]
pub mod parquet;
mod read;
mod sort;

pub use read::{PairReader, Row};
pub use sort::Sorter;

use std::io::Write;

use crate::output::hex;

/// Bytes of a pair as raw integers.
pub const RAW_BYTES: usize = 16;

/// How pairs are written, row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PairFormat {
    /// Lines of fields.
    Tsv,
    /// Two integers of 8 bytes.
    U64le,
}

/// The distance of a pair.
pub fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// Appends a pair; in TSV without the line end, since ids may follow.
pub fn push(to: &mut Vec<u8>, format: PairFormat, a: u64, b: u64) {
    match format {
        PairFormat::Tsv => {
            to.extend_from_slice(&hex(a));
            to.push(b'\t');
            to.extend_from_slice(&hex(b));
            // Writing to memory does not fail.
            let _ = write!(to, "\t{}", distance(a, b));
        }
        PairFormat::U64le => {
            to.extend_from_slice(&a.to_le_bytes());
            to.extend_from_slice(&b.to_le_bytes());
        }
    }
}
