//! What a level of instructions does for the scan.

/// Planes of the widest column.
pub(super) const MAX_PLANES: usize = 4;

/// Compares a query with all entries of some planes.
pub(super) trait Compare: Copy {
    /// A query, as this kernel likes it.
    type Query;

    /// Prepares the query for the comparisons with all blocks.
    fn prepare(self, query: u64) -> Self::Query;

    /// Calls `near` with the number, from 0 on, of each entry that differs from the low bits of
    /// the query in at most `budget` bits. With a number of planes that is not a constant, scans that find
    /// little take 1.5 to 1.8 times as long.
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
    pub(super) planes: [&'a [u8]; PLANES],
    pub(super) count: usize,
}

impl<'a, const PLANES: usize> Planes<'a, PLANES> {
    /// `bytes` holds the planes one after the other.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], count: usize) -> Self {
        Self { planes: std::array::from_fn(|plane| &bytes[plane * count..][..count]), count }
    }
}

/// For each plane the byte of `query` that belongs to it.
#[inline(always)]
pub(super) fn bytes_of(query: u64) -> [u8; MAX_PLANES] {
    std::array::from_fn(|plane| (query >> (8 * plane)) as u8)
}
