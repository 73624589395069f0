//! A line of the directory: the blocks of one prefix.

/// Tags that a line has room for.
pub(super) const ROOM: usize = TAGS_PER_WORD * WORDS;

const TAGS_PER_WORD: usize = 4;
const WORDS: usize = 7;
/// Bits of a tag.
pub(super) const TAG_BITS: u32 = 15;
/// Bit 0 of each tag of a word.
const ONES: u64 = 0x0001_0001_0001_0001;

/// The tag of a key: its bits behind the first `bits`.
#[inline(always)]
pub(super) fn tag(key: u64, bits: u32) -> u16 {
    (key << bits >> (64 - TAG_BITS)) as u16
}

/// The blocks whose last keys begin with one prefix, in a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    /// The first block whose last key is not below the prefix.
    pub(super) first: u32,
    /// Blocks whose last key has the prefix.
    count: u32,
    /// Their tags, ascending, and the greatest of all behind them; over each a bit that is 1. Of
    /// more tags than there is room for, their place among the [`Crowded`].
    words: [u64; WORDS],
}

/// The tags of prefixes whose line has no room for them.
#[derive(Debug, Default)]
pub(super) struct Crowded(Vec<u16>);

impl Line {
    /// The line of the blocks from `first` on with these tags, which ascend.
    pub(super) fn new(
        first: u32,
        tags: impl ExactSizeIterator<Item = u16>,
        crowded: &mut Crowded,
    ) -> Self {
        let count = tags.len() as u32;
        let mut words = [u64::MAX; WORDS];
        if tags.len() > ROOM {
            words[0] = crowded.0.len() as u64;
            crowded.0.extend(tags);
        } else {
            for (i, tag) in tags.enumerate() {
                let shift = 16 * (i % TAGS_PER_WORD);
                let greatest = (1 << TAG_BITS) - 1;
                words[i / TAGS_PER_WORD] ^= (greatest ^ u64::from(tag)) << shift;
            }
        }
        Self { first, count, words }
    }

    /// The first block whose last key lies behind the prefix.
    #[inline(always)]
    pub(super) fn behind(&self) -> u32 {
        self.first + self.count
    }

    fn is_crowded(&self) -> bool {
        self.count as usize > ROOM
    }

    /// How many tags are less than `tag`, or one more than any tag can be.
    #[inline(always)]
    pub(super) fn below(&self, tag: u16, crowded: &Crowded) -> u32 {
        if self.is_crowded() {
            return crowded.below(self, tag);
        }
        // All at once, without a branch that the CPU could miss: a mark stays where the tag under
        // it is not less.
        let tag = u64::from(tag) * ONES;
        let marks = self.words.iter().map(|word| word.wrapping_sub(tag) >> TAG_BITS & ONES);
        let not_below = marks.sum::<u64>().wrapping_mul(ONES) >> 48;
        (ROOM as u32 - not_below as u32).min(self.count)
    }

    /// The tag of block `block`, which is one of the line.
    #[inline(always)]
    pub(super) fn tag(&self, block: u32, crowded: &Crowded) -> u16 {
        let at = (block - self.first) as usize;
        if self.is_crowded() {
            return crowded.tag(self, at);
        }
        (self.words[at / TAGS_PER_WORD] >> (16 * (at % TAGS_PER_WORD))) as u16 & !(1 << TAG_BITS)
    }
}

impl Crowded {
    fn of(&self, line: &Line) -> &[u16] {
        &self.0[line.words[0] as usize..][..line.count as usize]
    }

    #[cold]
    #[inline(never)]
    fn below(&self, line: &Line, tag: u16) -> u32 {
        self.of(line).partition_point(|&of_block| of_block < tag) as u32
    }

    #[cold]
    #[inline(never)]
    fn tag(&self, line: &Line, at: usize) -> u16 {
        self.of(line)[at]
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        2 * self.0.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_knows_its_tags(
            mut tags in prop::collection::vec(0u16..1 << TAG_BITS, 0..2 * ROOM),
            shift in 0u32..TAG_BITS, first in any::<u16>(), others in 0usize..3,
        ) {
            tags.iter_mut().for_each(|tag| *tag >>= shift);
            tags.sort_unstable();
            let mut crowded = Crowded::default();
            for _ in 0..others {
                Line::new(0, vec![7; ROOM + 1].into_iter(), &mut crowded);
            }
            let first = first.into();
            let line = Line::new(first, tags.iter().copied(), &mut crowded);
            prop_assert_eq!(line.behind(), first + tags.len() as u32);
            for (block, &tag) in (first..).zip(&tags) {
                prop_assert_eq!(line.tag(block, &crowded), tag);
            }
            let bounds = tags.iter().flat_map(|&tag| [tag, tag + 1]).chain([0, 1 << TAG_BITS]);
            for bound in bounds {
                let below = tags.iter().filter(|&&tag| tag < bound).count();
                prop_assert_eq!(line.below(bound, &crowded), below as u32, "below {}", bound);
            }
        }
    }
}
