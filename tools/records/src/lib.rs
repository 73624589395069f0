//! Rows in, rows out: every format in which fpstore's tools take and give fingerprints, texts and
//! pairs.
//!
//! An input is judged by its first bytes (`detect`), decompressed (`stream`), and read by the
//! reader of its format, all of which put records into the same columns (`records`). Memory is a
//! buffer of 64 KiB and what a reader needs for one piece: some thousand records, a page of
//! Parquet, a message of Arrow.
//!
//! A library for the tools of this workspace; it promises nothing to others.

pub mod cell;
mod codec;
mod column;
mod detect;
mod encode;
mod error;
mod fault;
mod format;
#[cfg(feature = "arrow")]
mod guard;
#[cfg(feature = "arrow")]
mod ipc;
mod list;
mod npy;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod raw;
mod reader;
mod records;
pub mod rows;
mod source;
mod stream;
mod table;
mod table_error;
#[cfg(test)]
mod tests;
mod text;
mod token;
pub mod tsv;
mod wish;
pub mod write;

pub use codec::{Codec, skip_bom};
pub use detect::{Layout, Taken, delimiter, excerpt, foreign, is_text};
pub use encode::Encoder;
pub use error::{At, ColumnProblem, InputError, Origin, Problem, RecordProblem, WhySkipped};
pub use format::{Container, Hint};
#[cfg(feature = "parquet")]
pub use guard::guarded;
pub use options::Options;
#[cfg(feature = "parquet")]
pub use parquet::Groups;
pub use raw::RawParser;
pub use reader::{ByteOrder, RECIPE};
pub use records::{Id, Record, Records};
pub use source::{Source, is_stdin, stdin};
pub use stream::{Counter, Stream};
pub use token::{Format, full_hex, signed, unsigned};
pub use wish::{IdWish, key, number_id, uuid};
