//! The last keys of all blocks, as they stand in the file.

use std::ops::Range;

use crate::block::Candidate;
use crate::format::read_key;

/// The last key of each block, ascending, of 4 or 8 bytes each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastKeys<'a> {
    bits: u32,
    bytes: &'a [u8],
}

impl<'a> LastKeys<'a> {
    /// Keys of so many bits.
    #[inline(always)]
    pub(crate) fn new(bits: u32, bytes: &'a [u8]) -> Self {
        Self { bits, bytes }
    }

    fn key_bytes(self) -> usize {
        self.bits as usize / 8
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes.len() as u64
    }

    /// Number of keys.
    pub(super) fn len(self) -> usize {
        self.bytes.len() / self.key_bytes()
    }

    /// The key of a block, which there is.
    #[inline(always)]
    pub(crate) fn get(self, block: usize) -> u64 {
        read_key(self.bits, &self.bytes[block * self.key_bytes()..])
    }

    /// Appends those of some blocks that can hold a key within `k` of the key `query`, each with
    /// what is left by the bits that all of its keys have in common, as far as these are among the
    /// first `middle_bits`.
    #[inline(always)]
    pub(crate) fn within(
        self,
        blocks: Range<u32>,
        (query, k): (u64, u32),
        middle_bits: u32,
        out: &mut Vec<Candidate>,
    ) {
        let below = |depth| u64::MAX.checked_shr(depth).unwrap_or(0);
        let column = below(middle_bits);
        let mut before = blocks.start.checked_sub(1).map_or(0, |block| self.get(block as usize));
        for block in blocks {
            let last = self.get(block as usize);
            let open = below((before ^ last).leading_zeros()) | column;
            let flips = ((last ^ query) & !open).count_ones();
            if let Some(budget) = k.checked_sub(flips) {
                out.push(Candidate { block, budget });
            }
            before = last;
        }
    }

    /// How many of the keys of some blocks, which have the tag of `key`, are less than it.
    #[cold]
    #[inline(never)]
    pub(super) fn below(self, key: u64, blocks: Range<u32>) -> u32 {
        let (mut start, mut end) = (blocks.start, blocks.end);
        while start < end {
            let middle = start + (end - start) / 2;
            if self.get(middle as usize) < key { start = middle + 1 } else { end = middle }
        }
        start - blocks.start
    }
}
