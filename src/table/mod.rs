//! Tables: one file with the whole set in the order of one permutation.

mod absent;
mod filter;
mod reader;
mod short;
mod stats;
mod verified;
mod verify;
mod writer;

pub(crate) use filter::PrefixFilter;
pub(crate) use reader::Table;
pub(crate) use short::Lead;
pub use stats::{TableStats, information_bound_bits};
pub(crate) use verified::Verified;
pub(crate) use verify::SalvageTable;
pub(crate) use writer::{TableOptions, TableWriter, WriteError, WriteTimes, Written};
