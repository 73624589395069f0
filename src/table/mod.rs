//! Tables: one file with the whole set in the order of one permutation.

mod reader;
mod stats;
mod verify;
mod writer;

pub(crate) use reader::{Access, Scratch, Table};
pub use stats::{TableStats, information_bound_bits};
pub(crate) use writer::{TableOptions, WriteError, Written, write_table};
