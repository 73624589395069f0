//! Compares the keys of runs: adjacent ones, from anywhere in a block to anywhere in another.

use std::iter::once;
use std::ops::Range;

use super::super::key_place::KeyPlace;
use super::super::near_keys::NearKeys;
use super::super::view::OVERHANG;
use super::compare::{Compare, KeyRow, MAX_PLANES, Planes};
use super::reading::Reading;
use crate::error::Corruption;
use crate::format::{Geometry, read_key};
use crate::mapped;
use crate::simd::{Level, by_level};

/// Blocks of a run from which on only the first planes are compared at first: what a long run takes is mostly the way from
/// memory, and a short one has a match often enough that a branch costs more.
const LONG: u32 = 2;
/// Blocks of a run from which on the last keys of blocks are read: they are elsewhere in memory, but tell in which bits all keys
/// of a block differ from the query.
const CROWDED: u32 = 8;
/// Blocks at the start of a run that are asked for ahead. What comes next the CPU brings by itself.
const AHEAD: usize = 4;

/// A query for the keys of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunSieve<'a> {
    pub(in crate::block) geometry: &'a Geometry,
    /// The file of the table, whose blocks have all been checked.
    pub(in crate::block) file: &'a [u8],
    pub(in crate::block) query: u64,
    pub(in crate::block) k: u32,
    pub(in crate::block) start: KeyPlace,
    pub(in crate::block) end: KeyPlace,
    /// Bits of the planes: a key that differs in none of those of one of these is left out.
    pub(in crate::block) unless: &'a [[u8; MAX_PLANES]],
    /// Keys of an average block.
    pub(in crate::block) keys_per_block: usize,
}

/// Sifts with the instructions of one level.
pub(super) trait SiftRuns: Compare {
    /// [`run`], compiled for these instructions.
    fn sift_runs<'a>(
        self,
        runs: impl Iterator<Item = RunSieve<'a>>,
        near: &mut Vec<NearKeys>,
    ) -> Result<(), (usize, Corruption)>;
}

/// For some runs, one after the other, adds the keys that may be within k of the query, ascending: the first key of a block, if it is; others
/// whose low bits differ in no more, nor, where that is known of a whole block, with those in which all its keys differ. Leaves out others
/// than the first that do not differ in the bits of one of those that the run names.
///
/// # Errors
///
/// [BLK-2], with the place of the run.
#[inline]
pub(crate) fn sift_runs<'a>(
    level: Level,
    runs: impl Iterator<Item = RunSieve<'a>>,
    near: &mut Vec<NearKeys>,
) -> Result<(), (usize, Corruption)> {
    by_level!(level, kernel => kernel.sift_runs(runs, near))
}

/// Calls `near` with the number of each of the `keys` that is within `k` of `query`.
#[inline(always)]
pub(crate) fn within(
    level: Level,
    keys: &[u64],
    (query, k): (u64, u32),
    mut near: impl FnMut(usize),
) {
    let row = KeyRow { keys, query, table: 0 };
    runs_within(level, once((row, once(0..keys.len()))), k, |_, number| near(number));
}

/// Calls `near` with the number of each key in some runs of rows that is within `k` of the query of the row.
#[inline(always)]
pub(crate) fn runs_within<'a>(
    level: Level,
    rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
    k: u32,
    near: impl FnMut(&KeyRow<'a>, usize),
) {
    by_level!(level, kernel => kernel.words(rows, k, near));
}

impl RunSieve<'_> {
    /// Blocks that the run has keys in.
    #[inline(always)]
    fn blocks(&self) -> Range<u32> {
        self.start.block..self.end.block + u32::from(self.end.number > 0)
    }

    /// Asks for the first line. Where the CPU has to look up the address of a page, a request holds up all that follows, but
    /// several go on together if one comes right after the other; so this comes before all else.
    #[inline(always)]
    pub(crate) fn prefetch_page(&self) {
        mapped::prefetch_one(self.file, self.geometry.block(self.start.block.into()).start);
    }

    /// Asks for what is read of the first blocks, as far as the average block tells.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        let geometry = self.geometry;
        let start = geometry.block(self.start.block.into()).start;
        let (blocks, block_bytes) = (self.blocks().len(), geometry.block_bytes as usize);
        let first_planes = geometry.column_at() + self.keys_per_block * self.first_planes();
        for block in 0..blocks.min(AHEAD) {
            mapped::prefetch_lines(self.file, start + block * block_bytes, first_planes);
        }
    }

    /// The number of planes that are compared first.
    #[inline(always)]
    fn first_planes(&self) -> usize {
        let planes = self.geometry.planes();
        if self.end.block - self.start.block < LONG {
            planes
        } else {
            Reading::Parts.first_planes(self.k, self.geometry.block_bytes).min(planes)
        }
    }

    /// What is left of k by the bits above the column that all keys of a block, with this first one, have in common; `None` if they
    /// differ in more of them.
    #[inline(always)]
    fn budget(&self, block: u32, first: u64) -> Option<u32> {
        let below = |depth| u64::MAX.checked_shr(depth).unwrap_or(0);
        let last_at = self.geometry.router().start + block as usize * self.geometry.key_bytes();
        let last = read_key(self.geometry.bits, &self.file[last_at..]);
        let open = below((first ^ last).leading_zeros()) | below(self.geometry.middle_bits());
        self.k.checked_sub(((first ^ self.query) & !open).count_ones())
    }
}

/// As [`sift_runs`], with the instructions of the function that calls.
#[inline(always)]
pub(super) fn run<'a, C: Compare>(
    compare: C,
    runs: impl Iterator<Item = RunSieve<'a>>,
    near: &mut Vec<NearKeys>,
) -> Result<(), (usize, Corruption)> {
    for (place, run) in (0..).zip(runs) {
        run_one(run, place, compare, near).map_err(|corruption| (place as usize, corruption))?;
    }
    Ok(())
}

/// [`run`] for one of them.
#[inline(always)]
fn run_one<C: Compare>(
    run: RunSieve<'_>,
    place: u32,
    compare: C,
    near: &mut Vec<NearKeys>,
) -> Result<(), Corruption> {
    let RunSieve { geometry, file, query, k, start, end, unless, .. } = run;
    let low = query >> geometry.pad_bits();
    let planes = geometry.planes();
    let first_planes = run.first_planes();
    let is_crowded = end.block - start.block >= CROWDED;
    let mut number = start.number;
    for block in run.blocks() {
        let from = std::mem::take(&mut number);
        let at = geometry.block(u64::from(block));
        let bytes = &file[at.start..at.end + OVERHANG];
        let (keys, first) = geometry.block_header(bytes);
        let Some(column) = geometry.column(keys) else {
            return Err(Corruption::KeyCount { block: block.into(), found: keys });
        };
        let mut budget = k;
        if is_crowded {
            let Some(left) = run.budget(block, first) else { continue };
            budget = left;
        }
        if from == 0 && (first ^ query).count_ones() <= k {
            near.push(NearKeys::new((place, block, 0), 1));
        }
        let keys_end = if block == end.block { end.number } else { u32::MAX };
        // The first key has no entry.
        let entries = from.max(1) as usize - 1..keys_end as usize - 1;
        let from = from.max(1);
        let mut found = |entry: usize, mask| {
            near.push(NearKeys::new((place, block, from + entry as u32), mask));
        };
        let (column, whole) = (&bytes[column.start..], (keys as usize - 1, planes));
        let budget = budget.min(64) as u8;
        macro_rules! compare_first {
            ($planes:expr) => {{
                let planes = Planes::<{ $planes }>::new(column, whole).some(entries);
                compare.compare_unless(planes, low, budget, unless, &mut found);
            }};
        }
        match first_planes {
            1 => compare_first!(1),
            2 => compare_first!(2),
            3 => compare_first!(3),
            4 => compare_first!(4),
            5 => compare_first!(5),
            _ => compare_first!(MAX_PLANES),
        }
    }
    Ok(())
}
