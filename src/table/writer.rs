//! Writes the file of one table, from front to back, without seeking, from keys that come in
//! pieces.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::block::BlockWriter;
use crate::codec::profile::Coding;
use crate::error::Error;
use crate::format::{BitRange, Footer, Geometry, MAX_BLOCKS, TableEntry, TableHeader};
use crate::tasks;

/// Keys whose blocks are cut, encoded and written together; more where they do not fill a block.
const BATCH_KEYS: usize = 1 << 18;
/// Blocks that one task encodes.
const TASK_BLOCKS: usize = 64;

/// What a table is, besides its keys.
pub(crate) struct TableOptions {
    /// Bits of a fingerprint; those of a key are the coding's.
    pub(crate) fingerprint_bits: u32,
    pub(crate) coding: Coding,
    pub(crate) block_bytes: u32,
    /// Number of keys.
    pub(crate) count: u64,
    pub(crate) set_sum: u128,
    pub(crate) table_number: u16,
    pub(crate) top: Vec<BitRange>,
    /// Whether the number of keys of each block is wanted.
    pub(crate) count_keys: bool,
}

/// A table file that was written.
pub(crate) struct Written {
    /// What the manifest says of it.
    pub(crate) entry: TableEntry,
    /// Number of blocks.
    pub(crate) blocks: u64,
    /// Number of keys of each block, if that was wanted.
    pub(crate) key_counts: Vec<u32>,
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

/// How long the stages of writing took. With several threads writing overlaps the others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteTimes {
    pub(crate) cut: Duration,
    pub(crate) encode: Duration,
    pub(crate) write: Duration,
}

/// Writes one table. Blocks are encoded by the threads of the current pool; the bytes do not depend
/// on their number, nor on the pieces in which keys come. Memory: 24 bytes per block, of which 8
/// for all of the time, and two batches of blocks.
pub(crate) struct TableWriter<'a, W> {
    options: &'a TableOptions,
    out: &'a mut W,
    blocks: BlockWriter,
    geometry: Geometry,
    header_crc: u32,
    /// Keys of the block that is not full yet.
    open: Vec<u64>,
    last_keys: Vec<u64>,
    key_counts: Vec<u32>,
    /// Blocks that are encoded and not written, and a buffer for the next ones.
    encoded: Vec<u8>,
    spare: Vec<u8>,
    times: WriteTimes,
}

impl<'a, W: Write + Send> TableWriter<'a, W> {
    /// Writes the front of the file to `out`.
    pub(crate) fn new(options: &'a TableOptions, out: &'a mut W) -> Result<Self, WriteError> {
        let header = TableHeader {
            fingerprint_bits: options.fingerprint_bits,
            bits: options.coding.bits,
            codec: options.coding.codec,
            low_bits: options.coding.low_bits,
            block_bytes: options.block_bytes,
            count: options.count,
            set_sum: options.set_sum,
            table_number: options.table_number,
            top: options.top.clone(),
        };
        let mut front = header.encode();
        let header_crc = read_crc(&front);
        let geometry = header.geometry(0);
        front.resize(geometry.block(0).start, 0);
        out.write_all(&front)?;
        Ok(Self {
            options,
            out,
            blocks: BlockWriter::new(&options.coding, geometry, header_crc),
            geometry,
            header_crc,
            open: Vec::new(),
            last_keys: Vec::new(),
            key_counts: Vec::new(),
            encoded: Vec::new(),
            spare: Vec::new(),
            times: WriteTimes::default(),
        })
    }

    /// Writes the next keys; all keys together ascend, and strictly where they are whole. Calls
    /// `progress` with the number of keys of each batch, and stops with the error that it gives.
    pub(crate) fn push(
        &mut self,
        mut keys: &[u64],
        progress: &mut dyn FnMut(u64) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        while !self.open.is_empty() && !keys.is_empty() {
            let before = self.open.len();
            let taken = keys.len().min(before.max(64));
            let mut open = std::mem::take(&mut self.open);
            open.extend_from_slice(&keys[..taken]);
            match self.write_closed(&open)? {
                0 => {
                    self.open = open;
                    keys = &keys[taken..];
                    progress(taken as u64)?;
                }
                // Not less than `before`: those keys did not fill the block.
                closed => {
                    keys = &keys[closed - before..];
                    progress((closed - before) as u64)?;
                }
            }
        }
        let mut batch_keys = BATCH_KEYS;
        while !keys.is_empty() {
            let batch = &keys[..keys.len().min(batch_keys)];
            let closed = self.write_closed(batch)?;
            if closed == 0 && batch.len() == keys.len() {
                break;
            }
            batch_keys = if closed == 0 { 2 * batch_keys } else { BATCH_KEYS };
            progress(closed as u64)?;
            keys = &keys[closed..];
        }
        if !keys.is_empty() {
            self.open = keys.to_vec();
            progress(keys.len() as u64)?;
        }
        Ok(())
    }

    /// Writes all but the last of the blocks that `keys` make, which may take more keys. Gives the
    /// number of keys written.
    fn write_closed(&mut self, keys: &[u64]) -> Result<usize, WriteError> {
        let start = Instant::now();
        let starts = self.blocks.cut(keys);
        self.times.cut += start.elapsed();
        self.write_blocks(keys, &starts)
    }

    /// Encodes the blocks from each of `starts` to the next, and meanwhile writes those that were
    /// encoded before. Gives the last start.
    fn write_blocks(&mut self, keys: &[u64], starts: &[usize]) -> Result<usize, WriteError> {
        let blocks = starts.len().saturating_sub(1);
        let first = self.last_keys.len() as u64;
        if first + blocks as u64 > MAX_BLOCKS {
            let (count, block_bytes) = (self.options.count, self.options.block_bytes);
            return Err(WriteError::Other(Error::TooManyBlocks { count, block_bytes }));
        }
        self.last_keys.extend(starts.iter().skip(1).map(|&next| keys[next - 1]));
        if self.options.count_keys {
            self.key_counts.extend(starts.windows(2).map(|pair| (pair[1] - pair[0]) as u32));
        }
        let block_bytes = self.options.block_bytes as usize;
        self.spare.resize(blocks * block_bytes, 0);
        let (writer, out, encoded, spare) =
            (&self.blocks, &mut *self.out, &self.encoded, &mut self.spare);
        let write = || {
            let start = Instant::now();
            out.write_all(encoded).map(|()| start.elapsed())
        };
        let encode = || {
            let start = Instant::now();
            let pieces = spare.chunks_mut(TASK_BLOCKS * block_bytes).enumerate();
            tasks::map(pieces, |(task, out)| {
                for (i, out) in (task * TASK_BLOCKS..).zip(out.chunks_exact_mut(block_bytes)) {
                    out.fill(0);
                    writer.encode(first + i as u64, &keys[starts[i]..starts[i + 1]], out);
                }
            });
            start.elapsed()
        };
        let (written, encoded) = tasks::join(write, encode);
        self.times.write += written?;
        self.times.encode += encoded;
        std::mem::swap(&mut self.encoded, &mut self.spare);
        Ok(starts.last().copied().unwrap_or(0))
    }

    /// Writes the last block and all that follows.
    pub(crate) fn finish(mut self) -> Result<(Written, WriteTimes), WriteError> {
        let last = std::mem::take(&mut self.open);
        if !last.is_empty() {
            self.write_blocks(&last, &[0, last.len()])?;
        }
        let start = Instant::now();
        self.out.write_all(&self.encoded)?;
        let coding = &self.options.coding;
        let footer_crc = Footer::write_tail(
            (self.header_crc, coding.bits),
            &self.last_keys,
            &coding.code_lengths,
            &coding.histogram,
            self.out,
        )?;
        self.times.write += start.elapsed();
        let blocks = self.last_keys.len() as u64;
        let geometry = Geometry { block_count: blocks, ..self.geometry };
        let file_bytes = geometry.file_bytes();
        let entry = TableEntry { file_bytes, header_crc: self.header_crc, footer_crc };
        let key_counts = self.key_counts;
        Ok((Written { entry, blocks, key_counts }, self.times))
    }
}

/// The CRC at the end of an encoded header.
fn read_crc(header: &[u8]) -> u32 {
    header.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc))
}
