//! Reads the base: every fingerprint once, in order.

use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::PathBuf;

use crate::access::ReadFiles;
use crate::chunked::{BadChunk, Chunks};
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::{Fingerprint, bytes_of, of_file_bytes};
use crate::format::{self, BaseHeader, CHUNK_BYTES, CRC_BYTES, Defect, SegmentEntry};
use crate::mapped::Bytes;

/// An open base. Any number of threads may use it.
pub(crate) struct Base<F> {
    pub(super) file: BodyFile,
    header: BaseHeader,
    rows: Range<usize>,
    width: PhantomData<F>,
}

/// A file with a body in chunks.
pub(super) struct BodyFile {
    path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) chunks: Chunks,
}

/// A file, and its path.
pub(super) type Opened = (PathBuf, Bytes);

impl BodyFile {
    /// Opens a file that the manifest names, and asks the system for its header and its directory.
    pub(super) fn bytes(files: &dyn ReadFiles, name: &str) -> Result<Opened> {
        let path = files.path(name);
        match files.bytes(name) {
            Ok(bytes) => {
                let directory = bytes.len() / CHUNK_BYTES * CRC_BYTES + CHUNK_BYTES;
                bytes.will_need(0..bytes.len().min(CHUNK_BYTES));
                bytes.will_need(bytes.len().saturating_sub(directory)..bytes.len());
                Ok((path, bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Defect::corrupt(0, Corruption::BaseMissing).in_file(&path))
            }
            Err(error) => Err(Error::io(&path, "open the file")(error)),
        }
    }

    pub(super) fn new(path: PathBuf, bytes: Bytes, chunks: Chunks) -> Self {
        Self { path, bytes, chunks }
    }

    /// Asks the system for the pages of some bytes, each about as long as a number of a row, all
    /// together.
    #[cold]
    pub(super) fn will_need(&self, starts: impl Iterator<Item = usize>) {
        // A start of a group that is not sound may lead anywhere.
        let starts = starts.filter(|&start| start < self.bytes.len());
        let mut pages: Vec<usize> = starts.map(|start| start / CHUNK_BYTES).collect();
        pages.sort_unstable();
        for run in pages.chunk_by(|one, next| next - one <= 1) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let end = self.bytes.len().min((last + 2) * CHUNK_BYTES);
            self.bytes.will_need(first * CHUNK_BYTES..end);
        }
    }

    /// Checks what holds these bytes.
    #[inline(always)]
    pub(super) fn check(&self, bytes: Range<usize>) -> Result<()> {
        self.chunks.check(&self.bytes, bytes).map_err(|bad| self.chunk_error(bad))
    }

    #[cold]
    pub(super) fn chunk_error(&self, bad: BadChunk) -> Error {
        let BadChunk { chunk, offset, found, computed } = bad;
        self.error(offset, Corruption::BaseChunkChecksum { chunk, found, computed })
    }

    /// The error for a rule that the bytes at `offset` break.
    #[cold]
    pub(super) fn error(&self, offset: usize, corruption: Corruption) -> Error {
        Defect::corrupt(offset, corruption).in_file(&self.path)
    }
}

impl<F: Fingerprint> Base<F> {
    /// Bytes of a row.
    pub(super) const ROW: usize = bytes_of::<F>();

    /// Opens the base of a segment: reads and checks header and directory; rows are read when they
    /// are needed.
    pub(crate) fn open(files: &dyn ReadFiles, segment: &SegmentEntry) -> Result<Self> {
        let (path, bytes) = BodyFile::bytes(files, &format::base_name(segment.number))?;
        let Some((entry, parts)) = segment.tables.split_first() else { return Err(Error::Ended) };
        let expected = (F::BITS as u16, parts.len() as u16, segment.count, segment.set_sum);
        let header = BaseHeader::decode(&bytes, entry, expected);
        let header = header.and_then(|header| {
            header.body().check_directory(&bytes, entry)?;
            Ok(header)
        });
        let header = header.map_err(|defect| defect.in_file(&path))?;
        let body = header.body();
        let chunks = Chunks::new(body.body.clone(), body.chunk_crcs.start, entry.header_crc);
        let file = BodyFile::new(path, bytes, chunks);
        Ok(Self { file, header, rows: body.body, width: PhantomData })
    }

    pub(super) fn header(&self) -> &BaseHeader {
        &self.header
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> u64 {
        self.header.count
    }

    /// The rows, which may not have been checked.
    #[inline(always)]
    pub(super) fn rows(&self) -> &[u8] {
        // [BAS-2]: they lie in the file.
        &self.file.bytes[self.rows.clone()]
    }

    /// The bytes of some rows, which there are, checked.
    #[inline]
    pub(crate) fn checked(&self, rows: Range<u64>) -> Result<&[u8]> {
        let at = self.place(rows.start)..self.place(rows.end);
        self.file.check(at.clone())?;
        Ok(&self.file.bytes[at])
    }

    /// Where a row begins.
    #[inline(always)]
    pub(super) fn place(&self, row: u64) -> usize {
        self.rows.start + row as usize * Self::ROW
    }

    /// A row, which there is.
    #[inline]
    pub(crate) fn row(&self, row: u64) -> Result<F> {
        of_file_bytes(self.checked(row..row + 1)?).ok_or(Error::Ended)
    }

    /// The row of a fingerprint, if there is one.
    pub(crate) fn position(&self, fingerprint: F) -> Result<Option<u64>> {
        let row = self.find(fingerprint)?;
        let is_there = row < self.count() && self.row(row)? == fingerprint;
        Ok(is_there.then_some(row))
    }

    /// Adds some rows, which there are, to `out`.
    pub(crate) fn read(&self, rows: Range<u64>, out: &mut Vec<F>) -> Result<()> {
        let bytes = self.checked(rows)?;
        out.extend(bytes.chunks_exact(Self::ROW).filter_map(of_file_bytes::<F>));
        Ok(())
    }

    /// The first of those rows that have no less fingerprint than this one; the number of all if
    /// there is none.
    pub(crate) fn find(&self, fingerprint: F) -> Result<u64> {
        let (mut start, mut end) = (0, self.count());
        while start < end {
            let middle = start + (end - start) / 2;
            if self.row(middle)? < fingerprint { start = middle + 1 } else { end = middle }
        }
        Ok(start)
    }
}
