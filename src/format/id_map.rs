//! Id maps: header, footer, and the entries of directory and indexes (`format-spec/ID-MAP.md`).

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{Defect, FileKind, id_map_footer, id_map_group, id_map_header, id_map_page};
use crate::error::{Corruption, ID_MAP};

/// What a header of this kind begins with.
pub(crate) const ID_MAP_FILE: FileKind = FileKind {
    name: ID_MAP,
    magic: *b"\x89FPSN\r\n\x1a",
    header_bytes: id_map_header::END,
    // The reserved bytes count as part of the tail.
    fields_end: Some(id_map_header::RESERVED.start),
};
/// Strings of a group.
pub(crate) const GROUP_STRINGS: u64 = 64;
/// Groups of a page.
pub(crate) const PAGE_GROUPS: u64 = 512;
/// Strings of a page.
pub(crate) const PAGE_STRINGS: u64 = GROUP_STRINGS * PAGE_GROUPS;
/// Bytes of an entry of the directory, and of an index.
pub(crate) const ENTRY_BYTES: usize = id_map_group::END;
const _: () = assert!(id_map_page::END == ENTRY_BYTES);

/// What the footer says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IdMapFooter {
    pub(crate) string_count: u64,
    /// Bytes of all strings.
    pub(crate) text_bytes: u64,
    pub(crate) directory_crc: u32,
}

impl IdMapFooter {
    /// The bytes, and the CRC at their end.
    pub(crate) fn encode(&self, header_crc: u32) -> ([u8; id_map_footer::END], u32) {
        let mut bytes = [0; id_map_footer::END];
        LE::write_u64(&mut bytes[id_map_footer::STRING_COUNT], self.string_count);
        LE::write_u64(&mut bytes[id_map_footer::TEXT_BYTES], self.text_bytes);
        LE::write_u32(&mut bytes[id_map_footer::DIRECTORY_CRC], self.directory_crc);
        let crc = footer_crc(header_crc, &bytes);
        LE::write_u32(&mut bytes[id_map_footer::FOOTER_CRC], crc);
        (bytes, crc)
    }

    /// Reads the footer, which begins at byte `at` of its file; gives its CRC too.
    pub(crate) fn decode(
        bytes: &[u8; id_map_footer::END],
        at: usize,
        header_crc: u32,
    ) -> Result<(Self, u32), Defect> {
        let found = LE::read_u32(&bytes[id_map_footer::FOOTER_CRC]);
        let computed = footer_crc(header_crc, bytes);
        if found != computed {
            let corruption = Corruption::IdMapFooterChecksum { found, computed };
            return Err(Defect::corrupt(at + id_map_footer::FOOTER_CRC.start, corruption));
        }
        let footer = Self {
            string_count: LE::read_u64(&bytes[id_map_footer::STRING_COUNT]),
            text_bytes: LE::read_u64(&bytes[id_map_footer::TEXT_BYTES]),
            directory_crc: LE::read_u32(&bytes[id_map_footer::DIRECTORY_CRC]),
        };
        Ok((footer, found))
    }
}

fn footer_crc(header_crc: u32, footer: &[u8; id_map_footer::END]) -> u32 {
    crc(&header_crc.to_le_bytes(), &footer[..id_map_footer::FOOTER_CRC.start])
}

/// An entry of the directory or of an index: where a page or a group ends, and a CRC.
pub(crate) fn entry(end: u64, crc: u32) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    LE::write_u64(&mut bytes[id_map_group::GROUP_END], end);
    LE::write_u32(&mut bytes[id_map_group::GROUP_CRC], crc);
    bytes
}

/// The entries of the directory or of an index.
pub(crate) fn entries(bytes: &[u8]) -> impl Iterator<Item = (u64, u32)> {
    bytes.chunks_exact(ENTRY_BYTES).map(|entry| {
        (
            LE::read_u64(&entry[id_map_group::GROUP_END]),
            LE::read_u32(&entry[id_map_group::GROUP_CRC]),
        )
    })
}

/// The CRC of the index of page `number`, or of group `number`.
pub(crate) fn numbered_crc(number: u64, bytes: &[u8]) -> u32 {
    crc(&number.to_le_bytes(), bytes)
}

/// The CRC of a concatenation.
fn crc(before: &[u8], bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(before);
    hasher.update(bytes);
    hasher.finalize()
}
