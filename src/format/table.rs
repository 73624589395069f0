//! The header of a table file (section 6.2 of the specification).

use std::fmt;
use std::str::FromStr;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::geometry::{BLOCKS_AT, Geometry};
use super::{
    CRC_BYTES, Defect, FileKind, SegmentEntry, TableEntry, low_widths, pad8, table_footer,
    table_header,
};
use crate::error::{Corruption, Error, Unsupported};

const FILE: FileKind = FileKind {
    name: "table",
    magic: *b"\x89FPST\r\n\x1a",
    header_bytes: header_bytes(1),
    reserved: None,
};
/// The fewest bits of a key.
const LEAST_BITS: u32 = 32;

/// How the middle of a key is coded from that of the key before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
        let known = Codec::ALL.into_iter().find(|codec| codec.to_string() == name);
        known.ok_or_else(|| Error::invalid_option("codec", name, "it is xor or gap"))
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
    /// Bits of a fingerprint, W: 32 or 64.
    pub(crate) fingerprint_bits: u32,
    /// Bits of a key, V: the first of a permuted fingerprint, or all of them.
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
        LE::write_u16(&mut bytes[table_header::FINGERPRINT_BITS], self.fingerprint_bits as u16);
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
        bytes[table_header::CUT_BITS.start] = (self.fingerprint_bits - self.bits) as u8;
        for (range, out) in self.top.iter().zip(bytes[table_header::END..].chunks_exact_mut(2)) {
            out.copy_from_slice(&[range.start, range.bits]);
        }
        FILE.seal(&mut bytes);
        bytes
    }

    /// Decodes and checks the header of `file`, which is to be table `number` of `segment`, of
    /// fingerprints of so many bits; also gives its CRC.
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
        let ranges = usize::from(LE::read_u16(&header[table_header::RANGE_COUNT]));
        let behind = table_header::END + 2 * ranges..header.len().saturating_sub(CRC_BYTES);
        FILE.check_fields(&header, header_bytes(ranges), table_header::RESERVED)?;
        FILE.check_fields(&header, header_bytes(ranges), behind)?;
        let low_bits = low_widths(LEAST_BITS).last().unwrap_or(0);
        let least = Geometry { bits: LEAST_BITS, block_bytes: 0, low_bits, block_count: 0 };
        let least = least.file_bytes();
        if found < least {
            let corruption = Corruption::TableTooShort { file_bytes: found, least };
            return Err(Defect::corrupt(file.len(), corruption));
        }
        if header_crc != entry.header_crc {
            let corruption =
                Corruption::HeaderNotInManifest { found: header_crc, expected: entry.header_crc };
            return Err(Defect::corrupt(header.len() - CRC_BYTES, corruption));
        }
        let mut decoded = Self::decode_fields(&header)?;
        if decoded.fingerprint_bits != bits {
            let found = decoded.fingerprint_bits;
            let corruption = Corruption::TableWidth { found, expected: bits };
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
        let top = decode_top(&header, bits).filter(|top| top_bits(top) <= decoded.bits);
        decoded.top = top.ok_or(Defect::corrupt(table_header::END, Corruption::TopRanges))?;
        if number == 0 && !is_identity(&decoded.top) {
            return Err(Defect::corrupt(table_header::END, Corruption::NotIdentity));
        }
        if number == 0 && decoded.is_short() {
            let at = table_header::CUT_BITS.start;
            return Err(Defect::corrupt(at, Corruption::ShortIdentity));
        }
        Ok((decoded, header_crc))
    }

    /// What a manifest would say of a table file, by what it says of itself: bits and number of its
    /// fingerprints, their sum, and its entry.
    pub(crate) fn describe(file: &[u8]) -> Option<(u16, u64, u128, TableEntry)> {
        let (header, header_crc) = FILE.header(file).ok()?;
        let fields = (header.len() >= table_header::END).then(|| Self::decode_fields(&header));
        let Self { fingerprint_bits: bits, count, set_sum, .. } = fields?.ok()?;
        let footer_crc = LE::read_u32(
            file.last_chunk::<{ table_footer::END }>()?.get(table_footer::FOOTER_CRC)?,
        );
        let file_bytes = file.len() as u64;
        Some((bits as u16, count, set_sum, TableEntry { file_bytes, header_crc, footer_crc }))
    }

    /// The fields of fixed width, without the top.
    fn decode_fields(header: &[u8]) -> Result<Self, Defect> {
        let found = LE::read_u16(&header[table_header::FINGERPRINT_BITS]);
        if !matches!(found, 32 | 64) {
            let at = table_header::FINGERPRINT_BITS.start;
            return Err(Defect::unsupported(at, Unsupported::TableFingerprintBits { found }));
        }
        let fingerprint_bits = u32::from(found);
        let cut_bits = u32::from(header[table_header::CUT_BITS.start]);
        let bits = fingerprint_bits.checked_sub(cut_bits).filter(|bits| is_key_bits(*bits));
        let bits = bits.ok_or_else(|| {
            let feature = Unsupported::CutBits { found: cut_bits, fingerprint_bits };
            Defect::unsupported(table_header::CUT_BITS.start, feature)
        })?;
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
            fingerprint_bits,
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

    /// Whether keys are only the first bits of permuted fingerprints: then some may be equal.
    pub(crate) fn is_short(&self) -> bool {
        self.bits < self.fingerprint_bits
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

/// Whether ranges can be a top of keys of so many bits: there are some, none is empty or leaves
/// these bits, no two overlap.
pub(crate) fn is_top(ranges: &[BitRange], bits: u32) -> bool {
    let mut taken = u64::MAX.checked_shr(bits).unwrap_or(0);
    let free = |range: &BitRange| {
        let mask = range.mask().filter(|mask| taken & mask == 0);
        taken |= mask.unwrap_or(0);
        mask.is_some()
    };
    !ranges.is_empty() && ranges.iter().all(free)
}

/// Number of bits of a top.
pub(crate) fn top_bits(top: &[BitRange]) -> u32 {
    top.iter().map(|range| u32::from(range.bits)).sum()
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

/// The bit ranges in a header; `None` if they break [TAB-8].
fn decode_top(header: &[u8], bits: u32) -> Option<Vec<BitRange>> {
    let ranges = usize::from(LE::read_u16(&header[table_header::RANGE_COUNT]));
    let bytes = header.get(table_header::END..table_header::END + 2 * ranges)?;
    let pairs = bytes.chunks_exact(2);
    let top: Vec<_> = pairs.map(|pair| BitRange { start: pair[0], bits: pair[1] }).collect();
    is_top(&top, bits).then_some(top)
}

/// Checks that the padding behind the header of `file` is zero.
pub(crate) fn check_padding(file: &[u8]) -> Result<(), Defect> {
    let header_bytes = LE::read_u32(&file[table_header::HEADER_BYTES]) as usize;
    match (header_bytes.min(BLOCKS_AT)..BLOCKS_AT).find(|&at| file[at] != 0) {
        Some(at) => Err(Defect::corrupt(at, Corruption::HeaderPadding)),
        None => Ok(()),
    }
}

/// Whether keys may have so many bits [TAB-3].
fn is_key_bits(bits: u32) -> bool {
    (LEAST_BITS..=u64::BITS).contains(&bits) && bits.is_multiple_of(8)
}

/// Length of a header with so many bit ranges.
const fn header_bytes(ranges: usize) -> usize {
    pad8(table_header::END + 2 * ranges + CRC_BYTES)
}

/// Whether blocks may have this size [TAB-6].
pub(crate) fn is_block_bytes(block_bytes: u32) -> bool {
    block_bytes.is_power_of_two() && (256..=8192).contains(&block_bytes)
}
