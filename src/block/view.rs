//! What a block shows: its fields as they stand, and the keys that a query finds in it.

/// Bytes behind a block that a [`BlockReader`](super::BlockReader) may load (and ignore): a vector.
/// Router, code lengths and histogram, which stand behind the last block, have more.
pub(crate) const OVERHANG: usize = 32;

/// A block whose key count has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockView<'a> {
    pub(super) number: u64,
    /// The block and its overhang.
    pub(super) bytes: &'a [u8],
    pub(crate) keys: u32,
    pub(super) first: u64,
}

/// The low bits of key `number` of a block of so many keys, which is not the first, from its
/// column.
#[inline(always)]
pub(super) fn low(column: &[u8], planes: usize, keys: u32, number: u32) -> u64 {
    let (mut at, mut low) = (number as usize - 1, 0);
    for plane in 0..planes {
        // A number that the block does not have comes from a page that has changed since.
        low |= u64::from(column.get(at).copied().unwrap_or(0)) << (8 * plane);
        at += keys as usize - 1;
    }
    low
}

/// A block that can hold matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Number of the block in its table.
    pub(crate) block: u32,
    /// How many bits may differ that were not seen on the way to it.
    pub(crate) budget: u32,
}

/// A key that may be near a query, by what was compared of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    /// Number of its block among the candidates that were looked at.
    pub(crate) candidate: u32,
    /// Its number in the block.
    pub(crate) number: u32,
}
