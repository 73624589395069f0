//! Tables: one file with the whole set in the order of one permutation.

mod described;
mod reader;
mod salvage;
mod stats;
mod verified;
mod verify;
mod writer;

pub(crate) use reader::Table;
pub(crate) use salvage::SalvageTable;
pub use stats::{TableStats, information_bound_bits};
pub(crate) use verified::Verified;
pub(crate) use writer::{TableOptions, TableWriter, WriteError, WriteTimes, Written};
