//! Tables: one file with the whole set in the order of one permutation.

mod reader;
mod stats;
mod verified;
mod verify;
mod writer;

pub(crate) use reader::{Access, Table};
pub use stats::{TableStats, information_bound_bits};
pub(crate) use verified::Verified;
pub(crate) use writer::{TableOptions, TableWriter, WriteError, WriteTimes, Written};
