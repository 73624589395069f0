//! What can be read of a base that is damaged, and what is damaged of part tables.

use std::marker::PhantomData;
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::base::{Base, BodyFile};
use crate::access::ReadFiles;
use crate::chunked::Chunks;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, of_file_bytes};
use crate::format::{self, BaseHeader, CHUNK_BYTES, PartHeader, SegmentEntry, chunk_crc};
use crate::mapped::Bytes;
use crate::set_sum;

/// A base of which neither header nor directory need be sound: the manifest says what stands in the
/// one, and each CRC of the other proves its chunk. The file may be cut.
pub(crate) struct SalvageBase<F> {
    bytes: Bytes,
    header_crc: u32,
    /// Where rows and CRCs stand in the whole file.
    rows: Range<usize>,
    crcs_at: usize,
    /// Whether the rows are those of the set, whatever the CRCs say.
    is_whole: bool,
    width: PhantomData<F>,
}

impl<F: Fingerprint> SalvageBase<F> {
    /// Rows of a chunk; none is cut by its end.
    pub(crate) const CHUNK_ROWS: usize = CHUNK_BYTES / Base::<F>::ROW;

    /// Opens the base of a segment.
    ///
    /// # Errors
    ///
    /// Where the file is missing, or the manifest says what no base can be.
    pub(crate) fn open(files: &dyn ReadFiles, segment: &SegmentEntry) -> Result<Self> {
        let (path, bytes) = BodyFile::bytes(files, &format::base_name(segment.number))?;
        let entry = segment.tables.first().ok_or(Error::Ended)?;
        let body = BaseHeader::salvage_body(&bytes, entry, (F::BITS as u16, segment.count));
        let body = body.map_err(|defect| defect.in_file(&path))?;
        let (rows, crcs_at) = (body.body, body.chunk_crcs.start);
        let header_crc = entry.header_crc;
        let mut base =
            Self { bytes, header_crc, rows, crcs_at, is_whole: false, width: PhantomData };
        base.is_whole = base.has_sum(segment.set_sum);
        Ok(base)
    }

    /// Number of chunks.
    pub(crate) fn chunk_count(&self) -> usize {
        self.rows.len().div_ceil(CHUNK_BYTES)
    }

    /// The bytes of a chunk, if the file has them.
    fn bytes(&self, chunk: usize) -> Option<&[u8]> {
        let start = self.rows.start + chunk * CHUNK_BYTES;
        self.bytes.get(start..self.rows.end.min(start + CHUNK_BYTES))
    }

    /// Whether a chunk and its CRC agree.
    pub(crate) fn is_proven(&self, chunk: usize) -> bool {
        let crc_at = self.crcs_at + 4 * chunk;
        let found = self.bytes.get(crc_at..crc_at + 4).map(LE::read_u32);
        let computed =
            self.bytes(chunk).map(|bytes| chunk_crc(self.header_crc, chunk as u64, bytes));
        found.is_some() && found == computed
    }

    /// The rows of a chunk, if they are known to be those of the set.
    pub(crate) fn chunk(&self, chunk: usize) -> Option<impl Iterator<Item = F>> {
        let is_known = self.is_whole || self.is_proven(chunk);
        let bytes = self.bytes(chunk).filter(|_| is_known)?;
        Some(bytes.chunks_exact(Base::<F>::ROW).filter_map(of_file_bytes::<F>))
    }

    /// Whether the rows ascend, and have this sum: then they are those of the set.
    fn has_sum(&self, set_sum: u128) -> bool {
        let Some(rows) = self.bytes.get(self.rows.clone()) else { return false };
        let rows = || rows.chunks_exact(Base::<F>::ROW).filter_map(of_file_bytes::<F>);
        let sum = rows().map(set_sum::term_of).fold(0, u128::wrapping_add);
        sum == set_sum && rows().is_sorted_by(|one, next| one < next)
    }
}

/// The number of chunks of a part table that are damaged.
///
/// # Errors
///
/// Where header or directory are damaged, or the file is missing.
pub(crate) fn damaged_chunks(
    files: &dyn ReadFiles,
    segment: &SegmentEntry,
    part: usize,
) -> Result<u64> {
    let (path, bytes) = BodyFile::bytes(files, &format::part_name(segment.number, part))?;
    let entry = segment.tables.get(part + 1).ok_or(Error::Ended)?;
    let body = PartHeader::salvage_body(&bytes, entry).and_then(|body| {
        body.check_directory(&bytes, entry)?;
        Ok(body)
    });
    let body = body.map_err(|defect| defect.in_file(&path))?;
    let chunks = Chunks::new(body.body, body.chunk_crcs.start, entry.header_crc);
    let damaged = (0..chunks.count()).filter(|&chunk| chunks.check_chunk(&bytes, chunk).is_err());
    Ok(damaged.count() as u64)
}
