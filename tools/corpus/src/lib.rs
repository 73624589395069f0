//! Cleans a corpus of documents: removes exact and near duplicates by a recipe of `fpstore-text`,
//! and says of each document that is removed which one is kept instead, and why.
//!
//! [`Dedup`] says how. Documents come from files ([`Dedup::files`]: JSON lines, CSV, TSV, Parquet
//! and plain text, compressed or not), and what is kept is written in their formats; or from any
//! iterator ([`Dedup::session`]), and [`Decided`] answers. The command `fpstore corpus dedup` and
//! the package for Python are thin layers over this one, so that all three decide alike.
//!
//! # Stages
//!
//! 1. Documents are read once and fingerprinted. A note of some 100 bytes of each goes to files of
//!    the work, never its text. So a call that is killed or stopped ([`Monitor::cancel`]) is gone
//!    on with by the next one.
//! 2. It is decided which are kept. Of documents with the same prepared text the best one stands
//!    for the others; what is near a document of an earlier corpus ([`Dedup::against`]) goes; the
//!    rest is clustered ([`Shape`]), and [`Keep`] says which document of a cluster is the best.
//! 3. Files are read again, and what is kept of them is written.
//!
//! Notes stay with the results: [`Stored`] makes a page of them that shows people what was removed,
//! and [`Dedup::again`] decides again.
//!
//! # Memory and complexity
//!
//! [`Dedup::memory`] holds for all of it: 64 bytes for each document are the least. Time is that of
//! fingerprinting, and for Hamming methods of one join of all fingerprints; for the others of
//! looking up each of their keys. A corpus with documents that are all near each other has pairs as
//! many as the square of these; a star asks for those of the kept ones alone. One call takes up to
//! 4,294,967,294 documents.
//!
//! # What it does not do
//!
//! It compares documents as a whole, not their parts, and it changes no text.

mod against;
mod choice;
mod cluster;
mod column;
mod decide;
mod decimal;
mod dedup;
mod documents;
mod error;
mod fates;
mod ledger;
mod monitor;
mod near;
mod page;
mod per_thread;
mod read;
mod recipe;
mod report;
mod rounds;
mod session;
mod settings;
mod stored;
mod table;
mod threads;
mod verify;
mod width;
mod work;
mod write;

pub use choice::{Keep, Shape, TableShape, Verify, Written};
pub use dedup::Dedup;
pub use documents::{Document, DocumentOptions, Documents, Input, Inputs, Kind, Piece, Wanted};
pub use error::Error;
pub use fates::{Kept, Verdict, Why};
pub use monitor::{Event, Monitor};
pub use report::{Report, Totals};
pub use session::{Decided, Session};
pub use settings::Settings;
pub use stored::Stored;
