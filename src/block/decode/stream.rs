//! Streams, and places in them.
//!
//! Codes go from the start of a stream onward, raw bits from its end backward:
//!
//! ```text
//! | code 1 | code 2 | code 3 |  -->  zeros  <--  | raw bits 3 | raw bits 2 | raw bits 1 |
//!                            ^ codes             ^ raws end: the place behind key 3
//! ```

use super::bits::LOAD_BITS;
use super::code::Code;

/// Blocks that are decoded together.
pub(crate) const LANES: usize = 4;

/// A block that is being decoded.
pub(in crate::block) struct Lane<'a> {
    pub(in crate::block) column: &'a [u8],
    /// Room for its keys. The first one is there.
    pub(in crate::block) keys: &'a mut [u64],
    /// Where the next key begins; in the end, behind the last key.
    pub(in crate::block) place: Place,
}

/// A place in a stream, behind one of its keys.
#[derive(Clone, Copy, Debug)]
pub(in crate::block) struct Place {
    /// Where the next code begins, in bits.
    pub(in crate::block) codes: usize,
    /// Where the next raw bits end, in bits, less [`LOAD_BITS`] modulo 2^64: the load that brings
    /// them starts in the byte of this bit.
    pub(in crate::block) raws: usize,
    /// The middle of the key.
    pub(in crate::block) middle: u64,
}

impl Place {
    /// Before the second key of a block with the stream `start..end`, in bits.
    pub(in crate::block) fn new(start: usize, end: usize, middle: u64) -> Self {
        Self { codes: start, raws: end.wrapping_sub(LOAD_BITS), middle }
    }

    /// Where the next raw bits end, in bits. May wrap around in a stream that is broken.
    pub(in crate::block) fn raws_end(&self) -> usize {
        self.raws.wrapping_add(LOAD_BITS)
    }

    /// Whether codes and raw bits up to here have not run into each other, and the middle has its
    /// bits. Gaps add up, so one that leaves them shows in the last.
    #[inline(always)]
    pub(super) fn is_sound(&self, code: &Code) -> bool {
        // Even where each key takes as many bits as it can, none of the two leaves 62 bits.
        self.codes as isize <= self.raws_end() as isize
            && self.middle.leading_zeros() >= code.above_middle
    }
}

/// What the streams of all lanes stand in.
#[derive(Clone, Copy)]
pub(in crate::block) struct Streams<'a> {
    pub(in crate::block) code: &'a Code,
    /// What the blocks stand in.
    pub(in crate::block) bytes: &'a [u8],
    /// What will be decoded next, and is asked for meanwhile.
    pub(in crate::block) next: &'a [u8],
}
