//! What a decoder does.

use std::fmt;

use super::stream::{LANES, Lane, Place, Streams};

/// A complete decoder for the blocks of one table: a value, which is chosen when the table is
/// opened.
///
/// All of them take the streams of a complete code, and give the same keys.
pub(in crate::block) trait Decode: fmt::Debug + Send + Sync {
    /// Fills the keys of all lanes; false if some stream is broken, and then the keys mean nothing.
    fn decode(&self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool;

    /// As [`Self::decode`], with one lane. Its place goes behind the last key.
    fn decode_one(&self, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool;

    /// As [`Self::decode_one`], up to key number `last` or some further one; what it puts in place
    /// of the keys are their middles.
    fn middles(&self, streams: &Streams<'_>, lane: &mut Lane<'_>, last: usize) -> bool;

    /// Moves `place` on by `keys` keys; false if the stream is broken there, and then the place
    /// means nothing.
    fn skip(&self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool;
}
