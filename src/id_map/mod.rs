//! Id maps: the strings whose numbers are the ids of a store, in a file of their own.
//!
//! Ids have 64 bits. Who has strings instead (URLs, paths, keys of a database) gives each the next
//! number and keeps it in a map, front to back in constant memory; a string is read by its number,
//! without the others. The format, and how store and map come to be together, is that of
//! `format-spec/ID-MAP.md`. Strings are not looked up by their text: that is the business of a
//! database.

mod place;
mod reader;
#[cfg(test)]
mod tests;
mod text;
mod writer;

pub use reader::{IdMap, IdMapReader};
pub use writer::IdMapWriter;
