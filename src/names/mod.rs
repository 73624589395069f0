//! Names: one file per segment with the names of its ids, in the order of their bytes (section 10
//! of the specification).
//!
//! The number of a name is its rank, and the ids file holds these numbers. Names stand in groups
//! of 64, which are front-coded and of which the rests are Huffman-coded, and groups in pages of
//! 64. A name is found by its number, and the number of a name, by reading two lists of at most 63
//! names. A merge of segments merges their names, and learns how their numbers change.

mod code;
mod cursor;
mod list;
mod live;
mod merge;
mod naming;
mod reader;
mod renumbering;
mod sorter;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
mod verify;
mod writer;

pub(crate) use live::{LiveList, LiveNames};
pub(crate) use merge::MergedNames;
pub(crate) use naming::Naming;
pub(crate) use reader::NameColumn;
pub(crate) use renumbering::Renumbering;
pub(crate) use sorter::{NameSorter, SortedNames};
pub(crate) use writer::{NameSource, write_names};
