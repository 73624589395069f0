//! What was written last: operations in memory that no segment holds yet, searched exactly.
//!
//! One thread writes ([`writer::TailWriter`]), any number read what stood there at some moment
//! ([`TailView`]), and nobody waits: records are appended and never change, and a reader looks at
//! as many of them as there were then.

mod index;
mod records;
#[cfg(test)]
mod tests;
mod view;
mod writer;

pub(crate) use records::TailRecord;
pub(crate) use view::{Hidden, TailView};
pub(crate) use writer::Generation;
