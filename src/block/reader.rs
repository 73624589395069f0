//! Gets keys back from a block.
//!
//! Memory-safe for any bytes: the CRC of a block is checked when it is first touched, but a page
//! of a mapped file may be evicted and come back changed.

use super::candidate::Candidate;
use super::decode::{Code, Decoder, LANES, Lane, Place, Streams, decoder};
use super::scan::{Reading, Sieve};
use super::view::{BlockView, Column, OVERHANG, low};
use super::walk::Walk;
use crate::error::Corruption;
use crate::format::{Codec, Geometry};
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

    /// How many planes of the column [`Self::sift`] compares of some blocks.
    #[inline]
    pub(crate) fn first_planes(&self, budget: u32) -> usize {
        let block_bytes = self.geometry.block_bytes;
        Reading::Parts.first_planes(budget, block_bytes).min(self.geometry.planes())
    }

    /// Compares a query with the keys of blocks of a table, whose file is `file`, as far as rejects
    /// nearly all of them; see [`Sieve`].
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
        let sieve = Sieve { geometry: &self.geometry, file, query, k, candidates, reading };
        sieve.sift(self.level, ahead, survived)
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
        let differs = low(self.column(block), planes, number) ^ self.low(query);
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
        let column = self.column(block);
        for &key in known.iter().filter(|&&key| block.first < key) {
            let is_it = |&number: &u32| number > 0 && low(column, planes, number) == self.low(key);
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
        let mut walk = self.walk(block);
        for &number in survivors {
            walk.advance_to(number)?;
            let key = if number == 0 { block.first } else { self.as_key(walk.key()) };
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
                // Not `Self::column`: what is done twice here is no longer inlined, which takes 7% of the time.
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

    /// A key as the number that decoders work with.
    fn number(&self, key: u64) -> u64 {
        key >> self.geometry.pad_bits()
    }

    /// The key of such a number.
    fn as_key(&self, number: u64) -> u64 {
        number << self.geometry.pad_bits()
    }

    /// Makes keys of the numbers of some blocks; false if these have too many bits, as only broken ones do.
    #[inline(always)]
    fn make_keys<'k>(&self, mut blocks: impl Iterator<Item = &'k mut [u64]>) -> bool {
        let pad = self.geometry.pad_bits();
        pad == 0 || blocks.all(|numbers| shift_up(numbers, pad))
    }

    /// The low part of a key.
    fn low(&self, key: u64) -> u64 {
        self.number(key) & ((1 << self.geometry.low_bits) - 1)
    }

    fn middle(&self, key: u64) -> u64 {
        key >> self.geometry.below_middle()
    }

    /// The bytes of the stream.
    fn stream_bytes<'a>(&self, block: &BlockView<'a>) -> &'a [u8] {
        &block.bytes[self.geometry.stream_at(block.keys)..self.geometry.block_bytes as usize]
    }

    fn column<'a>(&self, block: &BlockView<'a>) -> &'a [u8] {
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
            number: 0,
            place: Place::new(start, end, self.middle(block.first)),
        }
    }
}

/// Moves the numbers of a block to the upper ends of their words; false if some have bits there: the last one has where
/// any has.
#[inline(never)]
fn shift_up(numbers: &mut [u64], pad: u32) -> bool {
    let fit = numbers.last().is_none_or(|last| last.leading_zeros() >= pad);
    if fit {
        numbers.iter_mut().for_each(|number| *number <<= pad);
    }
    fit
}
