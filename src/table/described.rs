//! The file of a table, and what its header and its footer say of it.

use std::io;
use std::path::PathBuf;

use crate::access::ReadFiles;
use crate::codec::huffman;
use crate::error::{Corruption, Error, Result};
use crate::format::{self, Defect, Footer, Geometry, SegmentEntry, TableHeader};
use crate::mapped::Bytes;

/// Bytes at the ends of a file that hold the header, and histogram, code lengths and footer; and
/// some more.
const END_BYTES: usize = 4096;

/// The file of a table, of which nothing was read yet.
pub(super) struct Found {
    path: PathBuf,
    bytes: Bytes,
}

/// A table of which header, codes and footer are sound. The router was not looked at.
pub(super) struct Described {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) header: TableHeader,
    pub(super) header_crc: u32,
    pub(super) footer: Footer,
    pub(super) geometry: Geometry,
    pub(super) code_lengths: Vec<u8>,
}

impl Found {
    /// Finds table `number` of a segment, and asks the system for both ends of its file.
    pub(super) fn open(files: &dyn ReadFiles, segment: u64, number: usize) -> Result<Self> {
        let name = format::table_name(segment, number);
        let path = files.path(&name);
        match files.bytes(&name) {
            Ok(bytes) => {
                let length = bytes.len();
                bytes.will_need(0..length.min(END_BYTES));
                bytes.will_need(length.saturating_sub(END_BYTES)..length);
                Ok(Self { path, bytes })
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                Err(Defect::corrupt(0, Corruption::TableMissing).in_file(&path))
            }
            Err(source) => Err(Error::io(&path, "open the table")(source)),
        }
    }

    /// Reads what describes the table, as number `number` of a segment of fingerprints of so many
    /// bits.
    pub(super) fn describe(
        self,
        segment: &SegmentEntry,
        (number, bits): (usize, u32),
    ) -> Result<Described> {
        let Self { path, bytes } = self;
        let describe = || {
            let (header, header_crc) = TableHeader::decode(&bytes, segment, number, bits)?;
            let footer = Footer::decode(&bytes, &header, header_crc, &segment.tables[number])?;
            let geometry = header.geometry(footer.block_count);
            let code_lengths = footer.code_lengths(&bytes, &geometry, header_crc)?;
            huffman::check_complete(&code_lengths, header.count)
                .map_err(|corruption| Defect::corrupt(geometry.codes().start, corruption))?;
            Ok((header, header_crc, footer, geometry, code_lengths))
        };
        let (header, header_crc, footer, geometry, code_lengths) =
            describe().map_err(|defect: Defect| defect.in_file(&path))?;
        Ok(Described { path, bytes, header, header_crc, footer, geometry, code_lengths })
    }
}
