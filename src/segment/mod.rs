//! Segments: one set, as the tables of one design, and the ids of its fingerprints. Written once,
//! by [`writer`], of what a [`source`] gives in order; never changed.

mod entries;
mod files;
mod filter_slot;
mod filtered;
mod memory;
mod packed_ids;
mod path;
mod reader;
mod rows;
mod set;
pub(crate) mod source;
mod tables;
mod times;
pub(crate) mod writer;

pub(crate) use entries::PartEntries;
pub(crate) use files::NewFiles;
pub(crate) use memory::share_memory;
pub(crate) use packed_ids::PackedIds;
pub use path::AccessPath;
pub(crate) use path::{ChosenPath, MayUse};
pub(crate) use reader::{Index, Segment};
pub(crate) use rows::Rows;
pub(crate) use set::{Merged, Set, SetSource, sum_of};
pub(crate) use tables::Tables;
pub use times::PackTimes;
