//! What can be read of a table that is damaged.

use super::reader::Table;
use crate::access::ReadFiles;
use crate::block::{BlockReader, OVERHANG};
use crate::error::Result;
use crate::format::{Footer, Geometry, SegmentEntry, TableHeader};
use crate::mapped::Bytes;
use crate::permute::Permutation;

/// A table of which header, codes and footer are sound, so that its blocks can be read one by one. Its router is not
/// needed, and not looked at.
pub(crate) struct SalvageTable {
    bytes: Bytes,
    header_crc: u32,
    geometry: Geometry,
    permutation: Permutation,
    blocks: BlockReader,
}

impl SalvageTable {
    /// Opens table `number` of a segment of fingerprints of so many bits.
    ///
    /// # Errors
    ///
    /// As [`Table::open`], but for the router.
    pub(crate) fn open(
        files: &dyn ReadFiles,
        segment: &SegmentEntry,
        number: usize,
        bits: u32,
    ) -> Result<Self> {
        let (path, bytes) = Table::read(files, segment.number, number)?;
        let open = || {
            let (header, header_crc) = TableHeader::decode(&bytes, segment, number, bits)?;
            let footer = Footer::decode(&bytes, &header, header_crc, &segment.tables[number])?;
            let geometry = header.geometry(footer.block_count);
            let code_lengths = footer.code_lengths(&bytes, &geometry, header_crc)?;
            Table::check_codes(&code_lengths, &header, &geometry)?;
            let permutation = Permutation::new(&header.top);
            let blocks = BlockReader::new(header.codec, geometry, &code_lengths);
            Ok((header_crc, geometry, permutation, blocks))
        };
        let (header_crc, geometry, permutation, blocks) =
            open().map_err(|defect: crate::format::Defect| defect.in_file(&path))?;
        Ok(Self { bytes, header_crc, geometry, permutation, blocks })
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
        self.blocks.decode_strictly(&view, keys).ok()?;
        keys.iter_mut().for_each(|key| *key = self.permutation.fingerprint(*key));
        Some(())
    }
}
