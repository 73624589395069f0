//! Decodes several blocks at once.
//!
//! Codes go from the start of a stream onward, raw bits from its end backward. Each code starts
//! where the one before it ends, so the codes of one block are a chain of dependent steps: look up,
//! shift, look up. The chains of [`LANES`] blocks are independent, and a CPU works on all of them
//! together. One load brings the codes of several keys. What a step need not know to go on is
//! checked once per block: whether codes and raw bits have run into each other, and whether the
//! last middle still has its bits.

use std::slice::Chunks;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::join::Join;
use super::narrow::NarrowRuns;
use super::plain::Plain;
use super::runs::Runs;
use super::symbols::Symbols;
use crate::format::{Codec, Geometry};
use crate::mapped;

/// Blocks that are decoded together.
pub(super) const LANES: usize = 4;
/// Blocks that are decoded together where each takes many registers.
const PAIR: usize = 2;
/// Bits that a load at any bit of a byte is sure to bring.
pub(super) const LOAD_BITS: usize = 57;
/// Codes that one load of codes is sure to bring: 5 times 11 bits.
pub(super) const LOADED_CODES: usize = 5;
/// Keys of one look-up of any [`Step`] at most.
const MAX_KEYS: usize = 8;

/// A block that is being decoded.
pub(super) struct Lane<'a> {
    pub(super) column: &'a [u8],
    /// Room for its keys. The first one is there.
    pub(super) keys: &'a mut [u64],
    /// Where the next key begins; in the end, behind the last key.
    pub(super) place: Place,
}

/// A place in a stream, behind one of its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Where the next code begins, in bits.
    pub(super) codes: usize,
    /// Where the next raw bits end, in bits, less [`LOAD_BITS`] modulo 2^64: the load that brings
    /// them starts in the byte of this bit.
    pub(super) raws: usize,
    /// The middle of the key.
    pub(super) middle: u64,
}

impl Place {
    /// Before the second key of a block with the stream `start..end`, in bits.
    pub(super) fn new(start: usize, end: usize, middle: u64) -> Self {
        Self { codes: start, raws: end.wrapping_sub(LOAD_BITS), middle }
    }

    /// Where the next raw bits end, in bits. May wrap around in a stream that is broken.
    pub(super) fn raws_end(&self) -> usize {
        self.raws.wrapping_add(LOAD_BITS)
    }

    /// Whether codes and raw bits up to here have not run into each other.
    #[inline(always)]
    fn is_sound(&self) -> bool {
        // Even where each key takes as many bits as it can, none of the two leaves 62 bits.
        self.codes as isize <= self.raws_end() as isize
    }
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

/// The codes from bit `at` on, at least 57 bits, and a bit 1 in front that tells [`used`] how many
/// bits of them were shifted out.
#[inline(always)]
pub(super) fn window(bytes: &[u8], at: usize) -> u64 {
    load(bytes, at) | 1 << 63
}

/// How many bits were shifted out of a [`window`].
#[inline(always)]
pub(super) fn used(window: u64) -> usize {
    window.leading_zeros() as usize
}

/// At least 57 bits of the stream up to bit `end - LOAD_BITS = raws`, the last one most significant;
/// 0 outside of `bytes`.
#[inline(always)]
pub(super) fn load_back(bytes: &[u8], raws: usize) -> u64 {
    match bytes.get(raws / 8..raws / 8 + 8) {
        Some(word) => LE::read_u64(word) << (!raws % 8),
        None => 0,
    }
}

/// What the streams of all lanes share.
pub(super) struct Streams<'a> {
    pub(super) codec: Codec,
    pub(super) geometry: &'a Geometry,
    /// The symbols of a complete code.
    pub(super) symbols: &'a Symbols,
    /// Their runs, if a kernel shall decode by them.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) runs: Option<&'a Runs>,
    /// Their narrow runs, if a kernel shall decode by them.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) narrow_runs: Option<&'a NarrowRuns>,
    /// What the blocks stand in.
    pub(super) bytes: &'a [u8],
    /// What will be decoded next, and is asked for meanwhile.
    pub(super) next: &'a [u8],
}

/// Decodes look-up by look-up.
pub(super) trait Step {
    /// Look-ups that one load of codes serves.
    const LOOK_UPS: usize;
    /// Keys of one look-up at most, no more than [`MAX_KEYS`].
    const KEYS: usize;

    /// A place in registers.
    type State: Copy;

    fn state(&self, place: Place) -> Self::State;
    fn place(&self, state: &Self::State) -> Place;

    /// Loads the codes for the next [`Self::LOOK_UPS`] look-ups.
    fn refill(&self, state: &mut Self::State);

    /// Moves the place of the codes behind those of the look-ups since.
    fn drain(&self, state: &mut Self::State);

    /// Decodes the middles of one look-up, puts them into `out` from `at` on, and gives their number:
    /// at least 1, at most [`Self::KEYS`]. May change `out` behind them.
    fn look_up(&self, state: &mut Self::State, out: &mut [u64], at: usize) -> usize;

    /// Decodes one middle.
    fn one(&self, state: &mut Self::State) -> u64;

    /// Whether some key up to this place could not follow the one before it.
    fn is_contradictory(&self, state: &Self::State) -> bool;
}

/// Evaluates an expression with two constants: whether the codec is `xor`, and whether some raw
/// bits are long.
macro_rules! by_shape {
    ($streams:expr, $xor:ident, $long:ident => $value:expr) => {{
        match ($streams.codec, $streams.symbols.are_long()) {
            (Codec::Xor, true) => by_shape!(@ $xor = true, $long = true => $value),
            (Codec::Xor, false) => by_shape!(@ $xor = true, $long = false => $value),
            (Codec::Gap, true) => by_shape!(@ $xor = false, $long = true => $value),
            (Codec::Gap, false) => by_shape!(@ $xor = false, $long = false => $value),
        }
    }};
    (@ $xor:ident = $is_xor:literal, $long:ident = $is_long:literal => $value:expr) => {{
        const $xor: bool = $is_xor;
        const $long: bool = $is_long;
        $value
    }};
}
pub(super) use by_shape;

/// Fills the keys of all lanes; false if some stream is broken, and then the keys mean nothing.
#[inline(always)]
pub(super) fn decode(
    streams: &Streams<'_>,
    join: impl Join,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    by_shape!(streams, XOR, LONG => {
        decode_by(&Plain::<XOR, LONG>::new(streams), join, streams, lanes)
    })
}

/// As [`decode`], with one lane.
#[inline(always)]
pub(super) fn decode_one(streams: &Streams<'_>, join: impl Join, lane: &mut Lane<'_>) -> bool {
    by_shape!(streams, XOR, LONG => {
        decode_one_by(&Plain::<XOR, LONG>::new(streams), join, streams, lane)
    })
}

/// Moves `place` on by `keys` keys; false if the stream is broken there, and then the place means
/// nothing.
#[inline(always)]
pub(super) fn skip(streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
    by_shape!(streams, XOR, LONG => {
        skip_by(&Plain::<XOR, LONG>::new(streams), streams, place, keys)
    })
}

/// [`decode`], by these steps.
#[inline(always)]
pub(super) fn decode_by<S: Step>(
    step: &S,
    join: impl Join,
    streams: &Streams<'_>,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    // What comes next is asked for in small parts: a CPU has few requests under way.
    let shortest = lanes.iter().map(|lane| lane.keys.len()).min().unwrap_or(0);
    let refills = (LANES / PAIR * shortest / (S::KEYS * S::LOOK_UPS)).max(1);
    let mut next = streams.next.chunks(streams.next.len() / refills + 1);
    let mut sound = true;
    for pair in lanes.as_chunks_mut::<PAIR>().0 {
        sound &= decode_pair(step, join, streams, pair, &mut next);
    }
    sound
}

/// [`decode_by`] of two lanes. Asks for some of `next` meanwhile.
#[inline(always)]
fn decode_pair<S: Step>(
    step: &S,
    join: impl Join,
    streams: &Streams<'_>,
    lanes: &mut [Lane<'_>; PAIR],
    next: &mut Chunks<'_, u8>,
) -> bool {
    let [a, b] = &*lanes;
    let mut states = [step.state(a.place), step.state(b.place)];
    let lengths = [a.keys.len(), b.keys.len()];
    // The next key of each lane.
    let mut from = [1; PAIR];
    loop {
        let left = lengths.iter().zip(&from).map(|(length, from)| length - from);
        let refills = left.fold(usize::MAX, usize::min) / (S::KEYS * S::LOOK_UPS);
        if refills == 0 {
            break;
        }
        // In variables of their own, the places of all lanes stay in registers.
        let [mut a, mut b] = states;
        let [mut na, mut nb] = from;
        let [la, lb] = lanes;
        let (ka, kb) = (&mut *la.keys, &mut *lb.keys);
        for _ in 0..refills {
            mapped::prefetch(next.next().unwrap_or_default());
            step.refill(&mut a);
            step.refill(&mut b);
            for _ in 0..S::LOOK_UPS {
                na += step.look_up(&mut a, ka, na);
                nb += step.look_up(&mut b, kb, nb);
            }
            step.drain(&mut a);
            step.drain(&mut b);
        }
        states = [a, b];
        from = [na, nb];
    }
    let mut sound = true;
    for (lane, from) in from.into_iter().enumerate() {
        sound &= finish(step, join, streams, states[lane], &mut lanes[lane], from);
    }
    sound
}

/// [`decode_one`], by these steps.
#[inline(always)]
pub(super) fn decode_one_by<S: Step>(
    step: &S,
    join: impl Join,
    streams: &Streams<'_>,
    lane: &mut Lane<'_>,
) -> bool {
    finish(step, join, streams, step.state(lane.place), lane, 1)
}

/// Decodes the keys of a lane from number `from` on.
#[inline(always)]
fn finish<S: Step>(
    step: &S,
    join: impl Join,
    streams: &Streams<'_>,
    mut state: S::State,
    lane: &mut Lane<'_>,
    mut from: usize,
) -> bool {
    let keys = &mut *lane.keys;
    while keys.len() - from >= S::KEYS * S::LOOK_UPS {
        step.refill(&mut state);
        for _ in 0..S::LOOK_UPS {
            from += step.look_up(&mut state, keys, from);
        }
        step.drain(&mut state);
    }
    while keys.len() - from >= S::KEYS {
        step.refill(&mut state);
        from += step.look_up(&mut state, keys, from);
        step.drain(&mut state);
    }
    for middle in &mut keys[from..] {
        *middle = step.one(&mut state);
    }
    lane.fill(streams, join);
    lane.place = step.place(&state);
    !step.is_contradictory(&state) && streams.is_sound(&lane.place)
}

/// [`skip`], by these steps.
#[inline(always)]
pub(super) fn skip_by<S: Step>(
    step: &S,
    streams: &Streams<'_>,
    place: &mut Place,
    keys: usize,
) -> bool {
    let mut state = step.state(*place);
    // A look-up at 0 changes no more than its own keys.
    let mut unused = [0; MAX_KEYS];
    let mut left = keys;
    while left >= S::KEYS * S::LOOK_UPS {
        step.refill(&mut state);
        for _ in 0..S::LOOK_UPS {
            left -= step.look_up(&mut state, &mut unused, 0);
        }
        step.drain(&mut state);
    }
    while left >= S::KEYS {
        step.refill(&mut state);
        left -= step.look_up(&mut state, &mut unused, 0);
        step.drain(&mut state);
    }
    for _ in 0..left {
        step.one(&mut state);
    }
    *place = step.place(&state);
    !step.is_contradictory(&state) && streams.is_sound(place)
}

impl Streams<'_> {
    /// Whether codes and raw bits have not run into each other, and the middle has its bits. Gaps
    /// add up, so one that leaves them shows in the last.
    #[inline(always)]
    pub(super) fn is_sound(&self, place: &Place) -> bool {
        place.is_sound() && place.middle.leading_zeros() >= self.geometry.low_bits
    }
}
