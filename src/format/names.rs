//! The names file: header, directory, and the entries of both kinds of index (section 10 of the
//! specification).

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{
    CRC_BYTES, Defect, FileKind, MAX_CODE_BITS, NamesEntry, directory_crc, names_group,
    names_header, names_page,
};
use crate::error::Corruption;
pub(crate) use crate::id::MOST_NAME_BYTES;

const FILE: FileKind = FileKind {
    name: "names file",
    magic: *b"\x89FPSN\r\n\x1a",
    header_bytes: names_header::END,
    reserved: Some(names_header::RESERVED),
};
/// Names of a group.
pub(crate) const GROUP_NAMES: u64 = 64;
/// Groups of a page.
pub(crate) const PAGE_NAME_GROUPS: u64 = 64;
/// Names of a page.
pub(crate) const PAGE_NAMES: u64 = GROUP_NAMES * PAGE_NAME_GROUPS;
/// Bytes of the CRC behind the directory.
const DIRECTORY_CRC_BYTES: usize = 4;

/// What the header of a names file says.
#[derive(Clone, Debug)]
pub(crate) struct NamesHeader {
    /// Bytes of the header: the pages follow.
    pub(crate) header_bytes: usize,
    pub(crate) name_count: u64,
    /// Bytes of all names.
    pub(crate) name_bytes: u64,
    /// Bytes of the entries of all pages, and of their first names.
    pub(crate) directory_bytes: u64,
    /// Bits of the code of each value of a byte; 0 for one that has none.
    pub(crate) code_lengths: [u8; 256],
}

/// An entry of the directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageEntry {
    /// Where the page ends in the file.
    pub(crate) end: u64,
    /// Where its first name ends in the text of the directory.
    pub(crate) name_end: u64,
    /// Bytes of its index and its heads.
    pub(crate) front_bytes: u32,
    pub(crate) front_crc: u32,
}

/// An entry of the index of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupEntry {
    /// Where the group ends in its page.
    pub(crate) end: u32,
    pub(crate) crc: u32,
}

impl NamesEntry {
    /// What a manifest would say of a names file, by what it says of itself.
    pub(crate) fn describe(file: &[u8]) -> Option<Self> {
        let (_, header_crc) = FILE.header(file).ok()?;
        let directory_crc = LE::read_u32(file.last_chunk::<4>()?);
        Some(Self { file_bytes: file.len() as u64, header_crc, directory_crc })
    }
}

impl NamesHeader {
    /// Bytes of the header that is written.
    pub(crate) const HEADER_BYTES: usize = names_header::END;

    /// Number of pages.
    pub(crate) fn page_count(&self) -> u64 {
        self.name_count.div_ceil(PAGE_NAMES)
    }

    /// Number of names of a page, which there is.
    pub(crate) fn names_of(&self, page: u64) -> u64 {
        (self.name_count - page * PAGE_NAMES).min(PAGE_NAMES)
    }

    /// Number of groups of a page, which there is.
    pub(crate) fn groups_of(&self, page: u64) -> usize {
        self.names_of(page).div_ceil(GROUP_NAMES) as usize
    }

    /// Where the directory stands in a file of so many bytes. [NAM-2] makes sure that it does.
    pub(crate) fn directory(&self, file_bytes: usize) -> Range<usize> {
        let end = file_bytes - DIRECTORY_CRC_BYTES;
        end - self.directory_bytes as usize..end
    }

    /// The bytes of the header, and its CRC.
    pub(crate) fn encode(&self) -> ([u8; names_header::END], u32) {
        let mut header = [0; names_header::END];
        LE::write_u64(&mut header[names_header::NAME_COUNT], self.name_count);
        LE::write_u64(&mut header[names_header::NAME_BYTES], self.name_bytes);
        LE::write_u64(&mut header[names_header::DIRECTORY_BYTES], self.directory_bytes);
        let pairs = self.code_lengths.chunks_exact(2);
        for (byte, pair) in header[names_header::CODE_LENGTHS].iter_mut().zip(pairs) {
            *byte = pair[0] | pair[1] << 4;
        }
        let crc = FILE.seal(&mut header);
        (header, crc)
    }

    /// Decodes the header of `file`, and checks it but for the completeness of the code.
    pub(crate) fn decode(file: &[u8], entry: &NamesEntry) -> Result<Self, Defect> {
        let (found, expected) = (file.len() as u64, entry.file_bytes);
        if found != expected {
            return Err(Defect::corrupt(0, Corruption::NamesLength { found, expected }));
        }
        let (header, found) = FILE.header(file)?;
        if found != entry.header_crc {
            let corruption = Corruption::NamesNotInManifest { found, expected: entry.header_crc };
            return Err(Defect::corrupt(header.len() - CRC_BYTES, corruption));
        }
        let mut code_lengths = [0; 256];
        let bytes = &header[names_header::CODE_LENGTHS];
        for (pair, byte) in code_lengths.chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&[byte & 15, byte >> 4]);
        }
        let long = |&(_, &length): &(usize, &u8)| u32::from(length) > MAX_CODE_BITS;
        if let Some((byte, &found)) = code_lengths.iter().enumerate().find(long) {
            let at = names_header::CODE_LENGTHS.start + byte / 2;
            let corruption = Corruption::NamesCodeLength { byte: byte as u8, found };
            return Err(Defect::corrupt(at, corruption));
        }
        Ok(Self {
            header_bytes: header.len(),
            name_count: LE::read_u64(&header[names_header::NAME_COUNT]),
            name_bytes: LE::read_u64(&header[names_header::NAME_BYTES]),
            directory_bytes: LE::read_u64(&header[names_header::DIRECTORY_BYTES]),
            code_lengths,
        })
    }

    /// The defect for codes that are not complete [NAM-1].
    pub(crate) fn incomplete(&self) -> Defect {
        let codes = self.code_lengths.iter().filter(|&&length| length > 0).count() as u32;
        let corruption = Corruption::NamesCode { codes, names: self.name_count };
        Defect::corrupt(names_header::CODE_LENGTHS.start, corruption)
    }

    /// Checks the directory of `file`: that it is there, its CRC, and where it says that pages and
    /// their first names stand.
    pub(crate) fn check_directory(&self, file: &[u8], entry: &NamesEntry) -> Result<(), Defect> {
        let file_bytes = file.len() as u64;
        let needed =
            u128::from(self.directory_bytes) + (self.header_bytes + DIRECTORY_CRC_BYTES) as u128;
        let least = u128::from(self.page_count()) * names_page::END as u128;
        if needed > u128::from(file_bytes) || u128::from(self.directory_bytes) < least {
            let (found, names) = (self.directory_bytes, self.name_count);
            let corruption = Corruption::NamesDirectoryLength { found, names, file_bytes };
            return Err(Defect::corrupt(names_header::DIRECTORY_BYTES.start, corruption));
        }
        let directory = self.directory(file.len());
        let found = LE::read_u32(&file[directory.end..]);
        let computed = directory_crc(entry.header_crc, &file[directory.clone()]);
        if found != computed {
            let corruption = Corruption::NamesDirectoryChecksum { found, computed };
            return Err(Defect::corrupt(directory.end, corruption));
        }
        if found != entry.directory_crc {
            let expected = entry.directory_crc;
            let corruption = Corruption::NamesDirectoryNotInManifest { found, expected };
            return Err(Defect::corrupt(directory.end, corruption));
        }
        self.check_pages(file, directory)
    }

    /// [NAM-3].
    fn check_pages(&self, file: &[u8], directory: Range<usize>) -> Result<(), Defect> {
        let text_at = directory.start + self.page_count() as usize * names_page::END;
        let text_bytes = (directory.end - text_at) as u64;
        let (mut start, mut name_start) = (self.header_bytes as u64, 0);
        for page in 0..self.page_count() {
            let at = directory.start + page as usize * names_page::END;
            let PageEntry { end, name_end, front_bytes, .. } = PageEntry::decode(&file[at..]);
            let least = (self.groups_of(page) * names_group::END) as u64;
            let bytes = end.checked_sub(start).filter(|_| end <= directory.start as u64);
            let front = u64::from(front_bytes);
            if front < least || bytes.is_none_or(|bytes| front > bytes) {
                let corruption = Corruption::NamesPage { page, end, front: front_bytes };
                return Err(Defect::corrupt(at, corruption));
            }
            let bytes = name_end.checked_sub(name_start).filter(|_| name_end <= text_bytes);
            let is_last = page + 1 == self.page_count();
            if bytes.is_none_or(|bytes| bytes > MOST_NAME_BYTES as u64)
                || (is_last && name_end != text_bytes)
            {
                let corruption = Corruption::NamesFirst { page, end: name_end };
                return Err(Defect::corrupt(at + names_page::NAME_END.start, corruption));
            }
            (start, name_start) = (end, name_end);
        }
        // Without pages there is no text either.
        let (found, expected) = (start, directory.start as u64);
        if found != expected || (self.name_count == 0 && text_bytes > 0) {
            let corruption = Corruption::NamesPagesEnd { found, expected };
            return Err(Defect::corrupt(directory.start, corruption));
        }
        Ok(())
    }
}

impl PageEntry {
    pub(crate) const BYTES: usize = names_page::END;

    pub(crate) fn encode(&self) -> [u8; names_page::END] {
        let mut bytes = [0; names_page::END];
        LE::write_u64(&mut bytes[names_page::PAGE_END], self.end);
        LE::write_u64(&mut bytes[names_page::NAME_END], self.name_end);
        LE::write_u32(&mut bytes[names_page::FRONT_BYTES], self.front_bytes);
        LE::write_u32(&mut bytes[names_page::FRONT_CRC], self.front_crc);
        bytes
    }

    /// Reads the entry at the start of `bytes`, which has one.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        Self {
            end: LE::read_u64(&bytes[names_page::PAGE_END]),
            name_end: LE::read_u64(&bytes[names_page::NAME_END]),
            front_bytes: LE::read_u32(&bytes[names_page::FRONT_BYTES]),
            front_crc: LE::read_u32(&bytes[names_page::FRONT_CRC]),
        }
    }
}

impl GroupEntry {
    pub(crate) const BYTES: usize = names_group::END;

    pub(crate) fn encode(&self) -> [u8; names_group::END] {
        let mut bytes = [0; names_group::END];
        LE::write_u32(&mut bytes[names_group::GROUP_END], self.end);
        LE::write_u32(&mut bytes[names_group::GROUP_CRC], self.crc);
        bytes
    }

    /// Reads the entry at the start of `bytes`, which has one.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        Self {
            end: LE::read_u32(&bytes[names_group::GROUP_END]),
            crc: LE::read_u32(&bytes[names_group::GROUP_CRC]),
        }
    }
}
