//! Decodes key by key, with any CPU.

use super::decoder::Decode;
use super::steps::{self, Step};
use super::stream::{
    Bytewise, LANES, LOAD_BITS, LOADED_CODES, Lane, Place, Streams, Symbol, SymbolTable, load_back,
    used, window,
};

/// The decoder for any CPU, and the oracle of the others. `LONG`: some raw bits are more than one
/// load is sure to bring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<const XOR: bool, const LONG: bool>;

impl<const XOR: bool, const LONG: bool> Decode for Plain<XOR, LONG> {
    fn decode(&self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        steps::decode(&PlainStep::<XOR, LONG>::new(streams), Bytewise, streams, lanes)
    }

    fn decode_one(&self, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
        steps::decode_one(&PlainStep::<XOR, LONG>::new(streams), Bytewise, streams, lane)
    }

    fn middles(&self, streams: &Streams<'_>, lane: &mut Lane<'_>, last: usize) -> bool {
        steps::middles(&PlainStep::<XOR, LONG>::new(streams), streams, lane, last)
    }

    fn skip(&self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
        steps::skip(&PlainStep::<XOR, LONG>::new(streams), streams, place, keys)
    }
}

/// Key by key: a load for the raw bits of each.
#[derive(Clone, Copy)]
pub(super) struct PlainStep<'a, const XOR: bool, const LONG: bool> {
    bytes: &'a [u8],
    symbols: SymbolTable<'a>,
}

/// A place in the steps of [`PlainStep`].
#[derive(Clone, Copy)]
pub(super) struct PlainState {
    pub(super) window: u64,
    pub(super) place: Place,
    /// Codec `xor`: not 0 if some key could not follow the one before it. Codec `gap`: negative
    /// then.
    pub(super) contradictions: u64,
}

impl<'a, const XOR: bool, const LONG: bool> PlainStep<'a, XOR, LONG> {
    #[inline(always)]
    pub(super) fn new(streams: &Streams<'a>) -> Self {
        Self { bytes: streams.bytes, symbols: streams.code.symbols.table() }
    }

    /// Moves on by one key, whose code starts the window.
    #[inline(always)]
    pub(super) fn next(&self, state: &mut PlainState) -> u64 {
        let PlainState { window, place, contradictions } = state;
        let symbol = self.symbols.find(*window);
        *window = symbol.skip_code(*window);
        let raw = raw::<LONG>(self.bytes, place.raws, symbol);
        place.raws = place.raws.wrapping_sub(symbol.raw_bits());
        let u = place.middle;
        if XOR {
            *contradictions |= symbol.contradiction(u);
            place.middle = symbol.after_xor(u, raw);
        } else {
            place.middle = symbol.after_gap(u, raw);
            // Negative where the sum has wrapped around. Of less than 2^63 it loses its first bit.
            *contradictions |=
                if LONG { u64::from(place.middle < u) << 63 } else { u & !place.middle };
        }
        place.middle
    }
}

impl<const XOR: bool, const LONG: bool> Step for PlainStep<'_, XOR, LONG> {
    const LOOK_UPS: usize = 1;
    const KEYS: usize = LOADED_CODES;

    type State = PlainState;

    #[inline(always)]
    fn state(&self, place: Place) -> PlainState {
        PlainState { window: 0, place, contradictions: 0 }
    }

    #[inline(always)]
    fn place(&self, state: &PlainState) -> Place {
        state.place
    }

    #[inline(always)]
    fn refill(&self, state: &mut PlainState) {
        state.window = window(self.bytes, state.place.codes);
    }

    #[inline(always)]
    fn drain(&self, state: &mut PlainState) {
        state.place.codes += used(state.window);
    }

    #[inline(always)]
    fn look_up(&self, state: &mut PlainState, out: &mut [u64], at: usize) -> usize {
        let mut middles = [0; LOADED_CODES];
        for middle in &mut middles {
            *middle = self.next(state);
        }
        if let Some(out) = out.get_mut(at..at + LOADED_CODES) {
            out.copy_from_slice(&middles);
        }
        LOADED_CODES
    }

    #[inline(always)]
    fn one(&self, state: &mut PlainState) -> u64 {
        self.refill(state);
        let middle = self.next(state);
        self.drain(state);
        middle
    }

    #[inline(always)]
    fn is_contradictory(&self, state: &PlainState) -> bool {
        if XOR { state.contradictions != 0 } else { (state.contradictions as i64) < 0 }
    }
}

/// The raw bits of a symbol, which end where `raws` says.
#[inline(always)]
pub(in crate::block) fn raw<const LONG: bool>(bytes: &[u8], raws: usize, symbol: Symbol) -> u64 {
    let window = load_back(bytes, raws);
    if LONG && symbol.raw_bits() > LOAD_BITS {
        return long_raw(bytes, raws, symbol);
    }
    symbol.raw(window)
}

/// As [`raw`], of more bits than one load is sure to bring.
#[cold]
#[inline(never)]
fn long_raw(bytes: &[u8], raws: usize, symbol: Symbol) -> u64 {
    // The first 32, then the others.
    let first = load_back(bytes, raws) >> 32 << 32;
    symbol.raw(first | load_back(bytes, raws.wrapping_sub(32)) >> 32)
}
