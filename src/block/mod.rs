//! Blocks: sorted keys in a fixed number of bytes (section 6.4 of the specification, section 3.2 of
//! the paper).
//!
//! [`encode`] cuts keys into blocks and writes them, [`decode`] gets keys back, [`scan`] compares a
//! query with the low bits of all keys without decoding any.

mod decode;
mod encode;
mod reader;
mod scan;
mod view;
mod walk;

pub(crate) use encode::BlockWriter;
pub(crate) use reader::BlockReader;
pub(crate) use scan::{
    KeyRow, Reading, Sieve, decodes_from, runs_within, share_within, sift, within,
};
pub(crate) use view::{BlockView, Candidate, OVERHANG, Survivor};

#[cfg(test)]
mod tests;
