//! The base and the part tables of a segment of wide fingerprints (section 8 of the specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{
    CHUNK_BYTES, CRC_BYTES, Defect, FileKind, MOST_HEADER_BYTES, TableEntry, base_header, digits,
    directory_crc, pad8, part_header,
};
use crate::error::{Corruption, Unsupported};

const BASE: FileKind = FileKind {
    name: "base file",
    magic: *b"\x89FPSB\r\n\x1a",
    header_bytes: base_header::END,
    reserved: Some(base_header::RESERVED),
};
const PART: FileKind = FileKind {
    name: "part file",
    magic: *b"\x89FPSP\r\n\x1a",
    header_bytes: part_header::END,
    // It is longer with a mask.
    reserved: None,
};
/// Keys of a part table that share a start.
pub(crate) const GROUP_KEYS: u64 = 1 << GROUP_BITS;
/// Bits of a key within its group.
pub(crate) const GROUP_BITS: u32 = 6;
/// Bits of a key at most.
pub(crate) const MOST_KEY_BITS: u32 = 32;
/// Fingerprints of a base at most.
pub(crate) const MOST_ROWS: u64 = u32::MAX as u64;
/// Bytes of a mask at most.
const MOST_MASK_BYTES: usize = 32;
/// Where the mask of a part table stands, behind the fields that every header has.
const MASK_AT: usize = part_header::RESERVED.end;
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
    /// The bits that rows are found by, and how many there are.
    pub(crate) keys: KeyBits,
    pub(crate) key_bits: u8,
    pub(crate) count: u64,
    /// Ordered pairs of different rows with the same key.
    pub(crate) coincidences: u64,
    /// The CRC of the header of the base.
    pub(crate) base_crc: u32,
}

/// Which bits of a fingerprint make the key of a part table, the first of them being the most
/// significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyBits {
    /// The first bits of a part, which is a range.
    Range { start_bit: u16, part_bits: u16 },
    /// The ones of a mask, which stands here as a row does in a base.
    Mask([u8; MOST_MASK_BYTES]),
}

impl KeyBits {
    /// The key_form of a header.
    fn form(self) -> u8 {
        match self {
            Self::Range { .. } => 0,
            Self::Mask(_) => 1,
        }
    }
}

/// The bits that some parts of a base have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TakenBits {
    /// key_form of the parts, if there are any.
    form: Option<u8>,
    /// The bit where their ranges end, and all bits of their masks.
    end: u16,
    mask: [u8; MOST_MASK_BYTES],
}

impl TakenBits {
    /// Adds those of the next part.
    pub(crate) fn take(&mut self, part: &PartHeader) {
        self.form = Some(part.keys.form());
        match part.keys {
            KeyBits::Range { start_bit, part_bits } => self.end = start_bit + part_bits,
            KeyBits::Mask(mask) => {
                self.mask.iter_mut().zip(mask).for_each(|(taken, own)| *taken |= own);
            }
        }
    }
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

    /// Checks the CRCs of the chunks as a whole: [FIL-3], [FIL-4].
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

    /// Where the rows stand. [BAS-2] makes sure that they lie in the file.
    pub(crate) fn body(&self) -> Body {
        Body::behind(self.header_bytes, self.count as usize * self.row_bytes())
    }

    /// Where the rows stand in a base of so many fingerprints, of which the header may be damaged,
    /// and the file cut.
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

    /// Decodes and checks the header of a base of a store of so many bits, which the manifest says
    /// this of.
    pub(crate) fn decode(
        file: &[u8],
        entry: &TableEntry,
        (fingerprint_bits, part_count, count, set_sum): (u16, u16, u64, u128),
    ) -> Result<Self, Defect> {
        let header = header_of(&BASE, file, entry)?;
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
    /// Bytes of the header that is written of a part of so many bits.
    pub(crate) fn written_bytes(keys: KeyBits, fingerprint_bits: u32) -> usize {
        match keys {
            KeyBits::Range { .. } => part_header::END,
            KeyBits::Mask(_) => {
                part_header::END + (fingerprint_bits as usize / 8).next_multiple_of(8)
            }
        }
    }

    /// Whether places are rows, which are not written then: a range from bit 0 on has the order of
    /// the base.
    pub(crate) fn is_in_base_order(&self) -> bool {
        self.number == 0 && matches!(self.keys, KeyBits::Range { .. })
    }

    /// Bits of the number of a row.
    fn row_bits(&self) -> u32 {
        if self.is_in_base_order() { 0 } else { digits(self.count.saturating_sub(1)) }
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
    pub(crate) fn encode(&self) -> (Vec<u8>, u32) {
        let mut header = vec![0; self.header_bytes];
        LE::write_u16(&mut header[part_header::FINGERPRINT_BITS], self.fingerprint_bits);
        LE::write_u16(&mut header[part_header::PART_NUMBER], self.number);
        match self.keys {
            KeyBits::Range { start_bit, part_bits } => {
                LE::write_u16(&mut header[part_header::START_BIT], start_bit);
                LE::write_u16(&mut header[part_header::PART_BITS], part_bits);
            }
            KeyBits::Mask(mask) => {
                let bytes = usize::from(self.fingerprint_bits) / 8;
                header[MASK_AT..][..bytes].copy_from_slice(&mask[..bytes]);
            }
        }
        header[part_header::KEY_BITS.start] = self.key_bits;
        header[part_header::KEY_FORM.start] = self.keys.form();
        LE::write_u64(&mut header[part_header::COUNT], self.count);
        LE::write_u64(&mut header[part_header::COINCIDENCES], self.coincidences);
        LE::write_u32(&mut header[part_header::BASE_CRC], self.base_crc);
        let crc = PART.seal(&mut header);
        (header, crc)
    }

    /// Where the body of a part table stands which the manifest says this of, as far as the header
    /// need not be decoded.
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

    /// The bits of keys of a header of a store of so many bits, which may not fit their place.
    fn decode_keys(header: &[u8], fingerprint_bits: u16) -> Result<KeyBits, Defect> {
        let form = header[part_header::KEY_FORM.start];
        if form > 1 {
            let at = part_header::KEY_FORM.start;
            return Err(Defect::unsupported(at, Unsupported::KeyForm { found: form }));
        }
        let mask_bytes = if form == 0 { 0 } else { usize::from(fingerprint_bits) / 8 };
        let header_bytes = pad8(part_header::END + mask_bytes);
        let behind = MASK_AT + mask_bytes..header_bytes - CRC_BYTES;
        PART.check_fields(header, header_bytes, part_header::RESERVED)?;
        PART.check_fields(header, header_bytes, behind)?;
        let start_bit = LE::read_u16(&header[part_header::START_BIT]);
        let part_bits = LE::read_u16(&header[part_header::PART_BITS]);
        if form == 0 {
            return Ok(KeyBits::Range { start_bit, part_bits });
        }
        // Bits of a range beside a mask leave it without bits, which is not allowed.
        let mut mask = [0; MOST_MASK_BYTES];
        let bytes = usize::from(fingerprint_bits) / 8;
        let found = header[..header.len() - CRC_BYTES].get(MASK_AT..MASK_AT + bytes);
        if let (Some(found), 0, 0) = (found, start_bit, part_bits) {
            mask[..bytes].copy_from_slice(found);
        }
        Ok(KeyBits::Mask(mask))
    }

    /// Checks that the bits of the key are those of a part behind the ones that have taken some.
    fn check_keys(&self, taken: &TakenBits, is_last: bool) -> Result<(), Defect> {
        let key_bits = u32::from(self.key_bits);
        let key = self.key_bits;
        let at = part_header::START_BIT.start;
        let is_of_form = taken.form.is_none_or(|form| form == self.keys.form());
        match self.keys {
            KeyBits::Range { start_bit, part_bits } => {
                let (end, bits) =
                    (u32::from(start_bit) + u32::from(part_bits), u32::from(self.fingerprint_bits));
                let fits = is_of_form
                    && start_bit == taken.end
                    && (if is_last { end == bits } else { end < bits })
                    && (GROUP_BITS..=MOST_KEY_BITS.min(part_bits.into())).contains(&key_bits);
                let corruption = Corruption::PartBits { start: start_bit, bits: part_bits, key };
                if fits { Ok(()) } else { Err(Defect::corrupt(at, corruption)) }
            }
            KeyBits::Mask(mask) => {
                let ones: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
                let fits = is_of_form
                    && mask.iter().zip(taken.mask).all(|(own, taken)| own & taken == 0)
                    && ones == key_bits
                    && (GROUP_BITS..=MOST_KEY_BITS).contains(&key_bits);
                let corruption = Corruption::PartMask { part: self.number, key };
                if fits { Ok(()) } else { Err(Defect::corrupt(at, corruption)) }
            }
        }
    }

    /// Decodes and checks the header of part table `number`, which belongs to a base with this CRC,
    /// behind parts that have taken some bits.
    pub(crate) fn decode(
        file: &[u8],
        entry: &TableEntry,
        (base, base_crc): (&BaseHeader, u32),
        (number, taken): (u16, &TakenBits),
    ) -> Result<Self, Defect> {
        let header = header_of(&PART, file, entry)?;
        let part = Self {
            header_bytes: header.len(),
            fingerprint_bits: LE::read_u16(&header[part_header::FINGERPRINT_BITS]),
            number: LE::read_u16(&header[part_header::PART_NUMBER]),
            keys: Self::decode_keys(&header, base.fingerprint_bits)?,
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
        part.check_keys(taken, number + 1 == base.part_count)?;
        if !has_length(file, header.len(), part.piece_bytes().iter().sum()) {
            let file_bytes = file.len() as u64;
            let corruption = Corruption::PartLength { count, file_bytes };
            return Err(Defect::corrupt(part_header::COUNT.start, corruption));
        }
        Ok(part)
    }
}
