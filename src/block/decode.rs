//! Gets keys back from a block.
//!
//! Memory-safe for any bytes: the CRC of a block is checked when it is first touched, but a page
//! of a mapped file may be evicted and come back changed.

use byteorder::{ByteOrder, LittleEndian as LE};

use super::scan::Kernel;
use crate::error::Corruption;
use crate::format::{Codec, Geometry};
use crate::huffman::Decoder;

/// Bytes behind a block that a [`BlockReader`] may load (and ignore). The footer of a table file is
/// longer.
pub(crate) const OVERHANG: usize = 8;

/// Reads the blocks of one table.
#[derive(Debug)]
pub(crate) struct BlockReader {
    codec: Codec,
    geometry: Geometry,
    decoder: Decoder,
    kernel: Kernel,
}

/// A block whose key count has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockView<'a> {
    number: u64,
    /// The block and its overhang.
    bytes: &'a [u8],
    keys: u32,
    first: u64,
}

impl BlockReader {
    pub(crate) fn new(codec: Codec, geometry: Geometry, code_lengths: &[u8]) -> Self {
        Self { codec, geometry, decoder: Decoder::new(code_lengths), kernel: Kernel::best() }
    }

    /// Reads the header of block `number`; `bytes` holds the block and [`OVERHANG`] bytes more.
    #[inline]
    pub(crate) fn view<'a>(
        &self,
        number: u64,
        bytes: &'a [u8],
    ) -> Result<BlockView<'a>, Corruption> {
        let geometry = &self.geometry;
        debug_assert_eq!(bytes.len(), geometry.block_bytes as usize + OVERHANG);
        let (keys, first) = geometry.block_header(bytes);
        if keys == 0 || geometry.stream_at(keys) > geometry.block_bytes as usize {
            return Err(Corruption::KeyCount { block: number, found: keys });
        }
        Ok(BlockView { number, bytes, keys, first })
    }

    /// Appends to `survivors` the numbers of all keys of the block that may be within `k` of
    /// `query`: of the first one, if it is; of the others, if their low L bits differ in at most
    /// `budget` bits. With L = 0 these are all of them. `budget` is k less the flips on the way to
    /// the block, which none of its low bits may have counted.
    #[inline]
    pub(crate) fn scan(
        &self,
        block: &BlockView<'_>,
        query: u64,
        k: u32,
        budget: u32,
        survivors: &mut Vec<u32>,
    ) {
        // The first key stands in full: the flips on the way are among its bits, and count again.
        if (block.first ^ query).count_ones() <= k {
            survivors.push(0);
        }
        let column = &block.bytes[self.geometry.column_at()..self.geometry.stream_at(block.keys)];
        self.kernel.scan(column, block.keys - 1, query, budget, survivors);
    }

    /// Puts the first `limit` keys of the block into `keys` (all, if it has fewer).
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-6] that one of these keys breaks.
    pub(crate) fn decode(
        &self,
        block: &BlockView<'_>,
        limit: u32,
        keys: &mut Vec<u64>,
    ) -> Result<(), Corruption> {
        self.decode_to(block, limit, keys).map(|_| ())
    }

    /// Decodes the whole block and checks that nothing but zeros follows [BLK-9].
    pub(crate) fn decode_strictly(
        &self,
        block: &BlockView<'_>,
        keys: &mut Vec<u64>,
    ) -> Result<(), Corruption> {
        let end = self.decode_to(block, u32::MAX, keys)?;
        let rest = &block.bytes[end / 8..self.geometry.block_bytes as usize];
        let dirty = match rest.split_first() {
            Some((partial, padding)) => {
                partial >> (end % 8) != 0 || padding.iter().any(|&b| b != 0)
            }
            None => false,
        };
        if dirty { Err(Corruption::BlockPadding { block: block.number }) } else { Ok(()) }
    }

    /// Decodes; gives the number of bits of the block, from its start, up to the last key decoded.
    fn decode_to(
        &self,
        block: &BlockView<'_>,
        limit: u32,
        keys: &mut Vec<u64>,
    ) -> Result<usize, Corruption> {
        let count = block.keys.min(limit) as usize;
        keys.clear();
        if count == 0 {
            return Ok(0);
        }
        keys.push(block.first);
        let low_bits = self.geometry.low_bits;
        let (end, result) = match self.codec {
            Codec::Xor => {
                self.middles(block, count, keys, |u, r, raw| (u >> r >> 1 << 1 | 1) << r | raw)
            }
            Codec::Gap => {
                self.middles(block, count, keys, |u, r, raw| u.wrapping_add((1 << r) | raw))
            }
        };
        let rest = block.keys as usize - 1;
        let column = &block.bytes[self.geometry.column_at()..self.geometry.stream_at(block.keys)];
        if low_bits > 0 && rest > 0 {
            for (plane, bytes) in column.chunks_exact(rest).enumerate() {
                for (key, byte) in keys[1..].iter_mut().zip(bytes) {
                    *key |= u64::from(*byte) << (8 * plane);
                }
            }
        }
        // Keys that were decoded before the stream broke come first.
        if let Some(at) = keys.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Corruption::KeyOrder { block: block.number, key: at as u32 + 1 });
        }
        result.map(|()| end)
    }

    /// Appends the middles of keys 1 to `count`, shifted into place, up to the first broken one.
    #[inline(always)]
    fn middles(
        &self,
        block: &BlockView<'_>,
        count: usize,
        keys: &mut Vec<u64>,
        step: impl Fn(u64, u32, u64) -> u64,
    ) -> (usize, Result<(), Corruption>) {
        let (low_bits, middle_bits) = (self.geometry.low_bits, self.geometry.middle_bits());
        let bytes = block.bytes;
        let end = 8 * self.geometry.block_bytes as usize;
        let mut at = 8 * self.geometry.stream_at(block.keys);
        let mut u = block.first >> low_bits;
        for i in 1..count {
            let (number, key) = (block.number, i as u32);
            let window = load(bytes, at);
            let (class, length) = self.decoder.decode(window);
            let raw_bits = middle_bits.saturating_sub(1 + class);
            let next = at + (length + raw_bits) as usize;
            if length == 0 && (at < end || self.decoder.is_empty()) {
                return (at, Err(Corruption::InvalidCode { block: number, key }));
            }
            if length == 0 || next > end {
                return (at, Err(Corruption::StreamOverrun { block: number, key }));
            }
            if class < middle_bits {
                let mask = (1 << raw_bits) - 1;
                let raw = if length + raw_bits <= 57 {
                    window >> length & mask
                } else {
                    // Up to 63 bits: the first 32, then the others.
                    let from = at + length as usize;
                    (load(bytes, from) & 0xFFFF_FFFF | load(bytes, from + 32) << 32) & mask
                };
                let v = step(u, raw_bits, raw);
                let fits = match self.codec {
                    Codec::Xor => u >> raw_bits & 1 == 0,
                    Codec::Gap => v > u && v.leading_zeros() >= low_bits,
                };
                if !fits {
                    return (at, Err(Corruption::ImpossibleClass { block: number, key }));
                }
                u = v;
            }
            keys.push(u << low_bits);
            at = next;
        }
        (at, Ok(()))
    }
}

/// At least 57 bits of the stream from bit `at` of `bytes` on, the first one least significant.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    LE::read_u64(&bytes[at / 8..at / 8 + 8]) >> (at % 8)
}
