//! Decodes by runs with vector instructions of x86-64.
//!
//! A look-up of 11 bits gives the classes of up to 4 keys, and one load their raw bits. Each 64-bit
//! lane of a vector shifts these to where those of its key lie, and a prefix sum (codec `gap`) or a
//! prefix of replaced bits (codec `xor`) makes the middles of them. All that waits for the look-up
//! before is a shift and the look-up.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::join::{JOINED, Join};
use super::lanes::{
    self, LANES, LOADED_CODES, Lane, Place, Step, Streams, by_shape, load_back, used, window,
};
use super::plain::{Plain, PlainState};
use super::runs::{RUN_KEYS, Run, RunTable, Runs};
use super::scan::Avx2;
use crate::format::Codec;
use crate::simd::avx2::{load_half, load_words, store_words};

/// Run by run.
#[derive(Clone, Copy)]
struct ByRuns<'a, const XOR: bool, const LONG: bool> {
    /// The proof that the CPU has AVX2.
    _avx2: Avx2,
    bytes: &'a [u8],
    runs: RunTable<'a>,
    plain: Plain<'a, XOR, LONG>,
}

/// A [`Place`] in registers.
#[derive(Clone, Copy)]
struct State {
    window: u64,
    codes: usize,
    raws: usize,
    /// The middle, in all lanes.
    middle: __m256i,
    /// Codec `xor`: not 0 if some key could not follow the one before it. Codec `gap`: negative
    /// then.
    contradictions: __m256i,
}

/// [`lanes::decode`], by runs where there are some.
#[inline(always)]
pub(super) fn decode(avx2: Avx2, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
    match streams.runs {
        Some(runs) => by_shape!(streams, XOR, LONG => {
            let step = ByRuns::<XOR, LONG>::new(avx2, streams, runs);
            lanes::decode_by(&step, Unpack(avx2), streams, lanes)
        }),
        None => lanes::decode(streams, Unpack(avx2), lanes),
    }
}

/// [`lanes::decode_one`], by runs where there are some.
#[inline(always)]
pub(super) fn decode_one(avx2: Avx2, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
    match streams.runs {
        Some(runs) => by_shape!(streams, XOR, LONG => {
            let step = ByRuns::<XOR, LONG>::new(avx2, streams, runs);
            lanes::decode_one_by(&step, Unpack(avx2), streams, lane)
        }),
        None => lanes::decode_one(streams, Unpack(avx2), lane),
    }
}

/// [`lanes::skip`], by runs where there are some.
#[inline(always)]
pub(super) fn skip(avx2: Avx2, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
    match streams.runs {
        Some(runs) => by_shape!(streams, XOR, LONG => {
            let step = ByRuns::<XOR, LONG>::new(avx2, streams, runs);
            lanes::skip_by(&step, streams, place, keys)
        }),
        None => lanes::skip(streams, place, keys),
    }
}

impl<'a, const XOR: bool, const LONG: bool> ByRuns<'a, XOR, LONG> {
    #[inline(always)]
    fn new(avx2: Avx2, streams: &Streams<'a>, runs: &'a Runs) -> Self {
        Self { _avx2: avx2, bytes: streams.bytes, runs: runs.table(), plain: Plain::new(streams) }
    }

    /// Moves on by one key, whose code starts the window.
    #[inline(always)]
    fn next(&self, state: &mut State) -> u64 {
        let place = self.place(state);
        let mut plain = PlainState { window: state.window, place, contradictions: 0 };
        let middle = self.plain.next(&mut plain);
        let found = plain.contradictions as i64;
        let State { contradictions, .. } = *state;
        *state = self.state(plain.place);
        state.window = plain.window;
        // SAFETY: the value in `_avx2` exists only where the CPU has AVX2.
        state.contradictions =
            unsafe { _mm256_or_si256(contradictions, _mm256_set1_epi64x(found)) };
        middle
    }
}

impl<const XOR: bool, const LONG: bool> Step for ByRuns<'_, XOR, LONG> {
    const LOOK_UPS: usize = LOADED_CODES;
    const KEYS: usize = RUN_KEYS;

    type State = State;

    #[inline(always)]
    fn state(&self, place: Place) -> State {
        let Place { codes, raws, middle } = place;
        // SAFETY: the value in `_avx2` exists only where the CPU has AVX2.
        let (middle, contradictions) =
            unsafe { (_mm256_set1_epi64x(middle as i64), _mm256_setzero_si256()) };
        State { window: 0, codes, raws, middle, contradictions }
    }

    #[inline(always)]
    fn place(&self, state: &State) -> Place {
        // SAFETY: the value in `_avx2` exists only where the CPU has AVX2.
        let middle = unsafe { _mm256_extract_epi64::<0>(state.middle) };
        Place { codes: state.codes, raws: state.raws, middle: middle as u64 }
    }

    #[inline(always)]
    fn refill(&self, state: &mut State) {
        state.window = window(self.bytes, state.codes);
    }

    #[inline(always)]
    fn drain(&self, state: &mut State) {
        state.codes += used(state.window);
    }

    #[inline(always)]
    fn look_up(&self, state: &mut State, out: &mut [u64], at: usize) -> usize {
        let run = self.runs.find(state.window);
        if LONG && run.is_none() {
            let middle = self.next(state);
            if let Some(out) = out.get_mut(at) {
                *out = middle;
            }
            return 1;
        }
        state.window = run.skip_codes(state.window);
        let raws = load_back(self.bytes, state.raws);
        state.raws = state.raws.wrapping_sub(run.raw_bits());
        // SAFETY: the value in `_avx2` exists only where the CPU has AVX2.
        let middles = unsafe {
            let (deltas, shifts) = deltas(raws, run);
            if XOR {
                replace(deltas, shifts, &mut state.middle, &mut state.contradictions)
            } else {
                let before = state.middle;
                let middles = add(deltas, &mut state.middle);
                // A run adds less than 2^60, so a sum that wraps loses its first bit.
                let wrapped = _mm256_andnot_si256(state.middle, before);
                state.contradictions = _mm256_or_si256(state.contradictions, wrapped);
                middles
            }
        };
        if let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) {
            // SAFETY: the value in `_avx2` exists only where the CPU has AVX2.
            unsafe { store_words(out, middles) };
        }
        run.keys()
    }

    #[inline(always)]
    fn one(&self, state: &mut State) -> u64 {
        self.refill(state);
        let middle = self.next(state);
        self.drain(state);
        middle
    }

    #[inline(always)]
    fn is_contradictory(&self, state: &State) -> bool {
        // SAFETY: the value in `_avx2` exists only where the CPU has AVX2.
        unsafe {
            if XOR {
                _mm256_testz_si256(state.contradictions, state.contradictions) == 0
            } else {
                _mm256_movemask_pd(_mm256_castsi256_pd(state.contradictions)) != 0
            }
        }
    }
}

/// Joins 16 keys at a time, by interleaving the planes.
#[derive(Clone, Copy)]
struct Unpack(Avx2);

impl Join for Unpack {
    #[inline(always)]
    fn join<const PLANES: usize>(
        self,
        planes: &[&[u8]; PLANES],
        at: usize,
        keys: &mut [u64; JOINED],
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2.
        unsafe { unpack(planes, at, keys) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn unpack<const PLANES: usize>(planes: &[&[u8]; PLANES], at: usize, keys: &mut [u64; JOINED]) {
    let plane = |plane: usize| match planes.get(plane) {
        Some(bytes) => bytes[at..].first_chunk().map_or(_mm_setzero_si128(), |b| load_half(b)),
        None => _mm_setzero_si128(),
    };
    // The bytes of planes 0 and 1, and of 2 and 3, side by side; then all four.
    let (a, b, c, d) = (plane(0), plane(1), plane(2), plane(3));
    let (ab, cd) = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d));
    let shift = _mm_cvtsi32_si128(8 * PLANES as i32);
    let lows = [
        _mm_unpacklo_epi16(ab, cd),
        _mm_unpackhi_epi16(ab, cd),
        _mm_unpacklo_epi16(ab_high, cd_high),
        _mm_unpackhi_epi16(ab_high, cd_high),
    ];
    for (keys, low) in keys.as_chunks_mut().0.iter_mut().zip(lows) {
        let middles = _mm256_sll_epi64(load_words(keys), shift);
        store_words(keys, _mm256_or_si256(middles, _mm256_cvtepu32_epi64(low)));
    }
}

/// 2^r and the r raw bits of each key of a run, and its shifts; 0 for the class *equal* and where there
/// is no key. The raw bits of the run start at the most significant bit of `raws`.
#[inline]
#[target_feature(enable = "avx2")]
fn deltas(raws: u64, run: Run) -> (__m256i, __m256i) {
    let run = _mm256_set1_epi64x(run.0 as i64);
    let fields = |at: [i64; RUN_KEYS], mask| {
        let at = _mm256_setr_epi64x(at[0], at[1], at[2], at[3]);
        _mm256_and_si256(_mm256_srlv_epi64(run, at), _mm256_set1_epi64x(mask))
    };
    let (before, shifts) = (fields(Run::BEFORE, 63), fields(Run::SHIFT, 127));
    let raws = _mm256_sllv_epi64(_mm256_set1_epi64x(raws as i64), before);
    let raws = _mm256_or_si256(_mm256_srli_epi64::<1>(raws), _mm256_set1_epi64x(i64::MIN));
    (_mm256_srlv_epi64(raws, shifts), shifts)
}

/// The middles after `middle` by the codec `gap`, the last of which becomes `middle`.
#[inline]
#[target_feature(enable = "avx2")]
fn add(deltas: __m256i, middle: &mut __m256i) -> __m256i {
    let pairs = _mm256_add_epi64(deltas, _mm256_slli_si256::<8>(deltas));
    let sums = _mm256_add_epi64(pairs, first_pair_last(pairs));
    let middles = _mm256_add_epi64(sums, *middle);
    *middle = _mm256_permute4x64_epi64::<0b11_11_11_11>(middles);
    middles
}

/// The middles after `middle` by the codec `xor`, the last of which becomes `middle`.
#[inline]
#[target_feature(enable = "avx2")]
fn replace(
    deltas: __m256i,
    shifts: __m256i,
    middle: &mut __m256i,
    contradictions: &mut __m256i,
) -> __m256i {
    // The bits that each key replaces: those of its delta.
    let own = _mm256_srlv_epi64(_mm256_set1_epi64x(-1), shifts);
    let first_own = _mm256_xor_si256(own, _mm256_srli_epi64::<1>(own));
    let bits = _mm256_andnot_si256(own, _mm256_slli_si256::<8>(deltas));
    let bits = _mm256_or_si256(bits, deltas);
    let replaced = _mm256_or_si256(own, _mm256_slli_si256::<8>(own));
    let before = _mm256_andnot_si256(replaced, first_pair_last(bits));
    let bits = _mm256_or_si256(bits, before);
    let replaced = _mm256_or_si256(replaced, first_pair_last(replaced));
    let middles = _mm256_or_si256(bits, _mm256_andnot_si256(replaced, *middle));
    // The first bit that differs was 0 in the middle before.
    let shifted = _mm256_permute4x64_epi64::<0b10_01_00_00>(middles);
    let before = _mm256_blend_epi32::<0b0000_0011>(shifted, *middle);
    *contradictions = _mm256_or_si256(*contradictions, _mm256_and_si256(before, first_own));
    *middle = _mm256_permute4x64_epi64::<0b11_11_11_11>(middles);
    middles
}

/// Lane 1 in the lanes 2 and 3, and 0 in the others.
#[inline]
#[target_feature(enable = "avx2")]
fn first_pair_last(lanes: __m256i) -> __m256i {
    let low = _mm256_permute4x64_epi64::<0b01_01_01_01>(lanes);
    _mm256_blend_epi32::<0b1111_0000>(_mm256_setzero_si256(), low)
}
