//! Sifts the keys of blocks: what may be near a query, by what is compared first.
//!
//! A sieve says what is asked of the blocks of a table, and how much of a column is compared first.
//! The bytes of blocks are asked for before they are needed.

use super::super::view::{Candidate, OVERHANG, Survivor};
use super::compare::{Compare, Planes};
use crate::error::Corruption;
use crate::format::Geometry;
use crate::mapped;
use crate::simd::{Level, by_level};

/// Sifts with the instructions of one level.
pub(super) trait Sift: Compare {
    /// [`run`], compiled for these instructions.
    fn sift<'a>(
        self,
        sieves: impl Iterator<Item = Sieve<'a>>,
        ahead: impl Iterator<Item = Sieve<'a>>,
        survivors: &mut Vec<Survivor>,
    ) -> Result<(), (usize, Corruption)>;
}

/// For each candidate of some tables, one after the other, adds the keys of the block that may be
/// within k of the query, ascending: the first key, if it is; of the others those whose low bits in
/// the first planes of the column differ in at most the budget. With L = 0 these are all of them.
/// Asks for the bytes that [`BlockReader::refiner`](super::super::BlockReader::refiner) reads; and
/// for one block of `ahead` before each block.
///
/// The budget is k less the flips on the way to the block, which none of its low bits may have
/// counted.
///
/// # Errors
///
/// [BLK-2], with the place of the table.
#[inline]
pub(crate) fn sift<'a>(
    level: Level,
    sieves: impl Iterator<Item = Sieve<'a>>,
    ahead: impl Iterator<Item = Sieve<'a>>,
    survivors: &mut Vec<Survivor>,
) -> Result<(), (usize, Corruption)> {
    by_level!(level, kernel => kernel.sift(sieves, ahead, survivors))
}

/// As [`sift`], with the instructions of the function that calls.
#[inline(always)]
pub(super) fn run<'a, C: Compare>(
    compare: C,
    sieves: impl Iterator<Item = Sieve<'a>>,
    ahead: impl Iterator<Item = Sieve<'a>>,
    survivors: &mut Vec<Survivor>,
) -> Result<(), (usize, Corruption)> {
    let mut ahead = Ahead::new(ahead);
    for (table, sieve) in sieves.enumerate() {
        run_one(sieve, compare, &mut ahead, survivors).map_err(|corruption| (table, corruption))?;
    }
    Ok(())
}

/// [`run`] for the blocks of one table.
#[inline(always)]
fn run_one<'a, C: Compare>(
    sieve: Sieve<'_>,
    compare: C,
    ahead: &mut Ahead<'a, impl Iterator<Item = Sieve<'a>>>,
    survivors: &mut Vec<Survivor>,
) -> Result<(), Corruption> {
    let Sieve { geometry, file, query, k, candidates, first, reading, .. } = sieve;
    let prepared = compare.prepare(query >> geometry.pad_bits());
    let planes = geometry.planes();
    for (candidate, &Candidate { block, budget }) in (first..).zip(candidates) {
        ahead.prefetch_next();
        let at = geometry.block(u64::from(block));
        let bytes = &file[at.start..at.end + OVERHANG];
        let (keys, first) = geometry.block_header(bytes);
        let Some(column) = geometry.column(keys) else {
            return Err(Corruption::KeyCount { block: block.into(), found: keys });
        };
        let mut survived = |number| survivors.push(Survivor { candidate, number });
        // The first key stands in full: the flips on the way are among its bits, and count
        // again.
        if (first ^ query).count_ones() <= k {
            survived(0);
        }
        let others = keys as usize - 1;
        let column = &bytes[column.start..];
        let compared = reading.first_planes(budget, geometry.block_bytes).min(planes);
        let near = |entry: usize| {
            // What is left of the column.
            mapped::prefetch_one(column, compared * others + entry);
            survived(entry as u32 + 1);
        };
        let budget = budget.min(64) as u8;
        let whole = (others, planes);
        match compared {
            0 => (0..others).for_each(near),
            1 => compare.compare(Planes::<1>::new(column, whole), &prepared, budget, near),
            2 => compare.compare(Planes::<2>::new(column, whole), &prepared, budget, near),
            3 => compare.compare(Planes::<3>::new(column, whole), &prepared, budget, near),
            _ => compare.compare(Planes::<4>::new(column, whole), &prepared, budget, near),
        }
    }
    Ok(())
}

/// A query for some blocks of one table.
pub(crate) struct Sieve<'a> {
    pub(in crate::block) geometry: &'a Geometry,
    /// The file of the table.
    pub(in crate::block) file: &'a [u8],
    pub(in crate::block) query: u64,
    pub(in crate::block) k: u32,
    pub(in crate::block) candidates: &'a [Candidate],
    /// The number of the first candidate among those of all tables.
    pub(in crate::block) first: u32,
    /// Whether these are all blocks of the table.
    pub(in crate::block) reading: Reading,
    /// Keys of an average block.
    pub(in crate::block) keys_per_block: usize,
}

/// The number of planes that lets at most 1 in 300 random keys through at this budget, or all of
/// them.
#[inline]
fn first_planes(budget: u32) -> usize {
    match budget {
        0..=2 => 2,
        3..=5 => 3,
        _ => 4,
    }
}

/// How the blocks of a table are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Some of them.
    Parts,
    /// All of them, in order. The CPU brings what lies ahead by itself, as long as little of it is
    /// skipped, and loses track where two planes are read and two are not. So nothing is asked for
    /// ahead.
    ///
    /// Milliseconds of a scan of 2^24 uniform fingerprints with L = 32, least of 16, by bytes of a
    /// block, k = 1 and k = 3:
    ///
    /// | | 256 | 512 | 1024 | 2048 | 4096 |
    /// | --- | --- | --- | --- | --- | --- |
    /// | as for some blocks | 6.1, 5.8 | 5.2, 4.2 | 7.3, 5.1 | 5.6, 8.1 | 5.0, 6.1 |
    /// | three planes or more | 5.8, 5.9 | 4.4, 4.2 | 5.4, 5.1 | 6.7, 8.0 | 5.8, 6.1 |
    /// | and not asked for ahead | 3.8, 4.1 | 3.4, 3.6 | 3.8, 4.0 | 7.5, 7.9 | 5.4, 5.9 |
    /// | four planes, not asked for ahead | 5.6, 5.5 | 4.0, 4.0 | 3.4, 3.4 | 5.1, 5.0 | 8.2, 8.2 |
    ///
    /// The same at 2048 bytes on another machine: 4.8 with four planes, 9.0 and 9.8 with three.
    Whole,
}

impl Reading {
    /// The number of planes that are compared first with a budget, if the column has as many, in
    /// blocks of this size.
    #[inline]
    pub(crate) fn first_planes(self, budget: u32, block_bytes: u32) -> usize {
        match (self, block_bytes) {
            (Self::Parts, _) => first_planes(budget),
            (Self::Whole, 2048) => 4,
            (Self::Whole, _) => first_planes(budget).max(3),
        }
    }
}

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
