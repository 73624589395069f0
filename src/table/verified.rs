//! Which blocks of a table, or chunks of ids, were found sound since the file was opened.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bitvec::boxed::BitBox;
use bitvec::order::Lsb0;

/// A set of blocks that only grows. Any number of threads may use it.
pub(crate) struct Verified {
    blocks: BitBox<AtomicUsize, Lsb0>,
    /// Blocks that are not in the set.
    left: AtomicUsize,
}

impl Verified {
    /// None of `count` blocks.
    pub(crate) fn none_of(count: usize) -> Self {
        let blocks = bitvec::bitbox![AtomicUsize, Lsb0; 0; count];
        Self { blocks, left: AtomicUsize::new(count) }
    }

    /// Whether every block is in the set.
    #[inline(always)]
    pub(crate) fn all(&self) -> bool {
        self.left.load(Relaxed) == 0
    }

    /// Whether block `number` is in the set. Once all are, this costs one look at a counter.
    ///
    /// A block whose bytes another thread has checked may be checked again, which does no harm, so
    /// no order of memory is asked for.
    #[inline(always)]
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.all() || self.word(number).load(Relaxed) & bit(number) != 0
    }

    /// Whether all of these blocks are in the set.
    #[inline(always)]
    pub(crate) fn contains_all(&self, mut numbers: impl Iterator<Item = usize>) -> bool {
        self.all() || numbers.all(|number| self.word(number).load(Relaxed) & bit(number) != 0)
    }

    /// Adds block `number`.
    pub(crate) fn insert(&self, number: usize) {
        if self.word(number).fetch_or(bit(number), Relaxed) & bit(number) == 0 {
            self.left.fetch_sub(1, Relaxed);
        }
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        size_of_val(self.blocks.as_raw_slice()) as u64
    }

    #[inline(always)]
    fn word(&self, number: usize) -> &AtomicUsize {
        &self.blocks.as_raw_slice()[number / usize::BITS as usize]
    }
}

/// The bit of block `number` in its word.
#[inline(always)]
fn bit(number: usize) -> usize {
    1 << (number % usize::BITS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_in_the_set_once_they_were_added() {
        let verified = Verified::none_of(131);
        for number in [0, 63, 64, 130, 64] {
            verified.insert(number);
        }
        let found: Vec<usize> = (0..131).filter(|&number| verified.contains(number)).collect();
        assert_eq!(found, [0, 63, 64, 130]);
        assert!(!verified.all());
        assert_eq!(found, verified.blocks.iter_ones().collect::<Vec<_>>(), "as bitvec has it");
        (0..131).for_each(|number| verified.insert(number));
        assert!(verified.all());
        assert!((0..131).all(|number| verified.contains(number)));
    }
}
