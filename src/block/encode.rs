//! Cuts sorted keys into blocks and encodes them.

use byteorder::{ByteOrder, LittleEndian as LE};

use crate::format::{Codec, Geometry};
use crate::huffman;
use crate::profile::{self, Coding};

/// At least the number of classes; a power of two, so that no index needs a check.
const CLASSES: usize = 128;
/// Bits of a code and its raw bits that fit a word beside 7 bits that are pending.
const NARROW_BITS: u8 = 56;

/// Encodes the blocks of one table.
pub(crate) struct BlockWriter {
    codec: Codec,
    geometry: Geometry,
    symbols: [Symbol; CLASSES],
    /// Whether some symbol has more than [`NARROW_BITS`] bits.
    is_wide: bool,
    header_crc: u32,
}

/// What is written for a key of some class.
#[derive(Clone, Copy, Default)]
struct Symbol {
    raw_mask: u64,
    code: u16,
    code_bits: u8,
    /// Bits of the code and of the raw bits.
    total_bits: u8,
}

impl BlockWriter {
    /// A writer for tables with this coding. `geometry` need not know the number of blocks.
    pub(crate) fn new(coding: &Coding, geometry: Geometry, header_crc: u32) -> Self {
        let mut symbols = [Symbol::default(); CLASSES];
        let codes = huffman::codes(&coding.code_lengths);
        for (class, (symbol, code)) in symbols.iter_mut().zip(codes).enumerate() {
            if code.length > 0 {
                let raw_bits = profile::raw_bits(class, geometry.low_bits) as u8;
                *symbol = Symbol {
                    raw_mask: (1 << raw_bits) - 1,
                    code: code.bits,
                    code_bits: code.length,
                    total_bits: code.length + raw_bits,
                };
            }
        }
        let is_wide = symbols.iter().any(|symbol| symbol.total_bits > NARROW_BITS);
        Self { codec: coding.codec, geometry, symbols, is_wide, header_crc }
    }

    /// Where the blocks begin: the number of the first key of each, for ascending `keys`. Each
    /// block takes as many keys as fit. One pass, a few nanoseconds per key.
    pub(crate) fn cut(&self, keys: &[u64]) -> Vec<usize> {
        let (low_bits, planes) = (self.geometry.low_bits, self.geometry.planes());
        let room = 8 * (self.geometry.block_bytes as usize - self.geometry.column_at()) as u64;
        let column_bits = 8 * planes as u64;
        let mut starts = Vec::new();
        let (mut used, mut before) = (u64::MAX, 0);
        for (i, &key) in keys.iter().enumerate() {
            let middle = key >> low_bits;
            if used <= room {
                used += u64::from(self.symbol(before, middle).total_bits) + column_bits;
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
        let at = geometry.stream_at(count);
        let steps = keys.windows(2).map(|pair| (pair[0] >> low_bits, pair[1] >> low_bits));
        match (self.codec, self.is_wide) {
            (Codec::Xor, false) => self.stream(steps, |_, v| v, &mut out[at..]),
            (Codec::Gap, false) => self.stream(steps, |u, v| v - u, &mut out[at..]),
            (Codec::Xor, true) => self.wide_stream(steps, |_, v| v, &mut out[at..]),
            (Codec::Gap, true) => self.wide_stream(steps, |u, v| v - u, &mut out[at..]),
        }
        let crc = geometry.block_crc(self.header_crc, number, out);
        LE::write_u32(out, crc);
    }

    /// Writes the stream of symbols that have at most [`NARROW_BITS`] bits each.
    #[inline(always)]
    fn stream(
        &self,
        steps: impl Iterator<Item = (u64, u64)>,
        raw: impl Fn(u64, u64) -> u64,
        out: &mut [u8],
    ) {
        // Bits that are not yet at `at`, and stand above those of the byte there.
        let (mut at, mut pending, mut pending_bits) = (0, 0u64, 0u32);
        for (u, v) in steps {
            let symbol = self.symbol(u, v);
            let value = raw(u, v) & symbol.raw_mask;
            pending |= (value << symbol.code_bits | u64::from(symbol.code)) << pending_bits;
            pending_bits += u32::from(symbol.total_bits);
            // Writes ahead, without a branch that depends on the keys.
            match out.get_mut(at..at + 8) {
                Some(out) => LE::write_u64(out, pending),
                None => {
                    let rest = out.len() - at;
                    out[at..].copy_from_slice(&pending.to_le_bytes()[..rest]);
                }
            }
            at += (pending_bits / 8) as usize;
            pending >>= pending_bits & !7;
            pending_bits %= 8;
        }
    }

    /// Writes the stream of symbols of any length.
    fn wide_stream(
        &self,
        steps: impl Iterator<Item = (u64, u64)>,
        raw: impl Fn(u64, u64) -> u64,
        out: &mut [u8],
    ) {
        let mut stream = BitWriter::new(out);
        for (u, v) in steps {
            let symbol = self.symbol(u, v);
            let raw_bits = u32::from(symbol.total_bits - symbol.code_bits);
            stream.put(u64::from(symbol.code), u32::from(symbol.code_bits));
            stream.put(raw(u, v) & symbol.raw_mask, raw_bits);
        }
        stream.finish();
    }

    #[inline(always)]
    fn symbol(&self, u: u64, v: u64) -> Symbol {
        let class = profile::class(self.codec, self.geometry.low_bits, u, v);
        self.symbols[class as usize % CLASSES]
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
