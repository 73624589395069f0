//! Looks closer at what survived the first planes of a column.

use super::reader::BlockReader;
use super::view::{BlockView, low};
use crate::cover::Differs;

/// A query for the keys of one block, of which all is seen that need not be decoded.
pub(crate) struct Refiner<'a> {
    column: &'a [u8],
    keys: u32,
    planes: usize,
    pad: u32,
    /// The low bits of the query.
    low: u64,
    first: Differs,
    /// The bits of the column.
    seen: u64,
}

impl BlockReader {
    /// Looks closer at keys of a block.
    #[inline(always)]
    pub(crate) fn refiner<'a>(&self, block: &BlockView<'a>, query: u64) -> Refiner<'a> {
        let (geometry, pad) = (&self.geometry, self.geometry.pad_bits());
        Refiner {
            column: self.column(block),
            keys: block.keys,
            planes: geometry.planes(),
            pad,
            low: self.low(query),
            first: Differs { bits: block.first ^ query, seen: u64::MAX << pad },
            seen: self.low(u64::MAX) << pad,
        }
    }
}

impl Refiner<'_> {
    /// The bits in which key `number` differs from the query, as far as they are seen, if these are
    /// within the budget: with the first key all of them, else those of the column.
    #[inline(always)]
    pub(crate) fn differs(&self, budget: u32, number: u32) -> Option<Differs> {
        if number == 0 {
            return Some(self.first);
        }
        let low = match self.planes {
            // Most columns have so many, and so the loop goes.
            4 => low(self.column, 4, self.keys, number),
            planes => low(self.column, planes, self.keys, number),
        };
        let differs = low ^ self.low;
        let seen = Differs { bits: differs << self.pad, seen: self.seen };
        (differs.count_ones() <= budget).then_some(seen)
    }
}
