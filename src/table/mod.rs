//! Tables: one file with the whole set in the order of one permutation.

mod absent;
mod described;
mod filter;
mod finding;
mod kept_keys;
mod reader;
mod runs;
mod salvage;
mod short;
mod starts;
mod stats;
mod verified;
mod verify;
mod writer;

pub(crate) use filter::PrefixFilter;
pub(crate) use finding::Finding;
pub(crate) use kept_keys::{KeptKeys, kept_bytes};
pub(crate) use reader::Table;
pub(crate) use salvage::SalvageTable;
pub(crate) use short::Lead;
pub(crate) use starts::{Starts, starts_bytes};
pub use stats::{TableStats, information_bound_bits};
pub(crate) use verified::Verified;
pub(crate) use writer::{TableOptions, TableWriter, WriteError, WriteTimes, Written};
