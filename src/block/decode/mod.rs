//! Gets the keys of a block back from its stream and its column.
//!
//! From below: loads of bits, places in a stream, what a code means, and joining middles with their
//! low parts ([`stream`]); what several codes at once mean ([`runs`], [`narrow`]); the loops over
//! look-ups of some blocks ([`steps`]); and complete decoders made of these, of which [`choice`]
//! takes one when a table is opened.

mod choice;
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
#[cfg(target_arch = "x86_64")]
mod unpack;

pub(super) use choice::{Decoder, decoder};
pub(super) use decoder::Decode;
pub(super) use plain::raw;
pub(crate) use stream::LANES;
pub(super) use stream::{Code, Lane, Place, Streams, Symbol, load};
