//! Temporary files, as the sort sees them.

use crate::error::Result;
use crate::record::Record;
use crate::tasks;

/// Bytes that one thread reads at once.
const READ_BYTES: usize = 1 << 20;

/// A temporary file, which is removed when it is dropped. Offsets are in bytes.
pub(crate) trait Spill: Send + Sync + 'static {
    /// Writes all of `bytes`.
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<()>;
    /// Fills `bytes`.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<()>;
}

/// Makes temporary files.
pub(crate) type Create<'a, F> = &'a dyn Fn() -> Result<F>;

/// Some records of a temporary file, one behind the other. Offset and length are in records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// Writes `records` from record `at` of the file on.
pub(crate) fn write<R: Record>(file: &impl Spill, records: &[R], at: u64) -> Result<()> {
    file.write_at(bytemuck::cast_slice(records), at * R::BYTES as u64)
}

/// Fills `records` from record `at` of the file on, with all threads of the current pool.
pub(crate) fn read<R: Record>(file: &impl Spill, records: &mut [R], at: u64) -> Result<()> {
    let piece = READ_BYTES / R::BYTES;
    let read = |number: usize, records: &mut [R]| {
        let at = at + (number * piece) as u64;
        file.read_at(bytemuck::cast_slice_mut(records), at * R::BYTES as u64)
    };
    let pieces = records.chunks_mut(piece).enumerate();
    tasks::try_each(pieces, |(number, records)| read(number, records))
}

/// The pieces of `extent` of at most `most` records.
pub(crate) fn pieces(extent: Extent, most: usize) -> impl Iterator<Item = Extent> {
    let most = most.max(1) as u64;
    (0..extent.len.div_ceil(most)).map(move |number| Extent {
        at: extent.at + number * most,
        len: most.min(extent.len - number * most),
    })
}
