//! What a level of instructions does for the scan, and how it compares whole keys.

use std::iter::once;
use std::ops::Range;

use super::super::view::OVERHANG;
use crate::simd::{Level, by_level};

pub(crate) use crate::format::MAX_PLANES;

/// Of so many keys at least that the first planes of a vector let through, all planes are compared
/// at once: in dense clusters low bits are alike, and to look into each takes several times as
/// long.
pub(super) const MANY: u32 = 5;

/// Compares a query with all entries of some planes.
pub(super) trait Compare: Copy {
    /// A query, as this kernel likes it.
    type Query;

    /// Prepares the query for the comparisons with all blocks.
    fn prepare(self, query: u64) -> Self::Query;

    /// Calls `near` with the number, from 0 on, of each entry that differs from the low bits of the
    /// query in at most `budget` bits; may leave out those that differ in more bits of all planes.
    /// With a number of planes that is not a constant, scans that find little take 1.5 to 1.8 times
    /// as long.
    fn compare<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    );

    /// Calls `near` with the number of each key of some runs of rows that is within `k` of the
    /// query of the row.
    #[inline(always)]
    fn words<'a>(
        self,
        rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
        k: u32,
        mut near: impl FnMut(&KeyRow<'a>, usize),
    ) {
        for (row, runs) in rows {
            for numbers in runs {
                for (number, key) in (numbers.start..).zip(&row.keys[numbers]) {
                    if (key ^ row.query).count_ones() <= k {
                        near(&row, number);
                    }
                }
            }
        }
    }
}

/// Keys, and the query that they are compared with.
pub(crate) struct KeyRow<'a> {
    pub(crate) keys: &'a [u64],
    pub(crate) query: u64,
    /// The place of their table among those of the search.
    pub(crate) table: usize,
}

/// Some adjacent entries of the first planes of a column.
#[derive(Clone, Copy)]
pub(super) struct Planes<'a, const PLANES: usize> {
    /// All planes, one after the other, and [`OVERHANG`] bytes behind them.
    pub(super) bytes: &'a [u8],
    /// Bytes of a plane.
    plane_bytes: usize,
    /// The first entry.
    from: usize,
    /// Number of entries.
    pub(super) count: usize,
    /// Number of all planes.
    pub(super) all: usize,
}

impl<'a, const PLANES: usize> Planes<'a, PLANES> {
    /// `bytes` holds so many planes of so many bytes, and [`OVERHANG`] more.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], (count, all): (usize, usize)) -> Self {
        assert!(PLANES <= all && all * count + OVERHANG <= bytes.len());
        Self { bytes, plane_bytes: count, from: 0, count, all }
    }

    /// Where entry `at` of a plane stands.
    #[inline(always)]
    pub(super) fn place(&self, plane: usize, at: usize) -> usize {
        plane * self.plane_bytes + self.from + at
    }

    /// The bytes of a plane.
    #[inline(always)]
    pub(super) fn plane(&self, plane: usize) -> &'a [u8] {
        &self.bytes[self.place(plane, 0)..][..self.count]
    }
}

/// For each plane the byte of `query` that belongs to it.
#[inline(always)]
pub(crate) fn bytes_of(query: u64) -> [u8; MAX_PLANES] {
    std::array::from_fn(|plane| (query >> (8 * plane)) as u8)
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

/// Calls `near` with the number of each key in some runs of rows that is within `k` of the query of
/// the row.
#[inline(always)]
pub(crate) fn runs_within<'a>(
    level: Level,
    rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
    k: u32,
    near: impl FnMut(&KeyRow<'a>, usize),
) {
    by_level!(level, kernel => kernel.words(rows, k, near));
}
