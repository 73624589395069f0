//! What a level of instructions does for the scan.

use super::super::view::OVERHANG;

/// Planes of the widest column.
pub(super) const MAX_PLANES: usize = 4;
/// Of so many keys at least that the first planes of a vector let through, all planes are compared at once: in dense clusters
/// low bits are alike, and to look into each takes several times as long.
pub(super) const MANY: u32 = 5;

/// Compares a query with all entries of some planes.
pub(super) trait Compare: Copy {
    /// A query, as this kernel likes it.
    type Query;

    /// Prepares the query for the comparisons with all blocks.
    fn prepare(self, query: u64) -> Self::Query;

    /// Calls `near` with the number, from 0 on, of each entry that differs from the low bits of
    /// the query in at most `budget` bits; may leave out those that differ in more bits of all planes. With a number
    /// of planes that is not a constant, scans that find little take 1.5 to 1.8 times as long.
    fn compare<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    );
}

/// The first planes of a column, each of `count` bytes.
#[derive(Clone, Copy)]
pub(super) struct Planes<'a, const PLANES: usize> {
    /// All planes, one after the other, and [`OVERHANG`] bytes behind them.
    pub(super) bytes: &'a [u8],
    pub(super) count: usize,
    /// Number of all planes.
    pub(super) all: usize,
}

impl<'a, const PLANES: usize> Planes<'a, PLANES> {
    /// `bytes` holds so many planes of so many bytes, and [`OVERHANG`] more.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], (count, all): (usize, usize)) -> Self {
        assert!(PLANES <= all && all * count + OVERHANG <= bytes.len());
        Self { bytes, count, all }
    }

    /// The bytes of a plane.
    #[inline(always)]
    pub(super) fn plane(&self, plane: usize) -> &'a [u8] {
        &self.bytes[plane * self.count..][..self.count]
    }
}

/// For each plane the byte of `query` that belongs to it.
#[inline(always)]
pub(super) fn bytes_of(query: u64) -> [u8; MAX_PLANES] {
    std::array::from_fn(|plane| (query >> (8 * plane)) as u8)
}
