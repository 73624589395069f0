//! Segments: one set, as the tables of one design, and the ids of its fingerprints. Written once,
//! by [`writer`], of what a [`source`] gives in order; never changed.

mod entries;
mod filter_slot;
mod memory;
mod packed_ids;
mod path;
mod reader;
mod set;
pub(crate) mod source;
mod tables;
pub(crate) mod writer;

pub(crate) use entries::PartEntries;
pub(crate) use memory::share_memory;
pub(crate) use packed_ids::PackedIds;
pub use path::AccessPath;
pub(crate) use path::{ChosenPath, MayUse};
pub(crate) use reader::{Index, Rows, Segment};
pub(crate) use set::{Merged, Set, SetSource, sum_of};
pub(crate) use tables::Tables;
pub(crate) use writer::NewFiles;
pub use writer::PackTimes;
