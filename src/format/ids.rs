//! The ids file: header, directory, and where everything stands (section 9 of the specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{CRC_BYTES, Defect, FileKind, IdsEntry, ids_header};
use crate::error::Corruption;

const FILE: FileKind = FileKind {
    name: "ids file",
    magic: *b"\x89FPSI\r\n\x1a",
    header_bytes: ids_header::END,
    reserved: Some(ids_header::RESERVED),
};
/// Bytes of the body that share a CRC.
pub(crate) const CHUNK_BYTES: usize = 4096;
/// Marks that share an entry of the directory.
pub(crate) const GROUP_MARKS: u64 = 1 << 15;
/// Bytes of the CRC behind the directory.
const DIRECTORY_CRC_BYTES: usize = 4;

/// Number of binary digits of `n`; 0 has none.
pub(crate) fn digits(n: u64) -> u32 {
    64 - n.leading_zeros()
}

/// What the header of an ids file says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdsHeader {
    /// Bytes of the header: the ranks follow.
    pub(crate) header_bytes: usize,
    /// The CRC of the header of the identity table.
    pub(crate) table_crc: u32,
    /// Number of fingerprints.
    pub(crate) count: u64,
    /// Blocks of the identity table.
    pub(crate) block_count: u64,
    pub(crate) id_count: u64,
    pub(crate) id_bits: u8,
}

/// Where the parts of an ids file stand.
#[derive(Clone, Debug)]
pub(crate) struct IdsGeometry {
    pub(crate) rank_bits: u32,
    pub(crate) ranks: Range<usize>,
    pub(crate) marks: Range<usize>,
    pub(crate) ids: Range<usize>,
    pub(crate) mark_counts: Range<usize>,
    pub(crate) chunk_crcs: Range<usize>,
}

impl IdsGeometry {
    /// What is protected by the CRCs of chunks: ranks, marks and ids.
    pub(crate) fn body(&self) -> Range<usize> {
        self.ranks.start..self.ids.end
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        (self.chunk_crcs.end + DIRECTORY_CRC_BYTES) as u64
    }
}

impl IdsEntry {
    /// What a manifest would say of an ids file, by what it says of itself.
    pub(crate) fn describe(file: &[u8]) -> Option<Self> {
        let (_, header_crc) = FILE.header(file).ok()?;
        let directory_crc = LE::read_u32(file.last_chunk::<4>()?);
        Some(Self { file_bytes: file.len() as u64, header_crc, directory_crc })
    }
}

impl IdsHeader {
    /// Whether some fingerprint has several ids, so that there are marks.
    pub(crate) fn has_marks(&self) -> bool {
        self.id_count > self.count
    }

    fn rank_bits(&self) -> u32 {
        digits(self.count.saturating_sub(1))
    }

    /// Bytes of the parts in their order.
    fn part_bytes(&self) -> [u128; 5] {
        let words =
            |entries: u64, bits: u32| 8 * (u128::from(entries) * u128::from(bits)).div_ceil(64);
        let marks = if self.has_marks() { self.id_count } else { 0 };
        let body = [
            words(self.block_count, self.rank_bits()),
            words(marks, 1),
            words(self.id_count, self.id_bits.into()),
        ];
        let chunks = body.iter().sum::<u128>().div_ceil(CHUNK_BYTES as u128);
        let groups = u128::from(marks.div_ceil(GROUP_MARKS));
        [body[0], body[1], body[2], 8 * groups, 4 * chunks]
    }

    /// Where everything stands. [IDS-2] makes sure that it lies in the file.
    pub(crate) fn geometry(&self) -> IdsGeometry {
        let mut end = self.header_bytes;
        let [ranks, marks, ids, mark_counts, chunk_crcs] = self.part_bytes().map(|bytes| {
            let start = end;
            end += bytes as usize;
            start..end
        });
        IdsGeometry { rank_bits: self.rank_bits(), ranks, marks, ids, mark_counts, chunk_crcs }
    }

    /// Bytes of the header that is written.
    pub(crate) const HEADER_BYTES: usize = ids_header::END;

    /// The bytes of the header, and its CRC.
    pub(crate) fn encode(&self) -> ([u8; ids_header::END], u32) {
        let mut header = [0; ids_header::END];
        LE::write_u32(&mut header[ids_header::TABLE_CRC], self.table_crc);
        LE::write_u64(&mut header[ids_header::COUNT], self.count);
        LE::write_u64(&mut header[ids_header::BLOCK_COUNT], self.block_count);
        LE::write_u64(&mut header[ids_header::ID_COUNT], self.id_count);
        header[ids_header::ID_BITS.start] = self.id_bits;
        let crc = FILE.seal(&mut header);
        (header, crc)
    }

    /// Decodes and checks the header of `file`, which belongs to a table with this header CRC,
    /// count and number of blocks, if that is known.
    pub(crate) fn decode(
        file: &[u8],
        entry: &IdsEntry,
        (table_crc, count, block_count): (u32, u64, Option<u64>),
    ) -> Result<Self, Defect> {
        let (found, expected) = (file.len() as u64, entry.file_bytes);
        if found != expected {
            return Err(Defect::corrupt(0, Corruption::IdsLength { found, expected }));
        }
        let (header, found) = FILE.header(file)?;
        if found != entry.header_crc {
            let corruption = Corruption::IdsNotInManifest { found, expected: entry.header_crc };
            return Err(Defect::corrupt(header.len() - CRC_BYTES, corruption));
        }
        let ids = Self {
            header_bytes: header.len(),
            table_crc: LE::read_u32(&header[ids_header::TABLE_CRC]),
            count: LE::read_u64(&header[ids_header::COUNT]),
            block_count: LE::read_u64(&header[ids_header::BLOCK_COUNT]),
            id_count: LE::read_u64(&header[ids_header::ID_COUNT]),
            id_bits: header[ids_header::ID_BITS.start],
        };
        let blocks = block_count.unwrap_or(ids.block_count);
        if (ids.table_crc, ids.count, ids.block_count) != (table_crc, count, blocks) {
            let corruption =
                Corruption::IdsOfOtherTable { found: ids.table_crc, expected: table_crc };
            return Err(Defect::corrupt(ids_header::TABLE_CRC.start, corruption));
        }
        let parts = ids.part_bytes().iter().sum::<u128>();
        if ids.id_bits > 64
            || ids.id_count < count
            || (ids.id_count == 0) != (count == 0)
            || parts + (header.len() + DIRECTORY_CRC_BYTES) as u128 != file.len() as u128
        {
            let (ids, bits, file_bytes) = (ids.id_count, ids.id_bits, file.len() as u64);
            let corruption = Corruption::IdCount { ids, bits, count, file_bytes };
            return Err(Defect::corrupt(ids_header::ID_COUNT.start, corruption));
        }
        Ok(ids)
    }

    /// Checks the directory of `file`: its CRC and its order.
    pub(crate) fn check_directory(&self, file: &[u8], entry: &IdsEntry) -> Result<(), Defect> {
        let geometry = self.geometry();
        let directory = geometry.mark_counts.start..geometry.chunk_crcs.end;
        let found = LE::read_u32(&file[directory.end..]);
        let computed = directory_crc(entry.header_crc, &file[directory.clone()]);
        if found != computed {
            let corruption = Corruption::IdsDirectoryChecksum { found, computed };
            return Err(Defect::corrupt(directory.end, corruption));
        }
        if found != entry.directory_crc {
            let expected = entry.directory_crc;
            let corruption = Corruption::IdsDirectoryNotInManifest { found, expected };
            return Err(Defect::corrupt(directory.end, corruption));
        }
        let counts = file[geometry.mark_counts.clone()].chunks_exact(8).map(LE::read_u64);
        // Nothing is set before the first group, and a bit for each fingerprint in all of them.
        let mut least = 0;
        let mut most = 0;
        let mut left = self.id_count;
        let ends = if self.has_marks() { Some(self.count) } else { None };
        for (group, set) in counts.chain(ends).enumerate() {
            if set < least || set > most {
                let corruption = Corruption::MarkCounts { group: group as u64 };
                return Err(Defect::corrupt(geometry.mark_counts.start + 8 * group, corruption));
            }
            let marks = left.min(GROUP_MARKS);
            (least, most, left) = (set, set.saturating_add(marks), left - marks);
        }
        Ok(())
    }
}

/// The CRC of chunk `number` of an ids file.
pub(crate) fn chunk_crc(header_crc: u32, number: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header_crc.to_le_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// The CRC of the directory of an ids file.
pub(crate) fn directory_crc(header_crc: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header_crc.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}
