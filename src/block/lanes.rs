//! Decodes several blocks at once.
//!
//! Each key of a stream starts where the one before it ends, so one block is a chain of dependent
//! steps: load, look up, add. The chains of [`LANES`] blocks are independent, and a CPU works on
//! all of them together. Where keys are short, one load serves several of them. What a step need
//! not know to go on is checked once per block: whether the stream has left its block, and whether
//! the last middle still has its bits.

use byteorder::{ByteOrder, LittleEndian as LE};

use super::symbols::{Symbol, Symbols};
use crate::format::{Codec, Geometry};
use crate::mapped;

/// Blocks that are decoded together.
pub(super) const LANES: usize = 4;
/// Bits that a load at any bit of a byte is sure to bring.
pub(super) const LOAD_BITS: usize = 57;
/// Middles that each lane decodes before they are joined with their low parts.
const CHUNK: usize = 64;

/// A block that is being decoded.
pub(super) struct Lane<'a> {
    pub(super) column: &'a [u8],
    /// Room for its keys. The first one is there.
    pub(super) keys: &'a mut [u64],
    /// Where the next key begins, and where the block ends, in bits.
    pub(super) at: usize,
    pub(super) end: usize,
}

/// At least 57 bits of the stream from bit `at` of `bytes` on, the first one least significant; 0
/// behind the end of `bytes`.
#[inline(always)]
pub(super) fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at / 8..at / 8 + 8) {
        Some(word) => LE::read_u64(word) >> (at % 8),
        None => 0,
    }
}

/// The raw bits of a symbol that starts at bit `at`, and at the start of `window`.
#[inline(always)]
pub(super) fn raw<const WIDE: bool>(bytes: &[u8], at: usize, window: u64, symbol: Symbol) -> u64 {
    if WIDE && symbol.total_bits() > LOAD_BITS {
        // More than 46 bits: the first 32, then the others.
        let from = at + symbol.code_bits();
        symbol.raw(load(bytes, from) & 0xFFFF_FFFF | load(bytes, from + 32) << 32)
    } else {
        symbol.raw(window >> symbol.code_bits())
    }
}

/// Whether a code and its raw bits can take more bits than one load is sure to bring.
pub(super) fn is_wide(middle_bits: u32) -> bool {
    middle_bits - 1 + crate::format::MAX_CODE_BITS > LOAD_BITS as u32
}

/// What the streams of all lanes share.
pub(super) struct Streams<'a> {
    pub(super) codec: Codec,
    pub(super) geometry: &'a Geometry,
    /// The symbols of a complete code.
    pub(super) symbols: &'a Symbols,
    /// What the blocks stand in.
    pub(super) bytes: &'a [u8],
    /// What will be decoded next, and is asked for meanwhile.
    pub(super) next: &'a [u8],
}

/// A place in a stream: where the next key begins, in bits, and the middle before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) at: usize,
    pub(super) middle: u64,
}

/// Calls a method for the codec, for whether a key can take more than one load, and for the number
/// of keys to try with one.
macro_rules! by_shape {
    ($streams:ident, $method:ident($($argument:expr),*)) => {{
        let wide = is_wide($streams.geometry.middle_bits());
        match ($streams.codec, wide, $streams.symbols.per_load()) {
            (Codec::Xor, true, _) => $streams.$method::<true, true, 1>($($argument),*),
            (Codec::Xor, false, 4..) => $streams.$method::<true, false, 4>($($argument),*),
            (Codec::Xor, false, 2..) => $streams.$method::<true, false, 2>($($argument),*),
            (Codec::Xor, false, _) => $streams.$method::<true, false, 1>($($argument),*),
            (Codec::Gap, true, _) => $streams.$method::<false, true, 1>($($argument),*),
            (Codec::Gap, false, 4..) => $streams.$method::<false, false, 4>($($argument),*),
            (Codec::Gap, false, 3) => $streams.$method::<false, false, 3>($($argument),*),
            (Codec::Gap, false, 2) => $streams.$method::<false, false, 2>($($argument),*),
            (Codec::Gap, false, _) => $streams.$method::<false, false, 1>($($argument),*),
        }
    }};
}

impl Streams<'_> {
    /// Fills the keys of all lanes; false if some stream is broken, and then the keys mean nothing.
    #[inline(always)]
    pub(super) fn decode(&self, lanes: &mut [Lane<'_>; LANES]) -> bool {
        by_shape!(self, decode_as(lanes))
    }

    /// Moves `place` on by `keys` keys; false if the stream, which ends at bit `end`, is broken
    /// there, and then the place means nothing.
    #[inline(always)]
    pub(super) fn skip(&self, place: &mut Place, keys: usize, end: usize) -> bool {
        let contradictions = by_shape!(self, skip_as(place, keys));
        contradictions == 0 && place.at <= end && self.fits(place)
    }

    #[inline(always)]
    fn skip_as<const XOR: bool, const WIDE: bool, const BATCH: usize>(
        &self,
        place: &mut Place,
        keys: usize,
    ) -> u64 {
        let mut contradictions = 0;
        let mut middles = [0; BATCH];
        for _ in 0..keys / BATCH {
            contradictions |= self.batch::<XOR, WIDE, BATCH>(place, &mut middles);
        }
        for _ in 0..keys % BATCH {
            contradictions |= self.step::<XOR, WIDE>(place);
        }
        contradictions
    }

    /// Whether the middle has its bits. Gaps add up, so one that leaves them shows in the last.
    #[inline(always)]
    fn fits(&self, place: &Place) -> bool {
        place.middle.leading_zeros() >= self.geometry.low_bits
    }

    /// `WIDE`: a key can take more than one load; else `BATCH` keys are tried with one load.
    #[inline(always)]
    fn decode_as<const XOR: bool, const WIDE: bool, const BATCH: usize>(
        &self,
        lanes: &mut [Lane<'_>; LANES],
    ) -> bool {
        let low_bits = self.geometry.low_bits;
        let mut places = [Place::default(); LANES];
        let (mut together, mut longest) = (usize::MAX, 0);
        for (lane, place) in lanes.iter().zip(&mut places) {
            *place = Place { at: lane.at, middle: lane.keys[0] >> low_bits };
            together = together.min(lane.keys.len());
            longest = longest.max(lane.keys.len());
        }
        let mut middles = [[0; CHUNK]; LANES];
        let mut contradictions = 0;
        let mut from = 1;
        let mut next = self.next.chunks(self.next.len() / longest.div_ceil(CHUNK) + 1);
        while from < longest {
            mapped::prefetch(next.next().unwrap_or_default());
            let steps = CHUNK.min(together.saturating_sub(from));
            let all_lanes = steps / BATCH * BATCH;
            // In variables of their own, the places of all lanes stay in registers.
            let [mut a, mut b, mut c, mut d] = places;
            let [ma, mb, mc, md] = &mut middles;
            let outs = ma.chunks_exact_mut(BATCH).zip(mb.chunks_exact_mut(BATCH));
            let outs = outs.zip(mc.chunks_exact_mut(BATCH).zip(md.chunks_exact_mut(BATCH)));
            for ((ma, mb), (mc, md)) in outs.take(steps / BATCH) {
                contradictions |= self.batch::<XOR, WIDE, BATCH>(&mut a, ma);
                contradictions |= self.batch::<XOR, WIDE, BATCH>(&mut b, mb);
                contradictions |= self.batch::<XOR, WIDE, BATCH>(&mut c, mc);
                contradictions |= self.batch::<XOR, WIDE, BATCH>(&mut d, md);
            }
            places = [a, b, c, d];
            for (lane, Lane { column, keys, .. }) in lanes.iter_mut().enumerate() {
                // The keys of this chunk that did not fill a batch, or that other lanes have not.
                let count = keys.len().saturating_sub(from).min(CHUNK);
                if count == 0 {
                    continue;
                }
                for out in middles[lane].iter_mut().take(count).skip(all_lanes) {
                    contradictions |= self.step::<XOR, WIDE>(&mut places[lane]);
                    *out = places[lane].middle;
                }
                join(self.geometry.planes(), &middles[lane][..count], column, keys, from);
            }
            from += CHUNK;
        }
        let inside = lanes.iter().zip(places).all(|(lane, place)| place.at <= lane.end);
        let fit = places.iter().all(|place| self.fits(place));
        inside && fit && contradictions == 0
    }

    /// Decodes as many middles as `out` has room for, with one load if that is enough; gives other
    /// than 0 if one of them cannot follow the one before it.
    #[inline(always)]
    fn batch<const XOR: bool, const WIDE: bool, const BATCH: usize>(
        &self,
        place: &mut Place,
        out: &mut [u64],
    ) -> u64 {
        let before = *place;
        let mut window = load(self.bytes, before.at);
        let mut contradictions = 0;
        let mut sum = 0;
        if BATCH > 1 {
            for out in &mut out[..BATCH] {
                let symbol = self.symbols.find(window);
                let raw = symbol.raw(symbol.behind_code(window));
                contradictions |= follow::<XOR, WIDE>(symbol, raw, &mut place.middle);
                *out = place.middle;
                window = symbol.skip(window);
                sum = symbol.add_to(sum);
            }
            let bits = Symbol::bits_of_sum(sum);
            if bits <= LOAD_BITS {
                place.at += bits;
                return contradictions;
            }
            // Longer keys than usual: once more, with a load for each.
            *place = before;
            contradictions = 0;
        }
        for out in &mut out[..BATCH] {
            contradictions |= self.step::<XOR, WIDE>(place);
            *out = place.middle;
        }
        contradictions
    }

    /// Decodes one middle; gives other than 0 if it cannot follow the one before it.
    #[inline(always)]
    fn step<const XOR: bool, const WIDE: bool>(&self, place: &mut Place) -> u64 {
        let window = load(self.bytes, place.at);
        let symbol = self.symbols.find(window);
        let raw = raw::<WIDE>(self.bytes, place.at, window, symbol);
        place.at += symbol.total_bits();
        follow::<XOR, WIDE>(symbol, raw, &mut place.middle)
    }
}

/// Moves on to the next middle; gives other than 0 if it cannot follow this one.
#[inline(always)]
fn follow<const XOR: bool, const WIDE: bool>(symbol: Symbol, raw: u64, middle: &mut u64) -> u64 {
    let u = *middle;
    if XOR {
        *middle = symbol.after_xor(u, raw);
        symbol.contradiction(u)
    } else {
        *middle = symbol.after_gap(u, raw);
        // Only a middle of more than 46 bits can wrap around without leaving its bits.
        if WIDE { u64::from(*middle < u) } else { 0 }
    }
}

/// Joins middles with their low parts to the keys from number `from` on.
#[inline(always)]
fn join(planes: usize, middles: &[u64], column: &[u8], keys: &mut [u64], from: usize) {
    match planes {
        0 => keys[from..from + middles.len()].copy_from_slice(middles),
        1 => join_planes::<1>(middles, column, keys, from),
        2 => join_planes::<2>(middles, column, keys, from),
        3 => join_planes::<3>(middles, column, keys, from),
        _ => join_planes::<4>(middles, column, keys, from),
    }
}

#[inline(always)]
fn join_planes<const PLANES: usize>(middles: &[u64], column: &[u8], keys: &mut [u64], from: usize) {
    let (others, count) = (keys.len() - 1, middles.len());
    let planes: [&[u8]; PLANES] =
        std::array::from_fn(|plane| &column[plane * others + from - 1..][..count]);
    // In 32 bits first, which a vector holds twice as many of.
    let mut low = [0u32; CHUNK];
    for (i, low) in low[..count].iter_mut().enumerate() {
        *low = (0..PLANES).fold(0, |low, plane| low | u32::from(planes[plane][i]) << (8 * plane));
    }
    let keys = &mut keys[from..from + count];
    for ((key, middle), low) in keys.iter_mut().zip(middles).zip(&low[..count]) {
        *key = middle << (8 * PLANES) | u64::from(*low);
    }
}
