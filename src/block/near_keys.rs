use crate::simd::ones;

/// Keys of a block that may be near a query, by all that is seen of them without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NearKeys {
    /// The place of the run among those that were looked at.
    pub(crate) run: u32,
    pub(crate) block: u32,
    /// The number of the first of them in the block.
    first: u32,
    /// A bit for each key from the first one on.
    mask: u64,
}

impl NearKeys {
    /// Of a mask that is not 0, whose first bit is key `number`.
    #[inline(always)]
    pub(super) fn new((run, block, number): (u32, u32, u32), mask: u64) -> Self {
        let first = mask.trailing_zeros();
        Self { run, block, first: number + first, mask: mask.unbounded_shr(first) }
    }

    /// The number of the only one, if there is one.
    #[inline(always)]
    pub(crate) fn single(self) -> Option<u32> {
        (self.mask == 1).then_some(self.first)
    }

    /// The numbers of the keys in the block, ascending.
    #[inline(always)]
    pub(crate) fn numbers(self) -> impl Iterator<Item = u32> {
        ones(self.mask).map(move |bit| self.first + bit as u32)
    }

    /// Whether key `number` of the block is one of them.
    #[inline(always)]
    pub(crate) fn has(self, number: u32) -> bool {
        let bit = number.wrapping_sub(self.first);
        bit < u64::BITS && self.mask >> bit & 1 == 1
    }
}
