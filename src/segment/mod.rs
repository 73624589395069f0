//! Segments: one set, as the tables of one design, and the ids of its fingerprints. Written once, by
//! [`writer`], of what a [`source`] gives in order; never changed.

mod entries;
mod files;
mod filtered;
mod kept;
mod kept_plan;
mod packed_ids;
mod reader;
mod rows;
mod runs;
mod set;
pub(crate) mod source;
mod tables;
mod times;
pub(crate) mod writer;

pub(crate) use entries::PartEntries;
pub(crate) use files::NewFiles;
pub(crate) use filtered::filter_smallest;
pub(crate) use kept::{CACHE_BYTES, keep_keys_of_smallest};
pub(crate) use kept_plan::{KeptTable, MOST_KEPT_RUNS};
pub(crate) use packed_ids::PackedIds;
pub(crate) use reader::{Index, Segment};
pub(crate) use rows::Rows;
pub(crate) use runs::{Found, RunTable};
pub(crate) use set::{Merged, Set, SetSource, sum_of};
pub(crate) use tables::Tables;
pub use times::PackTimes;
