//! The base and the part tables of a segment of wide fingerprints (section 18 of the specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{
    CHUNK_BYTES, CRC_BYTES, Defect, FileKind, MOST_HEADER_BYTES, TableEntry, base_header, digits,
    directory_crc, part_header,
};
use crate::error::{Corruption, Unsupported};

const BASE: FileKind = FileKind {
    name: "base file",
    magic: *b"\x89FPSB\r\n\x1a",
    header_bytes: base_header::END,
    fields_end: Some(base_header::RESERVED.end),
};
const PART: FileKind = FileKind {
    name: "part file",
    magic: *b"\x89FPSP\r\n\x1a",
    header_bytes: part_header::END,
    fields_end: Some(part_header::RESERVED.end),
};
/// Keys of a part table that share a start.
pub(crate) const GROUP_KEYS: u64 = 1 << GROUP_BITS;
/// Bits of a key within its group.
pub(crate) const GROUP_BITS: u32 = 6;
/// Bits of a key at most.
pub(crate) const MOST_KEY_BITS: u32 = 32;
/// Fingerprints of a base at most.
pub(crate) const MOST_ROWS: u64 = u32::MAX as u64;
/// Bytes of the CRC behind the CRCs of the chunks.
const DIRECTORY_CRC_BYTES: usize = 4;

/// What the header of a base says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BaseHeader {
    /// Bytes of the header: the rows follow.
    pub(crate) header_bytes: usize,
    pub(crate) fingerprint_bits: u16,
    /// Number of part tables.
    pub(crate) part_count: u16,
    /// Number of fingerprints.
    pub(crate) count: u64,
    pub(crate) set_sum: u128,
}

/// What the header of a part table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartHeader {
    /// Bytes of the header: the starts follow.
    pub(crate) header_bytes: usize,
    pub(crate) fingerprint_bits: u16,
    pub(crate) number: u16,
    /// The first bit of the part, and how many there are.
    pub(crate) start_bit: u16,
    pub(crate) part_bits: u16,
    /// The first bits of the part, which rows are found by.
    pub(crate) key_bits: u8,
    pub(crate) count: u64,
    /// Ordered pairs of different rows with the same key.
    pub(crate) coincidences: u64,
    /// The CRC of the header of the base.
    pub(crate) base_crc: u32,
}

/// Where the parts of a file stand whose body is made of chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) body: Range<usize>,
    pub(crate) chunk_crcs: Range<usize>,
}

impl Body {
    /// A body of so many bytes behind a header.
    fn behind(header_bytes: usize, bytes: usize) -> Self {
        let end = header_bytes + bytes;
        let crcs = 4 * bytes.div_ceil(CHUNK_BYTES);
        Self { body: header_bytes..end, chunk_crcs: end..end + crcs }
    }

    /// The body of a file of so many bytes; `None` if there is none of that length.
    fn of_file(header_bytes: usize, file_bytes: usize) -> Option<Self> {
        let behind = file_bytes.checked_sub(header_bytes + DIRECTORY_CRC_BYTES)?;
        let bytes = behind.checked_sub(4 * behind.div_ceil(CHUNK_BYTES + 4))?;
        let body = Self::behind(header_bytes, bytes);
        (body.file_bytes() == file_bytes as u64).then_some(body)
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        (self.chunk_crcs.end + DIRECTORY_CRC_BYTES) as u64
    }

    /// Checks the CRCs of the chunks as a whole: [BAS-6], [BAS-7].
    pub(crate) fn check_directory(&self, file: &[u8], entry: &TableEntry) -> Result<(), Defect> {
        let found = LE::read_u32(&file[self.chunk_crcs.end..]);
        let computed = directory_crc(entry.header_crc, &file[self.chunk_crcs.clone()]);
        if found != computed {
            let corruption = Corruption::BaseDirectoryChecksum { found, computed };
            return Err(Defect::corrupt(self.chunk_crcs.end, corruption));
        }
        if found != entry.footer_crc {
            let expected = entry.footer_crc;
            let corruption = Corruption::BaseDirectoryNotInManifest { found, expected };
            return Err(Defect::corrupt(self.chunk_crcs.end, corruption));
        }
        Ok(())
    }
}

impl TableEntry {
    /// What a manifest would say of a base or part file with this CRC of its header.
    fn of_file(file: &[u8], header_crc: u32) -> Option<Self> {
        let footer_crc = LE::read_u32(file.last_chunk::<DIRECTORY_CRC_BYTES>()?);
        Some(Self { file_bytes: file.len() as u64, header_crc, footer_crc })
    }
}

/// Whether a file that has `header` bytes of header and `body` bytes behind it has that length.
fn has_length(file: &[u8], header: usize, body: u128) -> bool {
    let crcs = 4 * body.div_ceil(CHUNK_BYTES as u128);
    body + crcs + (header + DIRECTORY_CRC_BYTES) as u128 == file.len() as u128
}

/// The header of a file that the manifest says this of, and its CRC.
fn header_of(kind: &FileKind, file: &[u8], entry: &TableEntry) -> Result<Vec<u8>, Defect> {
    let (found, expected) = (file.len() as u64, entry.file_bytes);
    if found != expected {
        return Err(Defect::corrupt(0, Corruption::BaseLength { found, expected }));
    }
    let (header, found) = kind.header(file)?;
    if found != entry.header_crc {
        let corruption = Corruption::BaseNotInManifest { found, expected: entry.header_crc };
        return Err(Defect::corrupt(header.len() - CRC_BYTES, corruption));
    }
    Ok(header)
}

impl BaseHeader {
    /// Bytes of the header that is written.
    pub(crate) const HEADER_BYTES: usize = base_header::END;

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        usize::from(self.fingerprint_bits) / 8
    }

    /// Where the rows stand. [BAS-5] makes sure that they lie in the file.
    pub(crate) fn body(&self) -> Body {
        Body::behind(self.header_bytes, self.count as usize * self.row_bytes())
    }

    /// Where the rows stand in a base of so many fingerprints, of which the header may be damaged, and the file cut.
    pub(crate) fn salvage_body(
        file: &[u8],
        entry: &TableEntry,
        (fingerprint_bits, count): (u16, u64),
    ) -> Result<Body, Defect> {
        let rows = u128::from(count.min(MOST_ROWS)) * u128::from(fingerprint_bits / 8);
        let behind = rows + 4 * rows.div_ceil(CHUNK_BYTES as u128) + DIRECTORY_CRC_BYTES as u128;
        let header_bytes = match BASE.header(file) {
            Ok((header, _)) => Some(header.len() as u128),
            Err(_) => u128::from(entry.file_bytes).checked_sub(behind),
        };
        let fits = |bytes: &u128| *bytes <= u128::from(MOST_HEADER_BYTES) && count <= MOST_ROWS;
        match header_bytes.filter(fits) {
            Some(bytes) => Ok(Body::behind(bytes as usize, rows as usize)),
            None => {
                let corruption = Corruption::BaseCount { count, file_bytes: entry.file_bytes };
                Err(Defect::corrupt(base_header::COUNT.start, corruption))
            }
        }
    }

    /// What a manifest would say of a base file, by what it says of itself, and its entry.
    pub(crate) fn describe(file: &[u8]) -> Option<(Self, TableEntry)> {
        let (header, header_crc) = BASE.header(file).ok()?;
        let base = Self::decode_fields(&header);
        Some((base, TableEntry::of_file(file, header_crc)?))
    }

    fn decode_fields(header: &[u8]) -> Self {
        Self {
            header_bytes: header.len(),
            fingerprint_bits: LE::read_u16(&header[base_header::FINGERPRINT_BITS]),
            part_count: LE::read_u16(&header[base_header::PART_COUNT]),
            count: LE::read_u64(&header[base_header::COUNT]),
            set_sum: LE::read_u128(&header[base_header::SET_SUM]),
        }
    }

    /// The bytes of the header, and its CRC.
    pub(crate) fn encode(&self) -> ([u8; base_header::END], u32) {
        let mut header = [0; base_header::END];
        LE::write_u16(&mut header[base_header::FINGERPRINT_BITS], self.fingerprint_bits);
        LE::write_u16(&mut header[base_header::PART_COUNT], self.part_count);
        LE::write_u64(&mut header[base_header::COUNT], self.count);
        LE::write_u128(&mut header[base_header::SET_SUM], self.set_sum);
        let crc = BASE.seal(&mut header);
        (header, crc)
    }

    /// Decodes and checks the header of a base of a store of so many bits, which the manifest says this of.
    pub(crate) fn decode(
        file: &[u8],
        entry: &TableEntry,
        (fingerprint_bits, part_count, count, set_sum): (u16, u16, u64, u128),
    ) -> Result<Self, Defect> {
        let header = header_of(&BASE, file, entry)?;
        if header[base_header::RESERVED].iter().any(|&byte| byte != 0) {
            let at = base_header::RESERVED.start;
            return Err(Defect::unsupported(at, Unsupported::BaseReserved));
        }
        let base = Self::decode_fields(&header);
        let expected = Self { fingerprint_bits, part_count, count, set_sum, ..base };
        if base != expected {
            let at = base_header::FINGERPRINT_BITS.start;
            return Err(Defect::corrupt(at, Corruption::BaseOfOtherSegment));
        }
        let rows = u128::from(count) * base.row_bytes() as u128;
        if count > MOST_ROWS || !has_length(file, header.len(), rows) {
            let file_bytes = file.len() as u64;
            let corruption = Corruption::BaseCount { count, file_bytes };
            return Err(Defect::corrupt(base_header::COUNT.start, corruption));
        }
        Ok(base)
    }
}

/// Where the parts of the body of a part table stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartGeometry {
    pub(crate) starts: Range<usize>,
    pub(crate) marks: Range<usize>,
    pub(crate) rows: Range<usize>,
    pub(crate) row_bits: u32,
    pub(crate) body: Body,
}

impl PartHeader {
    /// Bytes of the header that is written.
    pub(crate) const HEADER_BYTES: usize = part_header::END;

    /// Bits of the number of a row; the rows of part 0 are in the order of the base, and are not written.
    fn row_bits(&self) -> u32 {
        if self.number == 0 { 0 } else { digits(self.count.saturating_sub(1)) }
    }

    /// Bytes of the pieces of the body.
    fn piece_bytes(&self) -> [u128; 3] {
        let words = |bits: u128| 8 * bits.div_ceil(64);
        let (count, keys) = (u128::from(self.count), 1u128 << self.key_bits);
        let starts = words(32 * (keys >> GROUP_BITS));
        [starts, words(count + keys), words(count * u128::from(self.row_bits()))]
    }

    /// Where everything stands. [PRT-4] makes sure that it lies in the file.
    pub(crate) fn geometry(&self) -> PartGeometry {
        let mut end = self.header_bytes;
        let [starts, marks, rows] = self.piece_bytes().map(|bytes| {
            let start = end;
            end += bytes as usize;
            start..end
        });
        let body = Body::behind(self.header_bytes, end - self.header_bytes);
        PartGeometry { starts, marks, rows, row_bits: self.row_bits(), body }
    }

    /// The bytes of the header, and its CRC.
    pub(crate) fn encode(&self) -> ([u8; part_header::END], u32) {
        let mut header = [0; part_header::END];
        LE::write_u16(&mut header[part_header::FINGERPRINT_BITS], self.fingerprint_bits);
        LE::write_u16(&mut header[part_header::PART_NUMBER], self.number);
        LE::write_u16(&mut header[part_header::START_BIT], self.start_bit);
        LE::write_u16(&mut header[part_header::PART_BITS], self.part_bits);
        header[part_header::KEY_BITS.start] = self.key_bits;
        LE::write_u64(&mut header[part_header::COUNT], self.count);
        LE::write_u64(&mut header[part_header::COINCIDENCES], self.coincidences);
        LE::write_u32(&mut header[part_header::BASE_CRC], self.base_crc);
        let crc = PART.seal(&mut header);
        (header, crc)
    }

    /// Where the body of a part table stands which the manifest says this of, as far as the header need not be decoded.
    pub(crate) fn salvage_body(file: &[u8], entry: &TableEntry) -> Result<Body, Defect> {
        let header = header_of(&PART, file, entry)?;
        Body::of_file(header.len(), file.len()).ok_or_else(|| {
            let count = LE::read_u64(&header[part_header::COUNT]);
            let corruption = Corruption::PartLength { count, file_bytes: file.len() as u64 };
            Defect::corrupt(part_header::COUNT.start, corruption)
        })
    }

    /// What a manifest would say of a part file, by what it says of itself.
    pub(crate) fn describe(file: &[u8]) -> Option<TableEntry> {
        let (_, header_crc) = PART.header(file).ok()?;
        TableEntry::of_file(file, header_crc)
    }

    /// Decodes and checks the header of part table `number`, which belongs to a base with this CRC and begins with bit
    /// `start_bit`.
    pub(crate) fn decode(
        file: &[u8],
        entry: &TableEntry,
        (base, base_crc): (&BaseHeader, u32),
        (number, start_bit): (u16, u16),
    ) -> Result<Self, Defect> {
        let header = header_of(&PART, file, entry)?;
        if header[part_header::RESERVED].iter().any(|&byte| byte != 0) {
            let at = part_header::RESERVED.start;
            return Err(Defect::unsupported(at, Unsupported::PartReserved));
        }
        let part = Self {
            header_bytes: header.len(),
            fingerprint_bits: LE::read_u16(&header[part_header::FINGERPRINT_BITS]),
            number: LE::read_u16(&header[part_header::PART_NUMBER]),
            start_bit: LE::read_u16(&header[part_header::START_BIT]),
            part_bits: LE::read_u16(&header[part_header::PART_BITS]),
            key_bits: header[part_header::KEY_BITS.start],
            count: LE::read_u64(&header[part_header::COUNT]),
            coincidences: LE::read_u64(&header[part_header::COINCIDENCES]),
            base_crc: LE::read_u32(&header[part_header::BASE_CRC]),
        };
        let (fingerprint_bits, count) = (base.fingerprint_bits, base.count);
        let expected = Self { fingerprint_bits, number, count, base_crc, ..part };
        if part != expected {
            let at = part_header::FINGERPRINT_BITS.start;
            return Err(Defect::corrupt(at, Corruption::PartOfOtherBase { part: number }));
        }
        let end = u32::from(start_bit) + u32::from(part.part_bits);
        let is_last = number + 1 == base.part_count;
        let bits = u32::from(fingerprint_bits);
        let key_bits = u32::from(part.key_bits);
        if part.start_bit != start_bit
            || (if is_last { end != bits } else { end >= bits })
            || !(GROUP_BITS..=MOST_KEY_BITS.min(part.part_bits.into())).contains(&key_bits)
        {
            let (start, bits, key) = (part.start_bit, part.part_bits, part.key_bits);
            let corruption = Corruption::PartBits { start, bits, key };
            return Err(Defect::corrupt(part_header::START_BIT.start, corruption));
        }
        if !has_length(file, header.len(), part.piece_bytes().iter().sum()) {
            let file_bytes = file.len() as u64;
            let corruption = Corruption::PartLength { count, file_bytes };
            return Err(Defect::corrupt(part_header::COUNT.start, corruption));
        }
        Ok(part)
    }
}
