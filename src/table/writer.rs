//! Writes the file of one table, from front to back, without seeking.

use std::io::{self, Write};

use rayon::prelude::*;

use crate::block::BlockWriter;
use crate::error::Error;
use crate::format::{BitRange, Footer, MAX_BLOCKS, TableEntry, TableHeader};
use crate::profile::Coding;

/// Blocks that are encoded before they are written.
const BATCH_BLOCKS: usize = 4096;

/// What a table is, besides its keys.
pub(crate) struct TableOptions {
    pub(crate) coding: Coding,
    pub(crate) block_bytes: u32,
    pub(crate) set_sum: u128,
    pub(crate) table_number: u16,
    pub(crate) top: Vec<BitRange>,
}

/// A table file that was written.
pub(crate) struct Written {
    /// What the manifest says of it.
    pub(crate) entry: TableEntry,
    /// Number of blocks.
    pub(crate) blocks: u64,
}

/// Why a table could not be written.
pub(crate) enum WriteError {
    Io(io::Error),
    Other(Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes the table of `keys`, which ascend strictly, to `out`. Calls `progress` with the number of
/// keys of each batch written. Blocks are encoded by the threads of the current pool; the bytes do
/// not depend on their number. Memory: 32 bytes per block, and a batch.
pub(crate) fn write_table(
    keys: &[u64],
    options: &TableOptions,
    out: &mut impl Write,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Written, WriteError> {
    let header = TableHeader {
        codec: options.coding.codec,
        low_bits: options.coding.low_bits,
        block_bytes: options.block_bytes,
        count: keys.len() as u64,
        set_sum: options.set_sum,
        table_number: options.table_number,
        top: options.top.clone(),
    };
    let mut front = header.encode();
    let header_crc = read_crc(&front);
    let geometry = header.geometry(0);
    front.resize(geometry.block(0).start, 0);
    out.write_all(&front)?;

    let writer = BlockWriter::new(&options.coding, geometry, header_crc);
    let starts = writer.cut(keys);
    if starts.len() as u64 > MAX_BLOCKS {
        let (count, block_bytes) = (keys.len() as u64, options.block_bytes);
        return Err(WriteError::Other(Error::TooManyBlocks { count, block_bytes }));
    }
    let end_of = |block: usize| starts.get(block + 1).copied().unwrap_or(keys.len());
    let block_bytes = options.block_bytes as usize;
    let mut batch = vec![0; block_bytes * BATCH_BLOCKS.min(starts.len())];
    for first in (0..starts.len()).step_by(BATCH_BLOCKS) {
        let blocks = BATCH_BLOCKS.min(starts.len() - first);
        let bytes = &mut batch[..blocks * block_bytes];
        bytes.par_chunks_exact_mut(block_bytes).enumerate().for_each(|(i, out)| {
            let block = first + i;
            out.fill(0);
            writer.encode(block as u64, &keys[starts[block]..end_of(block)], out);
        });
        out.write_all(bytes)?;
        progress((end_of(first + blocks - 1) - starts[first]) as u64);
    }

    let last_keys: Vec<u64> = (0..starts.len()).map(|block| keys[end_of(block) - 1]).collect();
    let coding = &options.coding;
    let (tail, footer_crc) =
        Footer::encode_tail(header_crc, &last_keys, &coding.code_lengths, &coding.histogram);
    out.write_all(&tail)?;
    let blocks = starts.len() as u64;
    let file_bytes = header.geometry(blocks).file_bytes();
    Ok(Written { entry: TableEntry { file_bytes, header_crc, footer_crc }, blocks })
}

/// The CRC at the end of an encoded header.
fn read_crc(header: &[u8]) -> u32 {
    header.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc))
}
