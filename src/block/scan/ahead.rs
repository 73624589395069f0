//! Asks for the bytes of blocks before they are needed.

use super::super::candidate::Candidate;
use super::sieve::Sieve;
use crate::mapped;

/// Bytes of a page, as far as is known here.
const PAGE_BYTES: usize = 4096;

impl Sieve<'_> {
    /// Asks for the first line of each page in which one of the blocks begins. Where the CPU has to
    /// look up the address of a page, a request holds up all that follows, but several go on
    /// together if one comes right after the other; so this comes before all else.
    #[inline]
    pub(crate) fn prefetch_pages(&self) {
        let mut last_page = usize::MAX;
        for candidate in self.candidates {
            let at = self.geometry.block(candidate.block.into()).start;
            if std::mem::replace(&mut last_page, at / PAGE_BYTES) != at / PAGE_BYTES {
                mapped::prefetch_one(self.file, at);
            }
        }
    }

    /// Asks for what is read of each block.
    #[inline]
    pub(crate) fn prefetch_blocks(&self) {
        self.candidates.iter().for_each(|candidate| self.prefetch(*candidate));
    }

    /// Asks for what is read of a block, as far as the average block tells.
    #[inline(always)]
    fn prefetch(&self, Candidate { block, budget }: Candidate) {
        let geometry = self.geometry;
        let planes = self.reading.first_planes(budget, geometry.block_bytes).min(geometry.planes());
        let length = geometry.column_at() + self.keys_per_block * planes;
        mapped::prefetch_lines(self.file, geometry.block(block.into()).start, length);
    }
}

/// Asks for the blocks of some sieves one by one.
pub(super) struct Ahead<'a, I> {
    sieves: I,
    now: Option<Sieve<'a>>,
    /// The next candidate of `now`.
    at: usize,
}

impl<'a, I: Iterator<Item = Sieve<'a>>> Ahead<'a, I> {
    #[inline(always)]
    pub(super) fn new(mut sieves: I) -> Self {
        let now = sieves.next();
        Self { sieves, now, at: 0 }
    }

    /// Asks for the next block, if there is one.
    #[inline(always)]
    pub(super) fn prefetch_next(&mut self) {
        while let Some(now) = &self.now {
            if let Some(candidate) = now.candidates.get(self.at) {
                now.prefetch(*candidate);
                self.at += 1;
                return;
            }
            (self.now, self.at) = (self.sieves.next(), 0);
        }
    }
}
