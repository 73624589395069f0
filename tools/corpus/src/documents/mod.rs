//! Documents: texts with ids, as inputs hold them.
//!
//! An input is a file with a document in each record (JSON lines, CSV, TSV, Parquet), or a plain
//! file that is one document; a directory stands for all files below it ([`Inputs`]). A reader
//! ([`Documents`]) gives [`Piece`]s: some hundred KiB of whole records as they stand in the file.
//! What is in them is looked up by whoever has the piece, on any thread, so that reading costs one
//! thread little. A `Copier` writes some records of an input again, byte by byte, in its format and
//! compression, with further columns where these are wanted.
//!
//! Memory is that of the pieces. A document may have as many bytes as `LONGEST` of fpstore-records
//! says; one that is longer is an error.

mod annotate;
mod copy;
#[cfg(feature = "parquet")]
mod copy_rows;
mod document;
mod inputs;
#[cfg(feature = "parquet")]
mod int96;
mod options;
mod reader;
mod same;

pub(crate) use annotate::{Annotation, Appender, Further};
pub(crate) use copy::Copier;
#[cfg(feature = "parquet")]
pub(crate) use copy_rows::copy_rows;
pub use document::{Document, Piece, Wanted};
pub use inputs::{Input, Inputs};
pub use options::{DocumentOptions, Kind};
pub use reader::Documents;

#[cfg(test)]
mod tests;
