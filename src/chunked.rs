//! Bodies of files that are read here and there: in chunks, each with a CRC that is checked when
//! something of it is read for the first time.

use std::io::Write;
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use crate::error::{Error, Result};
use crate::format::{CHUNK_BYTES, chunk_crc};
use crate::table::{Verified, WriteError};
use crate::tasks;

/// Bytes that are written together.
const PIECE_BYTES: usize = 256 * CHUNK_BYTES;

/// Writes such a body.
pub(crate) struct ChunkWriter<'a> {
    header_crc: u32,
    /// What is not written yet; starts with a chunk.
    piece: Vec<u8>,
    crcs: Vec<u8>,
    pub(crate) out: &'a mut dyn Write,
    /// Why writing failed, while another error is on its way.
    error: Option<WriteError>,
}

impl<'a> ChunkWriter<'a> {
    /// A body behind a header with this CRC, which was written to `out`.
    pub(crate) fn new(header_crc: u32, out: &'a mut dyn Write) -> Self {
        Self { header_crc, piece: Vec::new(), crcs: Vec::new(), out, error: None }
    }

    /// Adds a word.
    #[inline]
    pub(crate) fn push(&mut self, word: u64) -> Result<(), WriteError> {
        self.extend(&word.to_le_bytes())
    }

    /// Adds bytes.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES { self.write_chunks() } else { Ok(()) }
    }

    /// Writes all whole chunks.
    fn write_chunks(&mut self) -> Result<(), WriteError> {
        let whole = self.piece.len() / CHUNK_BYTES * CHUNK_BYTES;
        self.write(whole)
    }

    /// Writes the first `length` bytes of the piece, which end with a chunk.
    fn write(&mut self, length: usize) -> Result<(), WriteError> {
        for chunk in self.piece[..length].chunks(CHUNK_BYTES) {
            let number = self.crcs.len() as u64 / 4;
            self.crcs.extend(chunk_crc(self.header_crc, number, chunk).to_le_bytes());
        }
        self.out.write_all(&self.piece[..length])?;
        self.piece.drain(..length);
        Ok(())
    }

    /// Writes what is left, and gives the CRCs of all chunks.
    pub(crate) fn finish(&mut self) -> Result<Vec<u8>, WriteError> {
        self.write(self.piece.len())?;
        Ok(std::mem::take(&mut self.crcs))
    }

    /// Keeps the error of `write` aside, where only errors of this crate can pass.
    #[inline]
    pub(crate) fn keep_error(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), WriteError>,
    ) -> Result<()> {
        write(self).map_err(|error| {
            self.error = Some(error);
            Error::Cancelled
        })
    }

    /// The error that was kept aside, or else this one.
    pub(crate) fn take_error(&mut self, error: Error) -> WriteError {
        self.error.take().unwrap_or(WriteError::Other(error))
    }
}

/// Packs numbers of a fixed width into words, the lowest bit first.
pub(crate) struct Packed {
    bits: u32,
    word: u128,
    filled: u32,
}

impl Packed {
    pub(crate) fn new(bits: u32) -> Self {
        Self { bits, word: 0, filled: 0 }
    }

    /// Adds a number, which has no more bits than all have.
    #[inline]
    pub(crate) fn push(
        &mut self,
        number: u64,
        body: &mut ChunkWriter<'_>,
    ) -> Result<(), WriteError> {
        self.word |= u128::from(number) << self.filled;
        self.filled += self.bits;
        if self.filled < 64 {
            return Ok(());
        }
        body.push(self.word as u64)?;
        self.word >>= 64;
        self.filled -= 64;
        Ok(())
    }

    /// Ends the last word with zeros.
    pub(crate) fn finish(self, body: &mut ChunkWriter<'_>) -> Result<(), WriteError> {
        if self.filled > 0 { body.push(self.word as u64) } else { Ok(()) }
    }
}

/// The chunks of an open file.
pub(crate) struct Chunks {
    body: Range<usize>,
    /// Where the CRCs of the chunks stand, which lie in the file.
    crcs_at: usize,
    header_crc: u32,
    /// Those whose CRC was found right.
    verified: Verified,
}

/// A chunk whose CRC is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadChunk {
    pub(crate) chunk: u64,
    /// Where it begins in the file.
    pub(crate) offset: usize,
    pub(crate) found: u32,
    pub(crate) computed: u32,
}

impl Chunks {
    /// The chunks of a body, whose CRCs stand at an offset of the file, which has them.
    pub(crate) fn new(body: Range<usize>, crcs_at: usize, header_crc: u32) -> Self {
        let verified = Verified::none_of(body.len().div_ceil(CHUNK_BYTES));
        Self { body, crcs_at, header_crc, verified }
    }

    /// Number of chunks.
    pub(crate) fn count(&self) -> usize {
        self.body.len().div_ceil(CHUNK_BYTES)
    }

    /// Whether all were found right.
    #[inline(always)]
    pub(crate) fn are_verified(&self) -> bool {
        self.verified.all()
    }

    /// Checks the chunks that hold these bytes of the file, unless some thread has done it since
    /// the file was opened.
    #[inline]
    pub(crate) fn check(&self, file: &[u8], bytes: Range<usize>) -> Result<(), BadChunk> {
        if self.verified.all() || bytes.is_empty() {
            return Ok(());
        }
        let chunk = |at| (at - self.body.start) / CHUNK_BYTES;
        let (first, last) = (chunk(bytes.start), chunk(bytes.end - 1));
        // Most ask for few bytes.
        if first == last && self.verified.contains(first) {
            return Ok(());
        }
        self.check_chunks(file, first..last + 1)
    }

    /// Checks those of some chunks that no thread has checked.
    fn check_chunks(&self, file: &[u8], mut chunks: Range<usize>) -> Result<(), BadChunk> {
        chunks.try_for_each(|chunk| {
            if self.verified.contains(chunk) { Ok(()) } else { self.check_chunk(file, chunk) }
        })
    }

    /// Checks all chunks, with the threads of the current pool. The error is that of the first
    /// damaged one.
    pub(crate) fn check_all(&self, file: &[u8]) -> Result<(), BadChunk> {
        tasks::try_map(0..self.count(), |chunk| self.check_chunk(file, chunk)).map(drop)
    }

    /// Checks the CRC of a chunk.
    #[cold]
    pub(crate) fn check_chunk(&self, file: &[u8], chunk: usize) -> Result<(), BadChunk> {
        let offset = self.body.start + chunk * CHUNK_BYTES;
        let bytes = &file[offset..self.body.end.min(offset + CHUNK_BYTES)];
        let found = LE::read_u32(&file[self.crcs_at + 4 * chunk..]);
        let computed = chunk_crc(self.header_crc, chunk as u64, bytes);
        if found != computed {
            return Err(BadChunk { chunk: chunk as u64, offset, found, computed });
        }
        self.verified.insert(chunk);
        Ok(())
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.verified.heap_bytes()
    }
}
