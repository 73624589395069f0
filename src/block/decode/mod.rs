//! Gets the keys of a block back from its stream and its column.
//!
//! From below: loads of bits ([`bits`]), what a code means ([`symbols`]) and what several at once
//! mean ([`runs`], [`narrow`]); places in a stream ([`stream`]); the loops over look-ups of some
//! blocks ([`steps`]) and joining middles with their low parts ([`assemble`]); and complete
//! decoders made of these, of which [`choice`] takes one when a table is opened.

mod assemble;
mod bits;
mod choice;
mod code;
mod decoder;
#[cfg(target_arch = "x86_64")]
mod deposit;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod narrow;
mod plain;
#[cfg(target_arch = "x86_64")]
mod plain_avx2;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod runs;
#[cfg(target_arch = "x86_64")]
mod runs_avx2;
mod steps;
mod stream;
mod symbols;
#[cfg(target_arch = "x86_64")]
mod unpack;

pub(super) use bits::load;
pub(super) use choice::{Decoder, decoder};
pub(super) use code::Code;
pub(super) use decoder::Decode;
pub(super) use plain::raw;
pub(crate) use stream::LANES;
pub(super) use stream::{Lane, Place, Streams};
pub(super) use symbols::Symbol;
