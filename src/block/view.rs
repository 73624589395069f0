//! What a block shows without being decoded.

/// Bytes behind a block that a [`BlockReader`] may load (and ignore). The footer of a table file is
/// longer.
pub(crate) const OVERHANG: usize = 8;

/// A block whose key count has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockView<'a> {
    pub(super) number: u64,
    /// The block and its overhang.
    pub(super) bytes: &'a [u8],
    pub(crate) keys: u32,
    pub(super) first: u64,
}

/// The low parts of the keys of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    /// Number of keys.
    pub(crate) keys: u32,
    /// The first key, whose low part is not in the planes.
    pub(crate) first: u64,
    /// The planes, one after the other, and what stands behind them.
    pub(super) bytes: &'a [u8],
}

impl<'a> Column<'a> {
    /// The bytes of a plane, one for each key but the first, and what stands behind them.
    #[inline]
    pub(crate) fn plane(&self, plane: usize) -> &'a [u8] {
        self.bytes.get(plane * (self.keys as usize - 1)..).unwrap_or_default()
    }
}

/// The low bits of key `number` of a block, which is not the first, from its column.
#[inline]
pub(super) fn low(column: &[u8], planes: usize, number: u32) -> u64 {
    let others = column.len().checked_div(planes).unwrap_or(0);
    (0..planes).fold(0, |low, plane| {
        // A number that the block does not have comes from a page that has changed since.
        let byte = column.get(plane * others + number as usize - 1).copied().unwrap_or(0);
        low | u64::from(byte) << (8 * plane)
    })
}
