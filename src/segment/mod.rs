//! Segments: one set, as the tables of one design, and the ids of its fingerprints. Written once, by
//! [`writer`], of what a [`source`] gives in order; never changed.

mod files;
mod packed_ids;
mod reader;
mod set;
pub(crate) mod source;
mod times;
pub(crate) mod writer;

pub(crate) use files::NewFiles;
pub(crate) use packed_ids::PackedIds;
pub(crate) use reader::Segment;
pub(crate) use set::{Merged, Set, SetSource, sum_of};
pub use times::PackTimes;
