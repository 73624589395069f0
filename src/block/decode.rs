//! Gets keys back from a block.
//!
//! Memory-safe for any bytes: the CRC of a block is checked when it is first touched, but a page
//! of a mapped file may be evicted and come back changed.

use super::candidate::Candidate;
use super::lanes::{self, LANES, Lane, Place, Streams};
use super::narrow::NarrowRuns;
use super::plain;
use super::runs::Runs;
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
    /// Where the kernel can decode by them, and they are worth it.
    pub(super) runs: Option<Runs>,
    pub(super) narrow_runs: Option<NarrowRuns>,
    /// The share of the codes in the bits of a stream, in 256ths.
    code_share: usize,
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

/// The low parts of the keys of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    /// Number of keys.
    pub(crate) keys: u32,
    /// The first key, whose low part is not in the planes.
    pub(crate) first: u64,
    /// The planes, one after the other, and what stands behind them.
    bytes: &'a [u8],
}

impl<'a> Column<'a> {
    /// The bytes of a plane, one for each key but the first, and what stands behind them.
    #[inline]
    pub(crate) fn plane(&self, plane: usize) -> &'a [u8] {
        self.bytes.get(plane * (self.keys as usize - 1)..).unwrap_or_default()
    }
}

impl BlockReader {
    pub(crate) fn new(codec: Codec, geometry: Geometry, code_lengths: &[u8]) -> Self {
        let symbols = Symbols::new(code_lengths, geometry.middle_bits());
        let code_share = symbols.code_share();
        let kernel = Kernel::Scalar;
        Self { codec, geometry, symbols, runs: None, narrow_runs: None, code_share, kernel }
            .with(Kernel::best())
    }

    /// The reader with another kernel.
    pub(super) fn with(self, kernel: Kernel) -> Self {
        let runs = if kernel.has_runs() { Runs::new(&self.symbols) } else { None };
        let narrow_runs = (kernel.has_narrow_runs() && self.codec == Codec::Gap)
            .then(|| NarrowRuns::new(&self.symbols))
            .flatten();
        Self { runs, narrow_runs, kernel, ..self }
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
        let planes = self.geometry.planes();
        // Without a column every key comes here, and the block is decoded whole.
        if number == 0 || planes == 0 {
            return true;
        }
        let low_mask = (1 << self.geometry.low_bits) - 1;
        let differs = low(self.column(block), planes, number) ^ query & low_mask;
        let near = differs.count_ones() <= budget;
        if near {
            let stream = self.stream_bytes(block);
            let share = stream.len() as u64 * u64::from(number) / u64::from(block.keys);
            let share = stream.len().min(share as usize);
            let codes = share * self.code_share / 256;
            mapped::prefetch(&stream[..codes]);
            mapped::prefetch(&stream[stream.len() - (share - codes)..]);
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
    /// within `k` of `query`. Decodes no further than the last of them; the whole block into `keys`,
    /// which is scratch space, where they are many, as they are without a column.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-5] that a key up to the last survivor breaks.
    pub(crate) fn matches(
        &self,
        block: &BlockView<'_>,
        query: u64,
        k: u32,
        survivors: &[u32],
        keys: &mut Vec<u64>,
        mut found: impl FnMut(u32, u64),
    ) -> Result<(), Corruption> {
        /// So many keys are decoded in the time that it takes to go on to one survivor.
        const KEYS_PER_STEP: usize = 16;
        if survivors.len() * KEYS_PER_STEP > block.keys as usize && survivors.len() > 1 {
            keys.resize(block.keys as usize, 0);
            // A broken key may stand behind the last survivor.
            if self.decode_block(block, keys).is_ok() {
                for &number in survivors {
                    if let Some(&key) = keys.get(number as usize)
                        && (key ^ query).count_ones() <= k
                    {
                        found(number, key);
                    }
                }
                return Ok(());
            }
        }
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
            let mut lanes: [_; LANES] = std::array::from_fn(|lane| {
                let (offset, block) = &group[lane];
                let (keys, behind) = std::mem::take(&mut rest).split_at_mut(block.keys as usize);
                rest = behind;
                keys[0] = block.first;
                let stream_at = 8 * (offset + self.geometry.stream_at(block.keys));
                let end = 8 * (offset + self.geometry.block_bytes as usize);
                let place = Place::new(stream_at, end, self.middle(block.first));
                Lane { column: self.column(block), keys, place }
            });
            let behind = group[LANES - 1].0 + self.geometry.block_bytes as usize;
            let next = &bytes[behind.min(bytes.len())..];
            let next = &next[..next.len().min(LANES * self.geometry.block_bytes as usize)];
            let streams = self.streams(bytes, next);
            if !self.symbols.is_complete() || !self.kernel.decode(&streams, &mut lanes) {
                return self.decode_one_by_one(blocks, keys);
            }
        }
        self.decode_one_by_one(groups.remainder(), rest)
    }

    fn streams<'a>(&'a self, bytes: &'a [u8], next: &'a [u8]) -> Streams<'a> {
        let Self { codec, ref geometry, ref symbols, ref runs, ref narrow_runs, .. } = *self;
        let (runs, narrow_runs) = (runs.as_ref(), narrow_runs.as_ref());
        Streams { codec, geometry, symbols, runs, narrow_runs, bytes, next }
    }

    /// Decodes blocks one after the other.
    fn decode_one_by_one(
        &self,
        blocks: &[(usize, BlockView<'_>)],
        mut keys: &mut [u64],
    ) -> Result<(), Corruption> {
        for (_, block) in blocks {
            let (of_block, rest) = keys.split_at_mut(block.keys as usize);
            keys = rest;
            self.decode_block(block, of_block).map_err(|(_, corruption)| corruption)?;
        }
        Ok(())
    }

    /// Decodes a block into `keys`, and gives the place behind its last key.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-5] that a key breaks, and the number of this key.
    fn decode_block(
        &self,
        block: &BlockView<'_>,
        keys: &mut [u64],
    ) -> Result<Place, (usize, Corruption)> {
        keys[0] = block.first;
        let mut stream = self.stream(block);
        let mut lane = Lane { column: stream.column, keys, place: stream.place };
        let streams = self.streams(block.bytes, &[]);
        if self.symbols.is_complete() && self.kernel.decode_one(&streams, &mut lane) {
            return Ok(lane.place);
        }
        // Key by key, to find the first that is broken.
        for (number, key) in keys.iter_mut().enumerate().skip(1) {
            stream.advance().map_err(|corruption| (number, corruption))?;
            *key = stream.key();
        }
        Ok(stream.place)
    }

    /// Decodes a whole block and checks what a query need not: the order of its keys [BLK-6], and
    /// that nothing but zeros stands between codes and raw bits [BLK-9], which comes last.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-6] and [BLK-9] that is broken.
    pub(crate) fn decode_strictly(
        &self,
        block: &BlockView<'_>,
        keys: &mut Vec<u64>,
    ) -> Result<(), Corruption> {
        keys.resize(block.keys as usize, 0);
        let decoded = self.decode_block(block, keys);
        if let Err((broken, _)) = decoded {
            keys.truncate(broken);
        }
        if let Some(at) = keys.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Corruption::KeyOrder { block: block.number, key: at as u32 + 1 });
        }
        let end = decoded.map_err(|(_, corruption)| corruption)?;
        if self.is_padded(block, &end) {
            Ok(())
        } else {
            Err(Corruption::BlockPadding { block: block.number })
        }
    }

    /// Whether the bits between the last code and the last raw bits of a block are zero.
    fn is_padded(&self, block: &BlockView<'_>, end: &Place) -> bool {
        let (start, end) = (end.codes, end.raws_end());
        let bit_range = |byte: usize| {
            // The bits of the byte that lie in the padding.
            let from = start.saturating_sub(8 * byte).min(8);
            let to = end.saturating_sub(8 * byte).min(8);
            (1u32 << to) - (1u32 << from.min(to))
        };
        let first = start / 8;
        let bytes = block.bytes.get(first..end.div_ceil(8)).unwrap_or_default();
        bytes.iter().zip(first..).all(|(&bits, byte)| u32::from(bits) & bit_range(byte) == 0)
    }

    /// The low parts of a block.
    #[inline]
    pub(crate) fn low_parts<'a>(&self, block: &BlockView<'a>) -> Column<'a> {
        let bytes = &block.bytes[self.geometry.column_at()..];
        Column { keys: block.keys, first: block.first, bytes }
    }

    fn middle(&self, key: u64) -> u64 {
        key >> self.geometry.low_bits
    }

    /// The bytes of the stream.
    fn stream_bytes<'a>(&self, block: &BlockView<'a>) -> &'a [u8] {
        &block.bytes[self.geometry.stream_at(block.keys)..self.geometry.block_bytes as usize]
    }

    fn column<'a>(&self, block: &BlockView<'a>) -> &'a [u8] {
        &block.bytes[self.geometry.column_at()..self.geometry.stream_at(block.keys)]
    }

    fn stream<'a>(&'a self, block: &BlockView<'a>) -> Stream<'a> {
        let start = 8 * self.geometry.stream_at(block.keys);
        let end = 8 * self.geometry.block_bytes as usize;
        Stream {
            reader: self,
            bytes: block.bytes,
            block: block.number,
            column: self.column(block),
            key: 0,
            place: Place::new(start, end, self.middle(block.first)),
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
    /// Number of the key in the block.
    key: u32,
    /// In bits from the start of the block.
    place: Place,
}

impl Stream<'_> {
    /// The key at this place, which is not the first.
    fn key(&self) -> u64 {
        let geometry = &self.reader.geometry;
        self.place.middle << geometry.low_bits | low(self.column, geometry.planes(), self.key)
    }

    /// Moves on to key number `key`, which is not before this one.
    fn advance_to(&mut self, key: u32) -> Result<(), Corruption> {
        let reader = self.reader;
        if reader.symbols.is_complete() && self.key < key {
            let mut place = self.place;
            let keys = (key - self.key) as usize;
            if reader.kernel.skip(&reader.streams(self.bytes, &[]), &mut place, keys) {
                (self.place, self.key) = (place, key);
                return Ok(());
            }
        }
        // Key by key, to find the first that is broken.
        while self.key < key {
            self.advance()?;
        }
        Ok(())
    }

    /// Moves on by one key.
    fn advance(&mut self) -> Result<(), Corruption> {
        let BlockReader { codec, ref geometry, ref symbols, .. } = *self.reader;
        let Place { codes, raws, middle: u } = self.place;
        let symbol = symbols.find(lanes::load(self.bytes, codes));
        let codes_end = codes + symbol.code_bits();
        // Codes and raw bits so far lie inside the block.
        let room = self.place.raws_end() - codes;
        if symbol.code_bits() == 0 || symbol.code_bits() + symbol.raw_bits() > room {
            return Err(self.broken(symbol, room));
        }
        let raw = plain::raw::<true>(self.bytes, raws, symbol);
        let (middle, fits) = match codec {
            Codec::Xor => (symbol.after_xor(u, raw), symbol.contradiction(u) == 0),
            Codec::Gap => {
                let v = symbol.after_gap(u, raw);
                (v, v >= u && v >> (geometry.middle_bits() - 1) <= 1)
            }
        };
        if !fits {
            return Err(Corruption::ImpossibleClass { block: self.block, key: self.key + 1 });
        }
        let raws = raws.wrapping_sub(symbol.raw_bits());
        self.place = Place { codes: codes_end, raws, middle };
        self.key += 1;
        Ok(())
    }

    /// Why the bits at this place, with `room` of them up to the raw bits, are no key.
    #[cold]
    fn broken(&self, symbol: Symbol, room: usize) -> Corruption {
        let (block, key) = (self.block, self.key + 1);
        if symbol.code_bits() == 0 && (room > 0 || self.reader.symbols.is_empty()) {
            Corruption::InvalidCode { block, key }
        } else {
            Corruption::StreamOverrun { block, key }
        }
    }
}
