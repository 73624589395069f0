//! Gets keys back from a block.
//!
//! Memory-safe for any bytes: the CRC of a block is checked when it is first touched, but a page
//! of a mapped file may be evicted and come back changed.

use super::candidate::Candidate;
use super::lanes::{self, LANES, Lane, Place, Streams};
use super::scan::{self, Kernel, Reading};
use super::symbols::{Symbol, Symbols};
use crate::error::Corruption;
use crate::format::{Codec, Geometry};
use crate::mapped;

/// Bytes behind a block that a [`BlockReader`] may load (and ignore). The footer of a table file is
/// longer.
pub(crate) const OVERHANG: usize = 8;

/// Reads the blocks of one table.
#[derive(Debug)]
pub(crate) struct BlockReader {
    pub(super) codec: Codec,
    pub(super) geometry: Geometry,
    pub(super) symbols: Symbols,
    pub(super) kernel: Kernel,
}

/// A block whose key count has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockView<'a> {
    number: u64,
    /// The block and its overhang.
    bytes: &'a [u8],
    pub(crate) keys: u32,
    first: u64,
}

impl BlockReader {
    pub(crate) fn new(codec: Codec, geometry: Geometry, code_lengths: &[u8]) -> Self {
        let symbols = Symbols::new(code_lengths, geometry.middle_bits());
        Self { codec, geometry, symbols, kernel: Kernel::best() }
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
        if geometry.column(keys).is_none() {
            return Err(Corruption::KeyCount { block: number, found: keys });
        }
        Ok(BlockView { number, bytes, keys, first })
    }

    /// How many planes of the column [`Self::sift`] compares of some blocks.
    #[inline]
    pub(crate) fn first_planes(&self, budget: u32) -> usize {
        let block_bytes = self.geometry.block_bytes;
        Reading::Parts.first_planes(budget, block_bytes).min(self.geometry.planes())
    }

    /// Compares a query with the keys of blocks of a table, whose file is `file`, as far as rejects
    /// nearly all of them; see [`Sieve::run`](scan::Sieve).
    ///
    /// # Errors
    ///
    /// [BLK-2].
    #[inline]
    pub(crate) fn sift(
        &self,
        file: &[u8],
        query: u64,
        k: u32,
        (candidates, reading): (&[Candidate], Reading),
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        let sieve = scan::Sieve { geometry: &self.geometry, file, query, k, candidates, reading };
        self.kernel.sift(&sieve, ahead, survived)
    }

    /// Whether key `number`, which [`Self::sift`] has let through, may be within the budget by its
    /// whole column. If so, asks for the stream up to the key, as far as the average key tells.
    #[inline]
    pub(crate) fn refine(
        &self,
        block: &BlockView<'_>,
        query: u64,
        budget: u32,
        number: u32,
    ) -> bool {
        if number == 0 {
            return true;
        }
        let planes = self.geometry.planes();
        let low_mask = (1 << self.geometry.low_bits) - 1;
        let differs = low(self.column(block), planes, number) ^ query & low_mask;
        let near = differs.count_ones() <= budget;
        if near {
            let stream = &block.bytes[self.geometry.stream_at(block.keys)..];
            let share = stream.len() as u64 * u64::from(number) / u64::from(block.keys);
            mapped::prefetch(&stream[..stream.len().min(share as usize)]);
        }
        near
    }

    /// Drops the survivors that must be keys which are known to be stored: where `holds` says that
    /// a known key stands in the block, and only one survivor behind the first key has its low
    /// bits, that one is it. Does nothing with L = 0.
    pub(crate) fn drop_known(
        &self,
        block: &BlockView<'_>,
        known: &[u64],
        holds: impl Fn(u64) -> bool,
        survivors: &mut Vec<u32>,
    ) {
        let planes = self.geometry.planes();
        if planes == 0 {
            return;
        }
        let low_mask = (1 << self.geometry.low_bits) - 1;
        let column = self.column(block);
        for &key in known.iter().filter(|&&key| block.first < key) {
            let is_it = |&number: &u32| number > 0 && low(column, planes, number) == key & low_mask;
            let mut same = survivors.iter().enumerate().filter(|(_, number)| is_it(number));
            if let (Some((at, _)), None) = (same.next(), same.next())
                && holds(key)
            {
                survivors.remove(at);
            }
        }
    }

    /// Calls `found` with number and key of each of the `survivors`, whose numbers ascend, that is
    /// within `k` of `query`. Decodes no further than the last of them.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-5] that a key up to there breaks.
    pub(crate) fn matches(
        &self,
        block: &BlockView<'_>,
        query: u64,
        k: u32,
        survivors: &[u32],
        mut found: impl FnMut(u32, u64),
    ) -> Result<(), Corruption> {
        let mut stream = self.stream(block);
        for &number in survivors {
            stream.advance_to(number)?;
            let key = if number == 0 { block.first } else { stream.key() };
            if (key ^ query).count_ones() <= k {
                found(number, key);
            }
        }
        Ok(())
    }

    /// Puts the keys of some blocks into `keys`, several blocks at a time. `bytes` holds the
    /// blocks, each at the offset that comes with its view, and the overhang of the last; what
    /// stands behind a group of blocks is asked for while the group is decoded.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-5] that one of these keys breaks.
    pub(crate) fn decode(
        &self,
        bytes: &[u8],
        blocks: &[(usize, BlockView<'_>)],
        keys: &mut Vec<u64>,
    ) -> Result<(), Corruption> {
        keys.resize(blocks.iter().map(|(_, block)| block.keys as usize).sum(), 0);
        let mut rest = &mut keys[..];
        let mut groups = blocks.chunks_exact(LANES);
        for group in &mut groups {
            let lanes = std::array::from_fn(|lane| {
                let (offset, block) = &group[lane];
                let (keys, behind) = std::mem::take(&mut rest).split_at_mut(block.keys as usize);
                rest = behind;
                keys[0] = block.first;
                Lane {
                    column: self.column(block),
                    keys,
                    at: 8 * (offset + self.geometry.stream_at(block.keys)),
                    end: 8 * (offset + self.geometry.block_bytes as usize),
                }
            });
            let behind = group[LANES - 1].0 + self.geometry.block_bytes as usize;
            let next = &bytes[behind.min(bytes.len())..];
            let next = &next[..next.len().min(LANES * self.geometry.block_bytes as usize)];
            if !self.decode_group(bytes, next, lanes) {
                rest = &mut keys[..];
                return self.decode_one_by_one(blocks, rest);
            }
        }
        self.decode_one_by_one(groups.remainder(), rest)
    }

    /// Decodes blocks together; false if that cannot be done.
    fn decode_group(&self, bytes: &[u8], next: &[u8], mut lanes: [Lane<'_>; LANES]) -> bool {
        let Self { codec, ref geometry, ref symbols, kernel } = *self;
        let streams = Streams { codec, geometry, symbols, bytes, next };
        symbols.is_complete() && kernel.decode(&streams, &mut lanes)
    }

    /// Decodes blocks one after the other, key by key, and finds the first key that is broken.
    fn decode_one_by_one(
        &self,
        blocks: &[(usize, BlockView<'_>)],
        mut keys: &mut [u64],
    ) -> Result<(), Corruption> {
        for (_, block) in blocks {
            let (out, rest) = keys.split_at_mut(block.keys as usize);
            keys = rest;
            out[0] = block.first;
            let mut stream = self.stream(block);
            for (key, number) in out[1..].iter_mut().zip(1..) {
                stream.advance_to(number)?;
                *key = stream.key();
            }
        }
        Ok(())
    }

    /// Decodes a whole block and checks what a query need not: the order of its keys [BLK-6], and
    /// that nothing but zeros follows them [BLK-9], which comes last.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-6] and [BLK-9] that is broken.
    pub(crate) fn decode_strictly(
        &self,
        block: &BlockView<'_>,
        keys: &mut Vec<u64>,
    ) -> Result<(), Corruption> {
        let mut stream = self.stream(block);
        keys.clear();
        keys.push(block.first);
        let mut decoded = Ok(());
        for number in 1..block.keys {
            decoded = stream.advance_to(number);
            if decoded.is_err() {
                break;
            }
            keys.push(stream.key());
        }
        if let Some(at) = keys.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Corruption::KeyOrder { block: block.number, key: at as u32 + 1 });
        }
        decoded?;
        let end = stream.at;
        let rest = &block.bytes[end / 8..self.geometry.block_bytes as usize];
        let dirty = match rest.split_first() {
            Some((partial, padding)) => {
                partial >> (end % 8) != 0 || padding.iter().any(|&b| b != 0)
            }
            None => false,
        };
        if dirty { Err(Corruption::BlockPadding { block: block.number }) } else { Ok(()) }
    }

    fn column<'a>(&self, block: &BlockView<'a>) -> &'a [u8] {
        &block.bytes[self.geometry.column_at()..self.geometry.stream_at(block.keys)]
    }

    fn stream<'a>(&'a self, block: &BlockView<'a>) -> Stream<'a> {
        Stream {
            reader: self,
            bytes: block.bytes,
            block: block.number,
            column: self.column(block),
            at: 8 * self.geometry.stream_at(block.keys),
            key: 0,
            middle: block.first >> self.geometry.low_bits,
        }
    }
}

/// The low bits of key `number` of a block, which is not the first, from its column.
#[inline]
fn low(column: &[u8], planes: usize, number: u32) -> u64 {
    let others = column.len().checked_div(planes).unwrap_or(0);
    (0..planes).fold(0, |low, plane| {
        // A number that the block does not have comes from a page that has changed since.
        let byte = column.get(plane * others + number as usize - 1).copied().unwrap_or(0);
        low | u64::from(byte) << (8 * plane)
    })
}

/// A place in the stream of a block, behind one of its keys.
struct Stream<'a> {
    reader: &'a BlockReader,
    bytes: &'a [u8],
    block: u64,
    column: &'a [u8],
    /// Bits from the start of the block.
    at: usize,
    /// Number of the key in the block, and its middle.
    key: u32,
    middle: u64,
}

impl Stream<'_> {
    /// The key at this place, which is not the first.
    fn key(&self) -> u64 {
        let geometry = &self.reader.geometry;
        self.middle << geometry.low_bits | low(self.column, geometry.planes(), self.key)
    }

    /// Moves on to key number `key`, which is not before this one.
    fn advance_to(&mut self, key: u32) -> Result<(), Corruption> {
        let BlockReader { codec, ref geometry, ref symbols, kernel } = *self.reader;
        if symbols.is_complete() && self.key < key {
            let streams = Streams { codec, geometry, symbols, bytes: self.bytes, next: &[] };
            let mut place = Place { at: self.at, middle: self.middle };
            let end = 8 * geometry.block_bytes as usize;
            if kernel.skip(&streams, &mut place, (key - self.key) as usize, end) {
                (self.at, self.middle, self.key) = (place.at, place.middle, key);
                return Ok(());
            }
        }
        // Key by key, to find the first that is broken.
        match (self.reader.codec, lanes::is_wide(self.reader.geometry.middle_bits())) {
            (Codec::Xor, false) => self.advance::<true, false>(key),
            (Codec::Xor, true) => self.advance::<true, true>(key),
            (Codec::Gap, false) => self.advance::<false, false>(key),
            (Codec::Gap, true) => self.advance::<false, true>(key),
        }
    }

    #[inline(always)]
    fn advance<const XOR: bool, const WIDE: bool>(&mut self, key: u32) -> Result<(), Corruption> {
        let middle_bits = self.reader.geometry.middle_bits();
        let end = 8 * self.reader.geometry.block_bytes as usize;
        while self.key < key {
            let window = lanes::load(self.bytes, self.at);
            let symbol = self.reader.symbols.find(window);
            let next = self.at + symbol.total_bits();
            if symbol.total_bits() == 0 || next > end {
                return Err(self.broken(symbol, end));
            }
            let raw = lanes::raw::<WIDE>(self.bytes, self.at, window, symbol);
            let u = self.middle;
            let (v, fits) = if XOR {
                (symbol.after_xor(u, raw), symbol.contradiction(u) == 0)
            } else {
                let v = symbol.after_gap(u, raw);
                (v, v >= u && v >> (middle_bits - 1) <= 1)
            };
            if !fits {
                let (block, key) = (self.block, self.key + 1);
                return Err(Corruption::ImpossibleClass { block, key });
            }
            (self.middle, self.at) = (v, next);
            self.key += 1;
        }
        Ok(())
    }

    /// Why the bits at this place are no key.
    #[cold]
    fn broken(&self, symbol: Symbol, end: usize) -> Corruption {
        let (block, key) = (self.block, self.key + 1);
        let no_code = symbol.total_bits() == 0;
        if no_code && (self.at < end || self.reader.symbols.is_empty()) {
            Corruption::InvalidCode { block, key }
        } else {
            Corruption::StreamOverrun { block, key }
        }
    }
}
