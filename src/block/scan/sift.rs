//! Sifts the keys of blocks: what may be near a query, by what is compared first.

use super::super::candidate::Candidate;
use super::super::survivor::Survivor;
use super::super::view::OVERHANG;
use super::ahead::Ahead;
use super::compare::{Compare, Planes};
use super::sieve::Sieve;
use crate::error::Corruption;
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
/// Asks for the bytes that [`BlockReader::refine`](super::super::BlockReader::refine) reads; and
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
