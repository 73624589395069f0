//! Cuts sorted keys into blocks and encodes them.

use byteorder::{ByteOrder, LittleEndian as LE};

use crate::format::{Codec, Geometry};
use crate::huffman::{self, Code};
use crate::profile::{self, Coding};

/// Encodes the blocks of one table.
pub(crate) struct BlockWriter {
    codec: Codec,
    geometry: Geometry,
    codes: Vec<Code>,
    header_crc: u32,
}

impl BlockWriter {
    /// A writer for tables with this coding. `geometry` need not know the number of blocks.
    pub(crate) fn new(coding: &Coding, geometry: Geometry, header_crc: u32) -> Self {
        let codes = huffman::codes(&coding.code_lengths);
        Self { codec: coding.codec, geometry, codes, header_crc }
    }

    /// Where the blocks begin: the number of the first key of each, for ascending `keys`. Each
    /// block takes as many keys as fit. One pass, a few nanoseconds per key.
    pub(crate) fn cut(&self, keys: &[u64]) -> Vec<usize> {
        let (low_bits, planes) = (self.geometry.low_bits, self.geometry.planes());
        let room = 8 * (self.geometry.block_bytes as usize - self.geometry.column_at()) as u64;
        let key_bits: Vec<u64> = (0..self.geometry.classes())
            .map(|class| {
                let code = u64::from(self.codes[class].length);
                code + profile::raw_bits(class, low_bits) + 8 * planes as u64
            })
            .collect();
        let mut starts = Vec::new();
        let (mut used, mut before) = (u64::MAX, 0);
        for (i, &key) in keys.iter().enumerate() {
            let middle = key >> low_bits;
            if used <= room {
                used += key_bits[profile::class(self.codec, low_bits, before, middle) as usize];
            }
            if used > room {
                starts.push(i);
                used = 0;
            }
            before = middle;
        }
        starts
    }

    /// Encodes `keys`, those of block `number`, into `out`, which is zero and has the length of a
    /// block. They must be what [`Self::cut`] puts into one block.
    pub(crate) fn encode(&self, number: u64, keys: &[u64], out: &mut [u8]) {
        let geometry = &self.geometry;
        let low_bits = geometry.low_bits;
        let count = keys.len() as u32;
        geometry.write_block_header(out, count, keys[0]);
        let rest = &keys[1..];
        let column = &mut out[geometry.column_at()..geometry.stream_at(count)];
        if !rest.is_empty() {
            for (plane, bytes) in column.chunks_exact_mut(rest.len()).enumerate() {
                for (byte, key) in bytes.iter_mut().zip(rest) {
                    *byte = (key >> (8 * plane)) as u8;
                }
            }
        }
        let mut stream = BitWriter::new(&mut out[geometry.stream_at(count)..]);
        let mut u = keys[0] >> low_bits;
        for key in rest {
            let v = key >> low_bits;
            let class = profile::class(self.codec, low_bits, u, v) as usize;
            let raw_bits = profile::raw_bits(class, low_bits) as u32;
            let raw = match self.codec {
                Codec::Xor => v,
                Codec::Gap => v - u,
            };
            let code = self.codes[class];
            stream.put(u64::from(code.bits), u32::from(code.length));
            stream.put(raw & ((1 << raw_bits) - 1), raw_bits);
            u = v;
        }
        stream.finish();
        let crc = geometry.block_crc(self.header_crc, number, out);
        LE::write_u32(out, crc);
    }
}

/// Writes a stream whose bits are numbered from the least significant of its first byte.
struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    pending: u64,
    pending_bits: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0, pending: 0, pending_bits: 0 }
    }

    /// Appends the `bits` least significant bits of `value`, which has no others; at most 63.
    #[inline(always)]
    fn put(&mut self, value: u64, bits: u32) {
        self.pending |= value << self.pending_bits;
        self.pending_bits += bits;
        if self.pending_bits >= 64 {
            LE::write_u64(&mut self.out[self.at..], self.pending);
            self.at += 8;
            self.pending_bits -= 64;
            // What did not fit. Some bits were pending, or 63 could not have filled the word, so
            // the shift is less than 64.
            self.pending = value >> (bits - self.pending_bits);
        }
    }

    fn finish(self) {
        let bytes = self.pending_bits.div_ceil(8) as usize;
        self.out[self.at..][..bytes].copy_from_slice(&self.pending.to_le_bytes()[..bytes]);
    }
}
