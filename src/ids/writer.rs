//! Writes the file of the ids of a segment.

use std::io::Write;

use crate::chunked::{ChunkWriter, Packed};
use crate::error::Result;
use crate::format::{GROUP_MARKS, IdsEntry, IdsHeader, digits, directory_crc};
use crate::table::WriteError;

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
/// stops with the error that it gives. Memory: 1 MiB, 4 bytes per 4096 bytes, and 8 bytes per
/// 32,768 ids.
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
    let mut body = ChunkWriter::new(header_crc, out);
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
    let directory = [mark_counts, body.finish()?].concat();
    let directory_crc = directory_crc(header_crc, &directory);
    body.out.write_all(&directory)?;
    body.out.write_all(&directory_crc.to_le_bytes())?;
    Ok(IdsEntry { file_bytes: geometry.file_bytes(), header_crc, directory_crc })
}
