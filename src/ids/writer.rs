//! Writes the file of the ids of a segment.

use std::io::Write;

use crate::error::Result;
use crate::format::{
    CHUNK_BYTES, GROUP_MARKS, IdsEntry, IdsHeader, chunk_crc, digits, directory_crc,
};
use crate::table::WriteError;

/// Bytes that are written together.
const PIECE_BYTES: usize = 256 * CHUNK_BYTES;

/// What the ids of a segment are.
pub(crate) struct IdsOptions {
    /// The CRC of the header of the identity table.
    pub(crate) table_crc: u32,
    /// Number of fingerprints.
    pub(crate) count: u64,
    /// Number of keys of each block of the identity table.
    pub(crate) key_counts: Vec<u32>,
    pub(crate) id_count: u64,
    pub(crate) greatest: u64,
}

/// Gives ids in the order of their fingerprints, and then of themselves.
pub(crate) trait IdSource {
    /// Gives marks in words, the first in the lowest bit: 1 for the first id of a fingerprint. The
    /// last word ends with zeros.
    fn visit_marks(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>;
    /// Gives the ids in pieces.
    fn visit_ids(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>;
}

/// Writes an ids file to `out`. Tells `progress` after each piece how many ids were written, and
/// stops with the error that it gives. Memory: 1 MiB, 4 bytes per 4096 bytes, and 8 bytes per 32,768 ids.
pub(crate) fn write_ids(
    options: &IdsOptions,
    source: &mut dyn IdSource,
    out: &mut dyn Write,
    progress: &dyn Fn(u64) -> Result<()>,
) -> Result<IdsEntry, WriteError> {
    let header = IdsHeader {
        header_bytes: IdsHeader::HEADER_BYTES,
        table_crc: options.table_crc,
        count: options.count,
        block_count: options.key_counts.len() as u64,
        id_count: options.id_count,
        id_bits: digits(options.greatest) as u8,
    };
    let (bytes, header_crc) = header.encode();
    out.write_all(&bytes)?;
    let geometry = header.geometry();
    let mut body = Body { header_crc, piece: Vec::new(), chunk_crcs: Vec::new(), out, error: None };
    let mut rank = 0;
    let mut ranks = Packed::new(geometry.rank_bits);
    for &keys in &options.key_counts {
        ranks.push(rank, &mut body)?;
        rank += u64::from(keys);
    }
    ranks.finish(&mut body)?;
    let mut mark_counts = Vec::new();
    if header.has_marks() {
        let (mut words, mut ones) = (0u64, 0u64);
        let visited = source.visit_marks(&mut |marks| {
            for &word in marks {
                if words.is_multiple_of(GROUP_MARKS / 64) {
                    mark_counts.extend(ones.to_le_bytes());
                }
                words += 1;
                ones += u64::from(word.count_ones());
                body.keep_error(|body| body.push(word))?;
            }
            progress(0)
        });
        visited.map_err(|error| body.take_error(error))?;
    }
    let mut ids = Packed::new(header.id_bits.into());
    let visited = source.visit_ids(&mut |piece| {
        for &id in piece {
            body.keep_error(|body| ids.push(id, body))?;
        }
        progress(piece.len() as u64)
    });
    visited.map_err(|error| body.take_error(error))?;
    ids.finish(&mut body)?;
    body.write_piece()?;
    let directory = [mark_counts, body.chunk_crcs].concat();
    let directory_crc = directory_crc(header_crc, &directory);
    body.out.write_all(&directory)?;
    body.out.write_all(&directory_crc.to_le_bytes())?;
    Ok(IdsEntry { file_bytes: geometry.file_bytes(), header_crc, directory_crc })
}

/// The body of the file, as far as it is written.
struct Body<'a> {
    header_crc: u32,
    /// What is not written yet; starts with a chunk.
    piece: Vec<u8>,
    chunk_crcs: Vec<u8>,
    out: &'a mut dyn Write,
    /// Why writing failed, while another error is on its way.
    error: Option<WriteError>,
}

impl Body<'_> {
    fn push(&mut self, word: u64) -> Result<(), WriteError> {
        self.piece.extend(word.to_le_bytes());
        if self.piece.len() >= PIECE_BYTES { self.write_piece() } else { Ok(()) }
    }

    fn write_piece(&mut self) -> Result<(), WriteError> {
        for chunk in self.piece.chunks(CHUNK_BYTES) {
            let number = self.chunk_crcs.len() as u64 / 4;
            self.chunk_crcs.extend(chunk_crc(self.header_crc, number, chunk).to_le_bytes());
        }
        self.out.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }

    /// Keeps the error of `write` aside, where only errors of this crate can pass.
    #[inline]
    fn keep_error(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), WriteError>,
    ) -> Result<()> {
        write(self).map_err(|error| {
            self.error = Some(error);
            crate::Error::Cancelled
        })
    }

    /// The error that was kept aside, or else this one.
    fn take_error(&mut self, error: crate::Error) -> WriteError {
        self.error.take().unwrap_or(WriteError::Other(error))
    }
}

/// Packs numbers of a fixed width into words, the lowest bit first.
struct Packed {
    bits: u32,
    word: u128,
    filled: u32,
}

impl Packed {
    fn new(bits: u32) -> Self {
        Self { bits, word: 0, filled: 0 }
    }

    /// Adds a number, which has no more bits than all have.
    #[inline]
    fn push(&mut self, number: u64, body: &mut Body<'_>) -> Result<(), WriteError> {
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
    fn finish(self, body: &mut Body<'_>) -> Result<(), WriteError> {
        if self.filled > 0 { body.push(self.word as u64) } else { Ok(()) }
    }
}
