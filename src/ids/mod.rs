//! Ids: one file per segment, in the order of the identity table (section 9 of the specification).
//!
//! A fingerprint is named by its *rank*, its number among those of the segment. The file knows the
//! rank of the first fingerprint of each block of the identity table, marks the first id of each
//! fingerprint where some has several, and holds the ids at a fixed width. So the ids of a
//! fingerprint are found in O(log n), however many it or another one has.

mod cursor;
mod iter;
mod kind;
mod reader;
mod stats;
mod verify;
mod writer;

pub(crate) use cursor::IdCursor;
pub use iter::Ids;
pub(crate) use iter::{IdRuns, Numbering};
pub(crate) use kind::check_kind;
pub(crate) use reader::IdColumn;
pub use stats::IdStats;
pub(crate) use writer::{IdSource, IdsOptions, write_ids};
