//! Sifts the keys of blocks: what may be near a query, by what is compared first.

use super::super::candidate::Candidate;
use super::compare::{Compare, Planes};
use super::reading::Reading;
use crate::error::Corruption;
use crate::format::Geometry;
use crate::mapped;
use crate::simd::{Level, by_level};

/// A query for the blocks of one table.
pub(in crate::block) struct Sieve<'a> {
    pub(in crate::block) geometry: &'a Geometry,
    /// The file of the table.
    pub(in crate::block) file: &'a [u8],
    pub(in crate::block) query: u64,
    pub(in crate::block) k: u32,
    pub(in crate::block) candidates: &'a [Candidate],
    /// Whether these are all blocks of the table.
    pub(in crate::block) reading: Reading,
}

/// Sifts with the instructions of one level.
pub(super) trait Sift: Compare {
    /// [`Sieve::run`], compiled for these instructions.
    fn sift(
        self,
        sieve: &Sieve<'_>,
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption>;
}

impl Sieve<'_> {
    /// As [`Self::run`], with the instructions of this level.
    #[inline]
    pub(in crate::block) fn sift(
        &self,
        level: Level,
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        by_level!(level, kernel => kernel.sift(self, ahead, survived))
    }

    /// For each candidate, calls `survived` with its place and the numbers of the keys of the block
    /// that may be within k of the query, ascending: of the first key, if it is; of the others, if
    /// the low bits in the first planes of the column differ in at most the budget. With L = 0
    /// these are all of them. Asks for the bytes that
    /// `BlockReader::refine` reads. Calls `ahead` before each block.
    ///
    /// The budget is k less the flips on the way to the block, which none of its low bits may have
    /// counted.
    #[inline(always)]
    pub(super) fn run<C: Compare>(
        &self,
        compare: C,
        mut ahead: impl FnMut(),
        mut survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        let Self { geometry, file, query, k, candidates, reading } = *self;
        let prepared = compare.prepare(query >> geometry.pad_bits());
        let planes = geometry.planes();
        for (place, &Candidate { block, budget }) in candidates.iter().enumerate() {
            ahead();
            let bytes = &file[geometry.block(u64::from(block))];
            let (keys, first) = geometry.block_header(bytes);
            let Some(column) = geometry.column(keys) else {
                return Err(Corruption::KeyCount { block: block.into(), found: keys });
            };
            // The first key stands in full: the flips on the way are among its bits, and count
            // again.
            if (first ^ query).count_ones() <= k {
                survived(place, 0);
            }
            let others = keys as usize - 1;
            let column = &bytes[column];
            let compared = reading.first_planes(budget, geometry.block_bytes).min(planes);
            let near = |entry: usize| {
                // What is left of the column, and of a key that may well be near also its stream.
                mapped::prefetch_one(column, compared * others + entry);
                if compared > 2 {
                    let stream = &bytes[geometry.stream_at(keys)..];
                    mapped::prefetch(&stream[..stream.len() * entry / others]);
                }
                survived(place, entry as u32 + 1);
            };
            let budget = budget.min(64) as u8;
            match compared {
                0 => (0..others).for_each(near),
                1 => compare.compare(Planes::<1>::new(column, others), &prepared, budget, near),
                2 => compare.compare(Planes::<2>::new(column, others), &prepared, budget, near),
                3 => compare.compare(Planes::<3>::new(column, others), &prepared, budget, near),
                _ => compare.compare(Planes::<4>::new(column, others), &prepared, budget, near),
            }
        }
        Ok(())
    }
}
