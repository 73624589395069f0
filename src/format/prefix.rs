//! What every file begins with, in this version of the format and in all to come (section 4.1 of
//! the specification).
//!
//! A header is checked here before anything in it is believed: with this alone a program tells a
//! damaged file from one of a version that it does not know.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{Defect, header_prefix};
use crate::error::{Corruption, Unsupported};

const VERSION_MAJOR: u16 = 1;
const VERSION_MINOR: u16 = 0;
/// The shortest header: the prefix and a CRC, rounded up [PRE-1].
const LEAST_HEADER_BYTES: usize = 24;
/// The longest header [PRE-3].
pub(crate) const MOST_HEADER_BYTES: u32 = 1 << 16;
/// Bytes of the CRC at the end of a header.
pub(crate) const CRC_BYTES: usize = 4;

/// A kind of file.
pub(crate) struct FileKind {
    /// What messages call it.
    pub(crate) name: &'static str,
    pub(crate) magic: [u8; 8],
    /// The length of its header [PRE-6], or the least where that depends on its fields.
    pub(crate) header_bytes: usize,
    /// Its reserved bytes [PRE-7], unless the length depends on its fields.
    pub(crate) reserved: Option<Range<usize>>,
}

impl FileKind {
    /// Fills in the prefix of a header, and its CRC, which is given.
    pub(crate) fn seal(&self, header: &mut [u8]) -> u32 {
        let end = header.len();
        header[header_prefix::MAGIC].copy_from_slice(&self.magic);
        LE::write_u16(&mut header[header_prefix::VERSION_MAJOR], VERSION_MAJOR);
        LE::write_u16(&mut header[header_prefix::VERSION_MINOR], VERSION_MINOR);
        LE::write_u32(&mut header[header_prefix::HEADER_BYTES], end as u32);
        let crc = crc32fast::hash(&header[..end - CRC_BYTES]);
        LE::write_u32(&mut header[end - CRC_BYTES..], crc);
        crc
    }

    /// Copies the header of `file`, which begins as a header of this version must, and gives its
    /// CRC too. A copy: the bytes of a mapped file may change after they were checked.
    pub(crate) fn header(&self, file: &[u8]) -> Result<(Vec<u8>, u32), Defect> {
        self.header_at_start(file, file.len() as u64)
    }

    /// As [`Self::header`], of a file of so many bytes; `file` are at least the first
    /// [`MOST_HEADER_BYTES`] of them, or all.
    pub(crate) fn header_at_start(
        &self,
        file: &[u8],
        file_bytes: u64,
    ) -> Result<(Vec<u8>, u32), Defect> {
        let name = self.name;
        if file.len() < LEAST_HEADER_BYTES {
            let corruption = Corruption::NoHeader { file: name, found: file_bytes };
            return Err(Defect::corrupt(0, corruption));
        }
        let mut found = [0; 8];
        found.copy_from_slice(&file[header_prefix::MAGIC]);
        if found != self.magic {
            return Err(Defect::corrupt(0, Corruption::Magic { file: name, found }));
        }
        let found = LE::read_u32(&file[header_prefix::HEADER_BYTES]);
        let fits = (LEAST_HEADER_BYTES as u32..=MOST_HEADER_BYTES).contains(&found);
        let header = file.get(..found as usize).filter(|_| fits && found % 8 == 0);
        let Some(header) = header.map(<[u8]>::to_vec) else {
            let corruption = Corruption::HeaderLength { file: name, found, file_bytes };
            return Err(Defect::corrupt(header_prefix::HEADER_BYTES.start, corruption));
        };
        let crc_at = header.len() - CRC_BYTES;
        let crc = LE::read_u32(&header[crc_at..]);
        let computed = crc32fast::hash(&header[..crc_at]);
        if crc != computed {
            let corruption = Corruption::HeaderChecksum { file: name, found: crc, computed };
            return Err(Defect::corrupt(crc_at, corruption));
        }
        let version = LE::read_u16(&header[header_prefix::VERSION_MAJOR]);
        if version != VERSION_MAJOR {
            let at = header_prefix::VERSION_MAJOR.start;
            let feature = Unsupported::Version { file: name, found: version };
            return Err(Defect::unsupported(at, feature));
        }
        match self.reserved.clone() {
            Some(reserved) => self.check_fields(&header, self.header_bytes, reserved)?,
            None if header.len() < self.header_bytes => {
                return Err(self.wrong_length(header.len()));
            }
            None => {}
        }
        Ok((header, crc))
    }

    /// Checks that a header has so many bytes, as this version gives it, and that its reserved
    /// bytes are 0.
    pub(crate) fn check_fields(
        &self,
        header: &[u8],
        header_bytes: usize,
        reserved: Range<usize>,
    ) -> Result<(), Defect> {
        if header.len() != header_bytes {
            return Err(self.wrong_length(header.len()));
        }
        match reserved.clone().find(|&at| header[at] != 0) {
            Some(at) => {
                Err(Defect::unsupported(at, Unsupported::HeaderReserved { file: self.name }))
            }
            None => Ok(()),
        }
    }

    /// A header of another length than this version gives it [PRE-6].
    fn wrong_length(&self, found: usize) -> Defect {
        let feature = Unsupported::HeaderLength { file: self.name, found: found as u32 };
        Defect::unsupported(header_prefix::HEADER_BYTES.start, feature)
    }
}
