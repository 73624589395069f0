//! A line of the directory: the blocks of one prefix.

/// Tags that a line has room for.
pub(super) const ROOM: usize = 28;

/// Bits of a tag: it is never negative.
pub(super) const TAG_BITS: u32 = 15;
/// The greatest tag.
const GREATEST: u16 = (1 << TAG_BITS) - 1;

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
    /// Their tags, ascending, and the greatest of all behind them: as numbers with a sign, which
    /// every CPU compares as vectors. Of more tags than there is room for, their place among the
    /// [`Crowded`], the low half first.
    tags: [i16; ROOM],
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
        let mut own = [GREATEST as i16; ROOM];
        if tags.len() > ROOM {
            let place = crowded.0.len() as u32;
            (own[0], own[1]) = (place as i16, (place >> 16) as i16);
            crowded.0.extend(tags);
        } else {
            own.iter_mut().zip(tags).for_each(|(own, tag)| *own = tag as i16);
        }
        Self { first, count, tags: own }
    }

    /// The first block whose last key lies behind the prefix.
    #[inline(always)]
    pub(super) fn behind(&self) -> u32 {
        self.first + self.count
    }

    fn is_crowded(&self) -> bool {
        self.count as usize > ROOM
    }

    /// How many tags are less than `tag`.
    #[inline(always)]
    pub(super) fn below(&self, tag: u16, crowded: &Crowded) -> u32 {
        if self.is_crowded() {
            return crowded.count(self, |of_block| of_block < tag);
        }
        // All at once, without a branch that the CPU could miss. None behind the tags is less.
        self.tags.iter().map(|&own| u16::from(own < tag as i16)).sum::<u16>().into()
    }

    /// How many tags are `tag` or less.
    #[inline(always)]
    pub(super) fn up_to(&self, tag: u16, crowded: &Crowded) -> u32 {
        if self.is_crowded() {
            return crowded.count(self, |of_block| of_block <= tag);
        }
        let all = self.tags.iter().map(|&own| u16::from(own <= tag as i16)).sum::<u16>();
        u32::from(all).min(self.count)
    }

    /// The tag of block `block`, which is one of the line.
    #[inline(always)]
    pub(super) fn tag(&self, block: u32, crowded: &Crowded) -> u16 {
        let at = (block - self.first) as usize;
        if self.is_crowded() {
            return crowded.tag(self, at);
        }
        self.tags[at] as u16
    }
}

impl Crowded {
    fn of(&self, line: &Line) -> &[u16] {
        let place = u32::from(line.tags[1] as u16) << 16 | u32::from(line.tags[0] as u16);
        &self.0[place as usize..][..line.count as usize]
    }

    #[cold]
    #[inline(never)]
    fn count(&self, line: &Line, is_before: impl Fn(u16) -> bool) -> u32 {
        self.of(line).partition_point(|&of_block| is_before(of_block)) as u32
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
            let near = tags.iter().flat_map(|&tag| [tag, tag.saturating_sub(1), GREATEST.min(tag + 1)]);
            for bound in near.chain([0, GREATEST]) {
                let below = tags.iter().filter(|&&tag| tag < bound).count();
                prop_assert_eq!(line.below(bound, &crowded), below as u32, "below {}", bound);
                let up_to = tags.iter().filter(|&&tag| tag <= bound).count();
                prop_assert_eq!(line.up_to(bound, &crowded), up_to as u32, "up to {}", bound);
            }
        }
    }
}
