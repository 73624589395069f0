//! What was written last: operations in memory that no segment holds yet, searched exactly.
//!
//! One thread writes ([`TailWriter`]), any number read what stood there at some moment
//! ([`TailView`]), and nobody waits: records are appended and never change, and a reader looks at
//! as many of them as there were then.

mod generation;
mod hidden;
mod index;
mod pages;
mod records;
#[cfg(test)]
mod tests;
mod view;
mod writer;

pub(crate) use generation::Generation;
pub(crate) use hidden::Hidden;
pub(crate) use records::TailRecord;
pub(crate) use view::TailView;
