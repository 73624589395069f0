//! What can be read of a table that is damaged.

use super::described::{Described, Found};
use crate::access::ReadFiles;
use crate::block::{BlockReader, OVERHANG};
use crate::error::Result;
use crate::format::{Geometry, SegmentEntry};
use crate::mapped::Bytes;
use crate::permute::Permutation;

/// A table of which header, codes and footer are sound, so that its blocks can be read one by one.
/// Its router is not needed, and not looked at.
pub(crate) struct SalvageTable {
    bytes: Bytes,
    header_crc: u32,
    geometry: Geometry,
    permutation: Permutation,
    blocks: BlockReader,
    is_short: bool,
}

impl SalvageTable {
    /// Opens table `number` of a segment of fingerprints of so many bits.
    ///
    /// # Errors
    ///
    /// As [`Table::open_all`](super::Table::open_all), but for the router.
    pub(crate) fn open(
        files: &dyn ReadFiles,
        segment: &SegmentEntry,
        number: usize,
        bits: u32,
    ) -> Result<Self> {
        let found = Found::open(files, segment.number, number)?;
        let table = found.describe(segment, (number, bits))?;
        let Described { bytes, header, header_crc, geometry, code_lengths, .. } = table;
        let permutation = Permutation::new(&header.top);
        let blocks = BlockReader::new(header.codec, geometry, &code_lengths);
        let is_short = header.is_short();
        Ok(Self { bytes, header_crc, geometry, permutation, blocks, is_short })
    }

    /// Whether it is [short](super::Table::is_short), so that no fingerprints can be read of it.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Number of blocks.
    pub(crate) fn block_count(&self) -> u64 {
        self.geometry.block_count
    }

    /// The fingerprints of a block, in the order of the table; `None` if it is damaged.
    pub(crate) fn block(&self, number: u64, keys: &mut Vec<u64>) -> Option<()> {
        keys.clear();
        let at = self.geometry.block(number);
        let bytes = self.bytes.get(at.start..at.end + OVERHANG)?;
        let own = &bytes[..bytes.len() - OVERHANG];
        self.geometry.check_block_crc(self.header_crc, number, own).ok()?;
        let view = self.blocks.view(number, bytes).ok()?;
        self.blocks.decode_strictly(&view, self.is_short, keys).ok()?;
        keys.iter_mut().for_each(|key| *key = self.permutation.fingerprint(*key));
        Some(())
    }
}
