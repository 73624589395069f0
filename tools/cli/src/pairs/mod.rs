//! Pairs of fingerprints in files: what `join` writes, and `merge-pairs` and `dedup` read.

mod read;
mod sort;
mod write;

pub use read::{PairReader, PairSource, Row};
pub use sort::Sorter;
pub use write::PairWriter;
#[cfg(feature = "parquet")]
pub use write::{columns, push_pair};

use std::io::Write;

use fpstore::Fingerprint;
use fpstore_records::write::push_words;

use crate::table::{self, Form};

/// The names of the columns of pairs.
pub const NAMES: [&str; 5] = ["a", "b", "distance", "a_ids", "b_ids"];

/// How pairs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PairFormat {
    /// Lines of fields.
    Tsv,
    /// Integers of 8 bytes: words of fingerprints.
    U64le,
    /// Integers of 4 bytes: fingerprints of 32 bits.
    U32le,
    /// Columns.
    Parquet,
}

impl table::Shape for PairFormat {
    const WORDS: &'static [&'static str] = table::ID_WORDS;
    const JSON: Option<Self> = None;
}

impl PairFormat {
    /// Its name, if it is that of raw integers.
    pub fn raw(self) -> Option<&'static str> {
        match self {
            PairFormat::U64le => Some("u64le"),
            PairFormat::U32le => Some("u32le"),
            PairFormat::Tsv | PairFormat::Parquet => None,
        }
    }
}

/// Appends a pair in TSV, without the line end, since ids may follow.
pub fn push_tsv<F: Fingerprint>(to: &mut Vec<u8>, form: Form, a: F, b: F) {
    form.push(to, a);
    to.push(b'\t');
    form.push(to, b);
    // Writing to memory does not fail.
    let _ = write!(to, "\t{}", a.distance(b));
}

/// Appends a pair as raw integers.
pub fn push_raw<F: Fingerprint>(to: &mut Vec<u8>, a: F, b: F) {
    push_words(to, a);
    push_words(to, b);
}
