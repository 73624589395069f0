//! Ids: one file per segment, in the order of the identity table (section 9 of the specification).
//!
//! A fingerprint is named by its *rank*, its number among those of the segment. The file knows the
//! rank of the first fingerprint of each block of the identity table, marks the first id of each
//! fingerprint where some has several, and holds the ids at a fixed width. So the ids of a
//! fingerprint are found in O(log n), however many it or another one has.

mod iter;
mod reader;
mod verify;
mod writer;

pub use iter::Ids;
pub(crate) use iter::{IdRuns, Numbering};
pub use reader::IdStats;
pub(crate) use reader::{IdColumn, IdCursor, check_kind};
pub(crate) use writer::{IdSource, IdsOptions, write_ids};
