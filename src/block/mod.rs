//! Blocks: sorted keys in a fixed number of bytes (section 5 of the specification, section 3.2 of
//! the paper).
//!
//! [`encode`] cuts keys into blocks and writes them, [`decode`] gets keys back, [`scan`] compares a
//! query with the low bits of all keys without decoding any.

mod candidate;
mod decode;
#[cfg(target_arch = "x86_64")]
mod deposit;
mod encode;
mod join;
mod lanes;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod narrow;
mod plain;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod runs;
mod scan;
mod symbols;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub(crate) use candidate::Candidate;
pub(crate) use decode::{BlockReader, BlockView, Column, OVERHANG};
pub(crate) use encode::BlockWriter;
pub(crate) use scan::Reading;

#[cfg(test)]
mod tests;
