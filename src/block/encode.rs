//! Cuts sorted keys into blocks and encodes them.

use byteorder::{ByteOrder, LittleEndian as LE};

use crate::codec::huffman;
use crate::codec::profile::{self, Coding};
use crate::format::{Codec, Geometry};

/// At least the number of classes; a power of two, so that no index needs a check.
const CLASSES: usize = 128;
/// Raw bits that fit a word beside 7 bits that are pending.
const NARROW_BITS: u32 = 56;

/// Encodes the blocks of one table.
pub(crate) struct BlockWriter {
    codec: Codec,
    geometry: Geometry,
    symbols: [Symbol; CLASSES],
    /// Whether some symbol has more than [`NARROW_BITS`] raw bits.
    is_wide: bool,
    header_crc: u32,
}

/// What is written for a key of some class.
#[derive(Clone, Copy, Default)]
struct Symbol {
    code: u16,
    code_bits: u8,
    raw_bits: u8,
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
                let raw_bits = profile::raw_bits(class, geometry.middle_bits()) as u8;
                let (code, code_bits) = (code.bits, code.length);
                *symbol = Symbol { code, code_bits, raw_bits, total_bits: code_bits + raw_bits };
            }
        }
        let is_wide = symbols.iter().any(|symbol| u32::from(symbol.raw_bits) > NARROW_BITS);
        Self { codec: coding.codec, geometry, symbols, is_wide, header_crc }
    }

    /// Where the blocks begin: the number of the first key of each, for ascending `keys`. Each
    /// block takes as many keys as fit. One pass, a few nanoseconds per key.
    pub(crate) fn cut(&self, keys: &[u64]) -> Vec<usize> {
        let (below, planes) = (self.geometry.below_middle(), self.geometry.planes());
        let room = 8 * (self.geometry.block_bytes as usize - self.geometry.column_at()) as u64;
        let column_bits = 8 * planes as u64;
        let mut starts = Vec::new();
        let (mut used, mut before) = (u64::MAX, 0);
        for (i, &key) in keys.iter().enumerate() {
            let middle = key >> below;
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
        let (pad, below) = (geometry.pad_bits(), geometry.below_middle());
        let count = keys.len() as u32;
        geometry.write_block_header(out, count, keys[0]);
        let rest = &keys[1..];
        let column = &mut out[geometry.column_at()..geometry.stream_at(count)];
        if !rest.is_empty() {
            for (plane, bytes) in column.chunks_exact_mut(rest.len()).enumerate() {
                for (byte, key) in bytes.iter_mut().zip(rest) {
                    *byte = (key >> (pad as usize + 8 * plane)) as u8;
                }
            }
        }
        let at = geometry.stream_at(count);
        let steps = keys.windows(2).map(|pair| (pair[0] >> below, pair[1] >> below));
        let out_stream = &mut out[at..];
        match (self.codec, self.is_wide) {
            (Codec::Xor, false) => self.stream::<false>(steps, |_, v| v, out_stream),
            (Codec::Gap, false) => self.stream::<false>(steps, |u, v| v - u, out_stream),
            (Codec::Xor, true) => self.stream::<true>(steps, |_, v| v, out_stream),
            (Codec::Gap, true) => self.stream::<true>(steps, |u, v| v - u, out_stream),
        }
        let crc = geometry.block_crc(self.header_crc, number, out);
        LE::write_u32(out, crc);
    }

    /// Writes the stream. `WIDE`: some symbols have more than [`NARROW_BITS`] raw bits. To look at
    /// each symbol instead takes 6% to 13% more time.
    #[inline(always)]
    fn stream<const WIDE: bool>(
        &self,
        steps: impl Iterator<Item = (u64, u64)>,
        raw: impl Fn(u64, u64) -> u64,
        out: &mut [u8],
    ) {
        let mut ends = Ends::new(out);
        for (u, v) in steps {
            let symbol = self.symbol(u, v);
            let (value, raw_bits) = (raw(u, v), u32::from(symbol.raw_bits));
            ends.put_code(symbol);
            if WIDE && raw_bits > NARROW_BITS {
                ends.put_raw(value >> 32, raw_bits - 32);
                ends.put_raw(value, 32);
            } else {
                ends.put_raw(value, raw_bits);
            }
        }
        ends.finish();
    }

    #[inline(always)]
    fn symbol(&self, u: u64, v: u64) -> Symbol {
        let class = profile::class(self.codec, self.geometry.below_middle(), u, v);
        self.symbols[class as usize % CLASSES]
    }
}

/// Writes codes from the start of a stream onward, and raw bits from its end backward.
struct Ends<'a> {
    out: &'a mut [u8],
    /// The byte of `out` that the next code goes to.
    start: usize,
    /// Bits of codes from there on, in the order of the stream.
    codes: u64,
    code_bits: u32,
    /// The end of the stream, behind some bytes that are written ahead. On its own, so that what is
    /// written ahead from one end does not reach what was written from the other.
    raw_bytes: Vec<u8>,
    /// Where the bytes end that raw bits go to.
    end: usize,
    /// Raw bits up to there, in the order of the stream: the first are most significant.
    raws: u64,
    raw_bits: u32,
}

impl<'a> Ends<'a> {
    /// `out` is zero.
    fn new(out: &'a mut [u8]) -> Self {
        let end = out.len() + size_of::<u64>();
        let raw_bytes = vec![0; end];
        Self { out, start: 0, codes: 0, code_bits: 0, raw_bytes, end, raws: 0, raw_bits: 0 }
    }

    /// Appends a code.
    #[inline(always)]
    fn put_code(&mut self, symbol: Symbol) {
        self.codes |= u64::from(symbol.code) << self.code_bits;
        self.code_bits += u32::from(symbol.code_bits);
        // Writes ahead, without a branch that depends on the keys.
        match self.out.get_mut(self.start..self.start + 8) {
            Some(out) => LE::write_u64(out, self.codes),
            None => {
                let rest = self.out.len() - self.start;
                self.out[self.start..].copy_from_slice(&self.codes.to_le_bytes()[..rest]);
            }
        }
        self.start += (self.code_bits / 8) as usize;
        self.codes >>= self.code_bits & !7;
        self.code_bits %= 8;
    }

    /// Appends the `bits` least significant bits of `value`, at most [`NARROW_BITS`].
    #[inline(always)]
    fn put_raw(&mut self, value: u64, bits: u32) {
        self.raws |= (value << 1 << (63 - bits)) >> self.raw_bits;
        self.raw_bits += bits;
        LE::write_u64(&mut self.raw_bytes[self.end - 8..self.end], self.raws);
        self.end -= (self.raw_bits / 8) as usize;
        self.raws <<= self.raw_bits & !7;
        self.raw_bits %= 8;
    }

    /// Puts the raw bits into their place.
    fn finish(self) {
        let raw_bytes = &self.raw_bytes[self.end - self.raw_bits.div_ceil(8) as usize..];
        let at = self.out.len() - raw_bytes.len();
        if let (Some((first, rest)), [out, behind @ ..]) =
            (raw_bytes.split_first(), &mut self.out[at..])
        {
            // The last code may end in this byte.
            *out |= first;
            behind.copy_from_slice(rest);
        }
    }
}
