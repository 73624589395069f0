//! The table file: header, footer, and where everything stands (sections 4 and 5 of the
//! specification).

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{
    CRC_BYTES, Defect, FileKind, SegmentEntry, TableEntry, block, block_wide, low_widths, pad8,
    table_footer, table_header,
};
use crate::error::{Corruption, Error, Unsupported};

const FILE: FileKind = FileKind {
    name: "table",
    magic: *b"\x89FPST\r\n\x1a",
    header_bytes: header_bytes(1),
    fields_end: None,
};
/// Offset of the block area.
const BLOCKS_AT: usize = 4096;
/// Blocks over this size have a key count of 4 bytes.
const SHORT_COUNT_BLOCK_BYTES: u32 = 8192;

/// How the middle of a key is coded from that of the key before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// The position of the first bit that differs, then the bits to the right of it (the paper).
    Xor,
    /// The bit length of the arithmetic difference, then its remaining bits.
    Gap,
}

impl Codec {
    /// Both codecs.
    pub const ALL: [Codec; 2] = [Codec::Xor, Codec::Gap];

    fn from_number(found: u8) -> Option<Self> {
        match found {
            1 => Some(Codec::Xor),
            2 => Some(Codec::Gap),
            _ => None,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Codec::Xor => "xor",
            Codec::Gap => "gap",
        })
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Codec::ALL.into_iter().find(|codec| codec.to_string() == name).ok_or_else(|| {
            Error::InvalidOption {
                option: "codec",
                value: name.to_string(),
                expected: "it is xor or gap".to_string(),
            }
        })
    }
}

/// Some adjacent bits of a fingerprint. Bit 0 is the most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitRange {
    /// The first bit, 0 to 63, or to 31 of a fingerprint of 32 bits.
    pub start: u8,
    /// The number of bits, 1 to 64, or to 32.
    pub bits: u8,
}

/// What the header of a table file says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableHeader {
    /// Bits of a key: 32 or 64.
    pub(crate) bits: u32,
    pub(crate) codec: Codec,
    pub(crate) low_bits: u32,
    pub(crate) block_bytes: u32,
    pub(crate) count: u64,
    pub(crate) set_sum: u128,
    pub(crate) table_number: u16,
    pub(crate) top: Vec<BitRange>,
}

impl TableHeader {
    /// The header with its CRC, without the padding up to the blocks.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; header_bytes(self.top.len())];
        LE::write_u16(&mut bytes[table_header::FINGERPRINT_BITS], self.bits as u16);
        bytes[table_header::CODEC.start] = match self.codec {
            Codec::Xor => 1,
            Codec::Gap => 2,
        };
        bytes[table_header::LOW_BITS.start] = self.low_bits as u8;
        LE::write_u32(&mut bytes[table_header::BLOCK_BYTES], self.block_bytes);
        LE::write_u64(&mut bytes[table_header::COUNT], self.count);
        LE::write_u128(&mut bytes[table_header::SET_SUM], self.set_sum);
        LE::write_u16(&mut bytes[table_header::TABLE_NUMBER], self.table_number);
        LE::write_u16(&mut bytes[table_header::RANGE_COUNT], self.top.len() as u16);
        for (range, out) in self.top.iter().zip(bytes[table_header::END..].chunks_exact_mut(2)) {
            out.copy_from_slice(&[range.start, range.bits]);
        }
        FILE.seal(&mut bytes);
        bytes
    }

    /// Decodes and checks the header of `file`, which is to be table `number` of `segment`, of fingerprints of so many
    /// bits; also gives its CRC.
    pub(crate) fn decode(
        file: &[u8],
        segment: &SegmentEntry,
        number: usize,
        bits: u32,
    ) -> Result<(Self, u32), Defect> {
        let entry = &segment.tables[number];
        let found = file.len() as u64;
        if found != entry.file_bytes {
            let corruption = Corruption::TableLength { found, expected: entry.file_bytes };
            return Err(Defect::corrupt(file.len(), corruption));
        }
        let (header, header_crc) = FILE.header(file)?;
        let low_bits = low_widths(bits).last().unwrap_or(0);
        let widest = Geometry { bits, block_bytes: 0, low_bits, block_count: 0 };
        let (header_bytes, least) = (header.len() as u32, widest.file_bytes());
        if header.len() > BLOCKS_AT || found < least {
            let corruption = Corruption::TableTooShort { header_bytes, file_bytes: found, least };
            return Err(Defect::corrupt(table_header::HEADER_BYTES.start, corruption));
        }
        if header_crc != entry.header_crc {
            let corruption =
                Corruption::HeaderNotInManifest { found: header_crc, expected: entry.header_crc };
            return Err(Defect::corrupt(header.len() - CRC_BYTES, corruption));
        }
        let mut decoded = Self::decode_fields(&header)?;
        if decoded.bits != bits {
            let corruption = Corruption::TableWidth { found: decoded.bits, expected: bits };
            return Err(Defect::corrupt(table_header::FINGERPRINT_BITS.start, corruption));
        }
        let (found, expected) = (decoded.table_number, number as u16);
        if found != expected {
            let at = table_header::TABLE_NUMBER.start;
            return Err(Defect::corrupt(at, Corruption::TableNumber { found, expected }));
        }
        if decoded.count != segment.count || decoded.set_sum != segment.set_sum {
            let (found_count, expected_count) = (decoded.count, segment.count);
            let corruption = Corruption::OtherSet { found_count, expected_count };
            return Err(Defect::corrupt(table_header::COUNT.start, corruption));
        }
        let top = decode_top(&header, bits);
        decoded.top = top.ok_or(Defect::corrupt(table_header::END, Corruption::TopRanges))?;
        if number == 0 && !is_identity(&decoded.top) {
            return Err(Defect::corrupt(table_header::END, Corruption::NotIdentity));
        }
        FILE.check_tail(&header, table_header::END + 2 * decoded.top.len())?;
        Ok((decoded, header_crc))
    }

    /// What a manifest would say of a table file, by what it says of itself: bits and number of its fingerprints, their
    /// sum, and its entry.
    pub(crate) fn describe(file: &[u8]) -> Option<(u16, u64, u128, TableEntry)> {
        let (header, header_crc) = FILE.header(file).ok()?;
        let fields = (header.len() >= table_header::END).then(|| Self::decode_fields(&header));
        let Self { bits, count, set_sum, .. } = fields?.ok()?;
        let footer_crc = LE::read_u32(
            file.last_chunk::<{ table_footer::END }>()?.get(table_footer::FOOTER_CRC)?,
        );
        let file_bytes = file.len() as u64;
        Some((bits as u16, count, set_sum, TableEntry { file_bytes, header_crc, footer_crc }))
    }

    /// The fields of fixed width, without the top.
    fn decode_fields(header: &[u8]) -> Result<Self, Defect> {
        if header[table_header::RESERVED].iter().any(|&b| b != 0) {
            let at = table_header::RESERVED.start;
            return Err(Defect::unsupported(at, Unsupported::TableReserved));
        }
        let found = LE::read_u16(&header[table_header::FINGERPRINT_BITS]);
        if !matches!(found, 32 | 64) {
            let at = table_header::FINGERPRINT_BITS.start;
            return Err(Defect::unsupported(at, Unsupported::TableFingerprintBits { found }));
        }
        let bits = u32::from(found);
        let found = header[table_header::CODEC.start];
        let codec = Codec::from_number(found).ok_or_else(|| {
            Defect::unsupported(table_header::CODEC.start, Unsupported::Codec { found })
        })?;
        let found = header[table_header::LOW_BITS.start];
        let low_bits = u32::from(found);
        if !low_widths(bits).any(|width| width == low_bits) {
            let at = table_header::LOW_BITS.start;
            return Err(Defect::unsupported(at, Unsupported::LowBits { found }));
        }
        let block_bytes = LE::read_u32(&header[table_header::BLOCK_BYTES]);
        if !is_block_bytes(block_bytes) {
            let at = table_header::BLOCK_BYTES.start;
            return Err(Defect::corrupt(at, Corruption::BlockBytes { found: block_bytes }));
        }
        Ok(Self {
            bits,
            codec,
            low_bits,
            block_bytes,
            count: LE::read_u64(&header[table_header::COUNT]),
            set_sum: LE::read_u128(&header[table_header::SET_SUM]),
            table_number: LE::read_u16(&header[table_header::TABLE_NUMBER]),
            top: Vec::new(),
        })
    }

    /// Where everything stands in a table with this header and `block_count` blocks.
    pub(crate) fn geometry(&self, block_count: u64) -> Geometry {
        let Self { bits, block_bytes, low_bits, .. } = *self;
        Geometry { bits, block_bytes, low_bits, block_count }
    }
}

impl BitRange {
    /// The bits as a mask on a fingerprint; `None` where they do not lie inside 64 bits.
    pub(crate) fn mask(self) -> Option<u64> {
        let (start, bits) = (u32::from(self.start), u32::from(self.bits));
        if bits == 0 || start + bits > 64 {
            return None;
        }
        Some((u64::MAX << (64 - bits)) >> start)
    }
}

/// Whether ranges can be a top of keys of so many bits: there are some, none is empty or leaves these bits, no two
/// overlap.
pub(crate) fn is_top(ranges: &[BitRange], bits: u32) -> bool {
    let mut taken = u64::MAX.checked_shr(bits).unwrap_or(0);
    let free = |range: &BitRange| {
        let mask = range.mask().filter(|mask| taken & mask == 0);
        taken |= mask.unwrap_or(0);
        mask.is_some()
    };
    !ranges.is_empty() && ranges.iter().all(free)
}

/// Whether a top leaves every bit where it is.
pub(crate) fn is_identity(top: &[BitRange]) -> bool {
    let mut next = 0;
    top.iter().all(|range| {
        let follows = range.start == next;
        next = range.start + range.bits;
        follows
    })
}

/// The bit ranges in a header; `None` if they break [TAB-11].
fn decode_top(header: &[u8], bits: u32) -> Option<Vec<BitRange>> {
    let ranges = usize::from(LE::read_u16(&header[table_header::RANGE_COUNT]));
    let bytes = header.get(table_header::END..table_header::END + 2 * ranges)?;
    let pairs = bytes.chunks_exact(2);
    let top: Vec<_> = pairs.map(|pair| BitRange { start: pair[0], bits: pair[1] }).collect();
    (header.len() >= header_bytes(ranges) && is_top(&top, bits)).then_some(top)
}

/// Checks that the padding behind the header of `file` is zero.
pub(crate) fn check_padding(file: &[u8]) -> Result<(), Defect> {
    let header_bytes = LE::read_u32(&file[table_header::HEADER_BYTES]) as usize;
    match (header_bytes.min(BLOCKS_AT)..BLOCKS_AT).find(|&at| file[at] != 0) {
        Some(at) => Err(Defect::corrupt(at, Corruption::HeaderPadding)),
        None => Ok(()),
    }
}

/// Least length of a header with so many bit ranges.
const fn header_bytes(ranges: usize) -> usize {
    pad8(table_header::END + 2 * ranges + CRC_BYTES)
}

/// Whether blocks may have this size [TAB-8].
pub(crate) fn is_block_bytes(block_bytes: u32) -> bool {
    block_bytes.is_power_of_two() && (256..=65536).contains(&block_bytes)
}

/// A key of so many bits, of its bytes in a file.
#[inline(always)]
pub(crate) fn read_key(bits: u32, bytes: &[u8]) -> u64 {
    match bits {
        32 => u64::from(LE::read_u32(bytes)) << 32,
        _ => LE::read_u64(bytes),
    }
}

/// Where everything stands in a table file.
///
/// In memory a key is the highest bits of a word, whatever its length, and zeros below: so order and the first bit that
/// differs are those of the words, and distances come out right. What stands in a file has no such zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// Bits of a key, W: 32 or 64.
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

    /// Whether the key count has 4 bytes, not 2.
    fn is_wide(&self) -> bool {
        self.block_bytes > SHORT_COUNT_BLOCK_BYTES
    }

    /// Key count and first key of a block.
    #[inline]
    pub(crate) fn block_header(&self, bytes: &[u8]) -> (u32, u64) {
        let count = match self.is_wide() {
            true => LE::read_u32(&bytes[block_wide::KEY_COUNT]),
            false => u32::from(LE::read_u16(&bytes[block::KEY_COUNT])),
        };
        // What follows on a key of 32 bits is shifted out.
        (count, LE::read_u64(&bytes[self.first_key_at()..]) << self.pad_bits())
    }

    /// Writes key count and first key of a block. The count fits, as section 12 of the specification
    /// shows.
    pub(crate) fn write_block_header(&self, bytes: &mut [u8], count: u32, first: u64) {
        match self.is_wide() {
            true => LE::write_u32(&mut bytes[block_wide::KEY_COUNT], count),
            false => LE::write_u16(&mut bytes[block::KEY_COUNT], count as u16),
        }
        LE::write_uint(
            &mut bytes[self.first_key_at()..],
            first >> self.pad_bits(),
            self.key_bytes(),
        );
    }

    /// Offset of the column in a block.
    #[inline]
    pub(crate) fn column_at(&self) -> usize {
        self.first_key_at() + self.key_bytes()
    }

    /// Where the first key stands in a block.
    #[inline(always)]
    fn first_key_at(&self) -> usize {
        if self.is_wide() { block_wide::FIRST_KEY.start } else { block::FIRST_KEY.start }
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
