//! Where everything stands in a table file (sections 6 and 6.4 of the specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{block, pad8, table_footer};
use crate::error::Corruption;

/// Offset of the block area.
pub(super) const BLOCKS_AT: usize = 4096;

/// A key of so many bits, of its bytes in a file.
#[inline(always)]
pub(crate) fn read_key(bits: u32, bytes: &[u8]) -> u64 {
    match bits {
        64 => LE::read_u64(bytes),
        32 => u64::from(LE::read_u32(bytes)) << 32,
        _ => LE::read_uint(bytes, bits as usize / 8) << (64 - bits),
    }
}

/// Where everything stands in a table file.
///
/// In memory a key is the highest bits of a word, whatever its length, and zeros below: so order
/// and the first bit that differs are those of the words, and distances come out right. What stands
/// in a file has no such zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// Bits of a key, V: 32, 40, 48, 56 or 64.
    pub(crate) bits: u32,
    /// Bytes per block.
    pub(crate) block_bytes: u32,
    /// Width L of the low column.
    pub(crate) low_bits: u32,
    /// Number of blocks.
    pub(crate) block_count: u64,
}

impl Geometry {
    /// The largest number of keys of a block: the first, and one bit for each further one.
    pub(crate) fn max_block_keys(&self) -> u64 {
        8 * (u64::from(self.block_bytes) - self.column_at() as u64) + 1
    }

    /// The largest number of keys of a block by [BLK-2]: each but the first takes its bytes of the
    /// column, and one bit.
    pub(crate) fn most_keys(&self) -> u64 {
        (self.max_block_keys() - 1) / (u64::from(self.low_bits) + 1) + 1
    }

    /// Number of classes, C.
    pub(crate) fn classes(&self) -> usize {
        (self.bits + 1 - self.low_bits) as usize
    }

    /// Bits of the middle of a key, M.
    pub(crate) fn middle_bits(&self) -> u32 {
        self.bits - self.low_bits
    }

    /// Zeros below a key in its word.
    #[inline(always)]
    pub(crate) fn pad_bits(&self) -> u32 {
        u64::BITS - self.bits
    }

    /// Bits of a word below the middle of its key.
    #[inline(always)]
    pub(crate) fn below_middle(&self) -> u32 {
        self.pad_bits() + self.low_bits
    }

    /// Bytes of a key.
    #[inline(always)]
    pub(crate) fn key_bytes(&self) -> usize {
        self.bits as usize / 8
    }

    /// Number of byte planes of the column.
    pub(crate) fn planes(&self) -> usize {
        self.low_bits as usize / 8
    }

    /// Key count and first key of a block.
    #[inline]
    pub(crate) fn block_header(&self, bytes: &[u8]) -> (u32, u64) {
        let count = u32::from(LE::read_u16(&bytes[block::KEY_COUNT]));
        // What follows on a key of fewer bits is shifted out.
        (count, LE::read_u64(&bytes[block::FIRST_KEY]) << self.pad_bits())
    }

    /// Writes key count and first key of a block. The count fits, as section 13 of the
    /// specification shows.
    pub(crate) fn write_block_header(&self, bytes: &mut [u8], count: u32, first: u64) {
        LE::write_u16(&mut bytes[block::KEY_COUNT], count as u16);
        let first_key = &mut bytes[block::FIRST_KEY];
        LE::write_uint(first_key, first >> self.pad_bits(), self.key_bytes());
    }

    /// Offset of the column in a block.
    #[inline]
    pub(crate) fn column_at(&self) -> usize {
        block::FIRST_KEY.start + self.key_bytes()
    }

    /// Offset of the stream in a block of `keys` keys.
    pub(crate) fn stream_at(&self, keys: u32) -> usize {
        self.column_at() + (keys as usize).saturating_sub(1) * self.planes()
    }

    /// Where the column of a block of `keys` keys stands; `None` for a number of keys that no block
    /// can have [BLK-2]: it would also take memory that the file does not justify.
    #[inline(always)]
    pub(crate) fn column(&self, keys: u32) -> Option<Range<usize>> {
        let others = (keys as usize).checked_sub(1)?;
        let start = self.column_at();
        let end = start + self.planes() * others;
        let stream_bytes = (self.block_bytes as usize).checked_sub(end)?;
        (others <= 8 * stream_bytes).then_some(start..end)
    }

    /// Where block `number` stands.
    pub(crate) fn block(&self, number: u64) -> Range<usize> {
        let start = BLOCKS_AT + number as usize * self.block_bytes as usize;
        start..start + self.block_bytes as usize
    }

    /// Where the router stands.
    pub(crate) fn router(&self) -> Range<usize> {
        let start = self.block(self.block_count).start;
        start..start + self.key_bytes() * self.block_count as usize
    }

    /// Where the code lengths stand, with their padding.
    pub(crate) fn codes(&self) -> Range<usize> {
        let start = self.router().end;
        start..start + pad8(self.classes())
    }

    /// Where the histogram stands.
    pub(crate) fn histogram(&self) -> Range<usize> {
        let start = self.codes().end;
        start..start + 8 * self.classes()
    }

    /// Where the footer stands.
    pub(crate) fn footer(&self) -> Range<usize> {
        let start = self.histogram().end;
        start..start + table_footer::END
    }

    /// Length of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.footer().end as u64
    }

    /// The CRC of block `number`, whose bytes are `bytes` [BLK-1].
    pub(crate) fn block_crc(&self, header_crc: u32, number: u64, bytes: &[u8]) -> u32 {
        let mut prefix = [0; 12];
        LE::write_u32(&mut prefix[..4], header_crc);
        LE::write_u64(&mut prefix[4..], number);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&prefix);
        hasher.update(&bytes[block::BLOCK_CRC.end..]);
        hasher.finalize()
    }

    /// Checks the CRC of block `number`.
    pub(crate) fn check_block_crc(
        &self,
        header_crc: u32,
        number: u64,
        bytes: &[u8],
    ) -> Result<(), Corruption> {
        let found = LE::read_u32(&bytes[block::BLOCK_CRC]);
        let computed = self.block_crc(header_crc, number, bytes);
        if found == computed {
            Ok(())
        } else {
            Err(Corruption::BlockChecksum { block: number, found, computed })
        }
    }
}
