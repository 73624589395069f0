//! Gets keys back from a block.
//!
//! Memory-safe for any bytes: the CRC of a block is checked when it is first touched, but a page
//! of a mapped file may be evicted and come back changed.

use super::decode::{Code, Decoder, LANES, Lane, Place, Streams, decoder};
use super::scan::{Reading, Sieve};
use super::view::{BlockView, Candidate, OVERHANG, low};
use super::walk::Walk;
use crate::cover::Differs;
use crate::error::Corruption;
use crate::format::{Codec, Geometry, follows};
use crate::mapped;
use crate::simd::Level;

/// Reads the blocks of one table.
#[derive(Debug)]
pub(crate) struct BlockReader {
    pub(super) geometry: Geometry,
    code: Code,
    /// `None` if the code is not complete: no block has a second key.
    pub(super) decoder: Option<Decoder>,
    /// The share of the codes in the bits of a stream, in 256ths.
    code_share: usize,
    level: Level,
}

impl BlockReader {
    pub(crate) fn new(codec: Codec, geometry: Geometry, code_lengths: &[u8]) -> Self {
        Self::with(codec, geometry, code_lengths, Level::best())
    }

    /// A reader with these instructions.
    pub(super) fn with(
        codec: Codec,
        geometry: Geometry,
        code_lengths: &[u8],
        level: Level,
    ) -> Self {
        let code = Code::new(codec, &geometry, code_lengths);
        let (decoder, code_share) = (decoder(&code, level), code.symbols.code_share());
        Self { geometry, code, decoder, code_share, level }
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

    /// How many planes of the column [`sift`](super::sift) compares of some blocks.
    #[inline]
    pub(crate) fn first_planes(&self, budget: u32) -> usize {
        let block_bytes = self.geometry.block_bytes;
        Reading::Parts.first_planes(budget, block_bytes).min(self.geometry.planes())
    }

    /// The instructions that blocks are read with.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// A query within `k` for blocks of a table, whose file is `file`. The first of them has the
    /// number `first` among the candidates of all tables.
    #[inline]
    pub(crate) fn sieve<'a>(
        &'a self,
        file: &'a [u8],
        (query, k): (u64, u32),
        (first, candidates): (u32, &'a [Candidate]),
        (reading, keys_per_block): (Reading, usize),
    ) -> Sieve<'a> {
        let geometry = &self.geometry;
        Sieve { geometry, file, query, k, candidates, first, reading, keys_per_block }
    }

    /// Asks for the stream up to key `number`, as far as the average key tells.
    #[inline]
    pub(crate) fn prefetch_stream(&self, block: &BlockView<'_>, number: u32) {
        let stream = self.stream_bytes(block);
        let share = stream.len() as u64 * u64::from(number) / u64::from(block.keys);
        let share = stream.len().min(share as usize);
        let codes = share * self.code_share / 256;
        mapped::prefetch(&stream[..codes]);
        mapped::prefetch(&stream[stream.len() - (share - codes)..]);
    }

    /// Calls `found` with number and key of each of the `survivors`, whose numbers ascend, that is
    /// within `k` of `query`. Decodes no further than the last of them, into `scratch`.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-5] that a key up to the last survivor breaks.
    pub(crate) fn matches(
        &self,
        block: &BlockView<'_>,
        (query, k): (u64, u32),
        survivors: impl ExactSizeIterator<Item = u32> + Clone,
        scratch: &mut Vec<u64>,
        mut found: impl FnMut(u32, u64),
    ) -> Result<(), Corruption> {
        /// As many keys are decoded whole in the time that it takes to join one with its low part.
        const JOINED_AT_ONCE: usize = 8;
        /// From so many keys on it is worth while to go on to a single one without keeping those
        /// before it.
        const FAR: u32 = 256;
        let mut tell = |number, key: u64| {
            if (key ^ query).count_ones() <= k {
                found(number, key);
            }
        };
        let Some(last) = survivors.clone().last() else { return Ok(()) };
        if last == 0 {
            tell(0, block.first);
            return Ok(());
        }
        let is_whole = survivors.len() * JOINED_AT_ONCE > block.keys as usize;
        if is_whole && self.decode_into(block, scratch).is_ok() {
            for number in survivors {
                if let Some(&key) = scratch.get(number as usize) {
                    tell(number, key);
                }
            }
            return Ok(());
        }
        let mut walk = self.walk(block);
        let goes_on = survivors.len() == 1 && last > FAR;
        if !goes_on && last < block.keys && self.middles(&walk, last, scratch) {
            for number in survivors {
                let key = match scratch.get(number as usize) {
                    Some(middle) if number > 0 => walk.joined(*middle, number),
                    _ => block.first >> self.geometry.pad_bits(),
                };
                tell(number, self.as_key(key));
            }
            return Ok(());
        }
        // Or a key is broken, perhaps one behind the last survivor.
        for number in survivors {
            walk.advance_to(number)?;
            let key = if number == 0 { block.first } else { self.as_key(walk.key()) };
            tell(number, key);
        }
        Ok(())
    }

    /// Decodes a whole block into `keys`, which becomes as long.
    fn decode_into(&self, block: &BlockView<'_>, keys: &mut Vec<u64>) -> Result<(), Corruption> {
        keys.resize(block.keys as usize, 0);
        self.decode_block(block, keys).map(drop).map_err(|(_, corruption)| corruption)
    }

    /// Puts the middles of the keys up to number `last` of a block, and perhaps of some behind it,
    /// into `middles`, each at its number; false if a key is broken.
    fn middles(&self, walk: &Walk<'_>, last: u32, middles: &mut Vec<u64>) -> bool {
        let keys = walk.keys as usize;
        if middles.len() < keys {
            middles.resize(keys, 0);
        }
        let streams = Streams { code: &self.code, bytes: walk.bytes, next: &[] };
        let mut lane = Lane { column: &[], keys: &mut middles[..keys], place: walk.place };
        let last = last as usize;
        self.decoder.as_ref().is_some_and(|decoder| decoder.middles(&streams, &mut lane, last))
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
        let (pad, below) = (self.geometry.pad_bits(), self.geometry.below_middle());
        let mut rest = &mut keys[..];
        let mut groups = blocks.chunks_exact(LANES);
        for group in &mut groups {
            let mut lanes: [_; LANES] = std::array::from_fn(|lane| {
                let (offset, block) = &group[lane];
                let (keys, behind) = std::mem::take(&mut rest).split_at_mut(block.keys as usize);
                rest = behind;
                keys[0] = block.first >> pad;
                let stream_at = self.geometry.stream_at(block.keys);
                let end = 8 * (offset + self.geometry.block_bytes as usize);
                let place = Place::new(8 * (offset + stream_at), end, block.first >> below);
                // Not `Self::column`: what is done twice here is no longer inlined, which takes 7%
                // of the time.
                Lane { column: &block.bytes[self.geometry.column_at()..stream_at], keys, place }
            });
            let behind = group[LANES - 1].0 + self.geometry.block_bytes as usize;
            let next = &bytes[behind.min(bytes.len())..];
            let next = &next[..next.len().min(LANES * self.geometry.block_bytes as usize)];
            let streams = Streams { code: &self.code, bytes, next };
            let decode = |decoder: &Decoder| decoder.decode(&streams, &mut lanes);
            let sound = self.decoder.as_ref().is_some_and(decode);
            if !sound || !self.make_keys(lanes.iter_mut().map(|lane| &mut *lane.keys)) {
                return self.decode_one_by_one(blocks, keys);
            }
        }
        self.decode_one_by_one(groups.remainder(), rest)
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
        keys[0] = self.number(block.first);
        let mut walk = self.walk(block);
        let mut lane = Lane { column: walk.column, keys, place: walk.place };
        let streams = Streams { code: &self.code, bytes: block.bytes, next: &[] };
        let decoded =
            self.decoder.as_ref().is_some_and(|decoder| decoder.decode_one(&streams, &mut lane));
        let place = lane.place;
        if decoded && self.make_keys([&mut *keys].into_iter()) {
            return Ok(place);
        }
        // Key by key, to find the first that is broken.
        keys[0] = block.first;
        for (number, key) in keys.iter_mut().enumerate().skip(1) {
            walk.advance().map_err(|corruption| (number, corruption))?;
            *key = self.as_key(walk.key());
        }
        Ok(walk.place)
    }

    /// Decodes a whole block and checks what a query need not: the order of its keys [BLK-6], of
    /// which those that are `short` may be equal, and that nothing but zeros stands between codes
    /// and raw bits [BLK-9], which comes last.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-6] and [BLK-9] that is broken.
    pub(crate) fn decode_strictly(
        &self,
        block: &BlockView<'_>,
        short: bool,
        keys: &mut Vec<u64>,
    ) -> Result<(), Corruption> {
        keys.resize(block.keys as usize, 0);
        let decoded = self.decode_block(block, keys);
        if let Err((broken, _)) = decoded {
            keys.truncate(broken);
        }
        if let Some(at) = keys.windows(2).position(|pair| !follows(pair[0], pair[1], short)) {
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

    /// A key as the number that decoders work with.
    fn number(&self, key: u64) -> u64 {
        key >> self.geometry.pad_bits()
    }

    /// The key of such a number.
    fn as_key(&self, number: u64) -> u64 {
        number << self.geometry.pad_bits()
    }

    /// Makes keys of the numbers of some blocks; false if these have too many bits, as only broken
    /// ones do.
    #[inline(always)]
    fn make_keys<'k>(&self, mut blocks: impl Iterator<Item = &'k mut [u64]>) -> bool {
        let pad = self.geometry.pad_bits();
        pad == 0 || blocks.all(|numbers| shift_up(numbers, pad))
    }

    /// The low part of a key.
    pub(super) fn low(&self, key: u64) -> u64 {
        self.number(key) & ((1 << self.geometry.low_bits) - 1)
    }

    fn middle(&self, key: u64) -> u64 {
        key >> self.geometry.below_middle()
    }

    /// The bytes of the stream.
    fn stream_bytes<'a>(&self, block: &BlockView<'a>) -> &'a [u8] {
        &block.bytes[self.geometry.stream_at(block.keys)..self.geometry.block_bytes as usize]
    }

    pub(super) fn column<'a>(&self, block: &BlockView<'a>) -> &'a [u8] {
        &block.bytes[self.geometry.column_at()..self.geometry.stream_at(block.keys)]
    }

    /// From the first key of a block on.
    fn walk<'a>(&'a self, block: &BlockView<'a>) -> Walk<'a> {
        let start = 8 * self.geometry.stream_at(block.keys);
        let end = 8 * self.geometry.block_bytes as usize;
        Walk {
            code: &self.code,
            decoder: self.decoder.as_deref(),
            bytes: block.bytes,
            column: self.column(block),
            block: block.number,
            keys: block.keys,
            number: 0,
            place: Place::new(start, end, self.middle(block.first)),
        }
    }
}

/// Moves the numbers of a block to the upper ends of their words; false if some have bits there:
/// the last one has where any has.
#[inline(never)]
fn shift_up(numbers: &mut [u64], pad: u32) -> bool {
    let fit = numbers.last().is_none_or(|last| last.leading_zeros() >= pad);
    if fit {
        numbers.iter_mut().for_each(|number| *number <<= pad);
    }
    fit
}

/// A query for the keys of one block, of which all is seen that need not be decoded.
pub(crate) struct Refiner<'a> {
    column: &'a [u8],
    keys: u32,
    planes: usize,
    pad: u32,
    /// The low bits of the query.
    low: u64,
    first: Differs,
    /// The bits of the column.
    seen: u64,
}

impl BlockReader {
    /// Looks closer at keys of a block.
    #[inline(always)]
    pub(crate) fn refiner<'a>(&self, block: &BlockView<'a>, query: u64) -> Refiner<'a> {
        let (geometry, pad) = (&self.geometry, self.geometry.pad_bits());
        Refiner {
            column: self.column(block),
            keys: block.keys,
            planes: geometry.planes(),
            pad,
            low: self.low(query),
            first: Differs { bits: block.first ^ query, seen: u64::MAX << pad },
            seen: self.low(u64::MAX) << pad,
        }
    }
}

impl Refiner<'_> {
    /// The bits in which key `number` differs from the query, as far as they are seen, if these are
    /// within the budget: with the first key all of them, else those of the column.
    #[inline(always)]
    pub(crate) fn differs(&self, budget: u32, number: u32) -> Option<Differs> {
        if number == 0 {
            return Some(self.first);
        }
        let low = match self.planes {
            // Most columns have so many, and so the loop goes.
            4 => low(self.column, 4, self.keys, number),
            planes => low(self.column, planes, self.keys, number),
        };
        let differs = low ^ self.low;
        let seen = Differs { bits: differs << self.pad, seen: self.seen };
        (differs.count_ones() <= budget).then_some(seen)
    }
}
