//! Decodes by runs with AVX2.
//!
//! A look-up of 11 bits gives the classes of up to 4 keys, and one load their raw bits. Each word
//! of a register shifts these to where those of its key lie, and a prefix sum (codec `gap`) or a
//! prefix of replaced bits (codec `xor`) makes the middles of them. All that waits for the look-up
//! before is a shift and the look-up.
//!
//! ```text
//! raw bits        | r0 r1 r2 r3 ... |                 one load, the first key's most significant
//! in all words    | r0 r1 .. | r0 r1 .. | r0 r1 .. | r0 r1 .. |
//! deltas          |   1 r0   |   1 r1   |   1 r2   |   1 r3   |   shifted by what the run says
//! + one word on   |    d0    |  d0+d1   |    d2    |  d2+d3   |
//! + word 1        |    d0    |  d0+d1   | d0+d1+d2 | d0+...+d3|
//! + the middle before, which is in all words: 4 middles, stored together
//! ```
//!
//! Loads of bits are those of [`stream`](super::stream), safe at any place; a store takes an array
//! of 4 keys out of those of the lane, and is left out where these are fewer.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::decoder::Decode;
use super::plain::{PlainState, PlainStep};
use super::runs::{RUN_KEYS, RunTable, SymbolRun, SymbolRuns};
use super::steps::{self, Step};
use super::stream::{LANES, LOADED_CODES, Lane, Place, Streams, load_back, used, window};
use super::unpack::Unpack;
use crate::simd::avx2::{Avx2, store_words};

/// The decoder by runs.
#[derive(Clone, Debug)]
pub(super) struct ByRuns<const XOR: bool, const LONG: bool> {
    avx2: Avx2,
    runs: SymbolRuns,
}

impl<const XOR: bool, const LONG: bool> ByRuns<XOR, LONG> {
    pub(super) fn new(avx2: Avx2, runs: SymbolRuns) -> Self {
        Self { avx2, runs }
    }

    #[inline(always)]
    fn step<'a>(&'a self, streams: &Streams<'a>) -> RunStep<'a, XOR, LONG> {
        let (runs, plain) = (self.runs.table(), PlainStep::new(streams));
        RunStep { _avx2: self.avx2, bytes: streams.bytes, runs, plain }
    }
}

impl<const XOR: bool, const LONG: bool> Decode for ByRuns<XOR, LONG> {
    fn decode(&self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2, BMI1, BMI2 and LZCNT.
        unsafe { decode(self, streams, lanes) }
    }

    fn decode_one(&self, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
        // SAFETY: as above.
        unsafe { decode_one(self, streams, lane) }
    }

    fn middles(&self, streams: &Streams<'_>, lane: &mut Lane<'_>, last: usize) -> bool {
        // SAFETY: as above.
        unsafe { middles(self, streams, lane, last) }
    }

    fn skip(&self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
        // SAFETY: as above.
        unsafe { skip(self, streams, place, keys) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn decode<const XOR: bool, const LONG: bool>(
    by_runs: &ByRuns<XOR, LONG>,
    streams: &Streams<'_>,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    steps::decode(&by_runs.step(streams), Unpack(by_runs.avx2), streams, lanes)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn decode_one<const XOR: bool, const LONG: bool>(
    by_runs: &ByRuns<XOR, LONG>,
    streams: &Streams<'_>,
    lane: &mut Lane<'_>,
) -> bool {
    steps::decode_one(&by_runs.step(streams), Unpack(by_runs.avx2), streams, lane)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn middles<const XOR: bool, const LONG: bool>(
    by_runs: &ByRuns<XOR, LONG>,
    streams: &Streams<'_>,
    lane: &mut Lane<'_>,
    last: usize,
) -> bool {
    steps::middles(&by_runs.step(streams), streams, lane, last)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn skip<const XOR: bool, const LONG: bool>(
    by_runs: &ByRuns<XOR, LONG>,
    streams: &Streams<'_>,
    place: &mut Place,
    keys: usize,
) -> bool {
    steps::skip(&by_runs.step(streams), streams, place, keys)
}

/// Run by run.
#[derive(Clone, Copy)]
struct RunStep<'a, const XOR: bool, const LONG: bool> {
    /// The proof that the CPU has AVX2.
    _avx2: Avx2,
    bytes: &'a [u8],
    runs: RunTable<'a>,
    plain: PlainStep<'a, XOR, LONG>,
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

impl<const XOR: bool, const LONG: bool> RunStep<'_, XOR, LONG> {
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

impl<const XOR: bool, const LONG: bool> Step for RunStep<'_, XOR, LONG> {
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
        let (run, window) = self.runs.find(state.window);
        if LONG && run.is_none() {
            let middle = self.next(state);
            if let Some(out) = out.get_mut(at) {
                *out = middle;
            }
            return 1;
        }
        state.window = window;
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

/// 2^r and the r raw bits of each key of a run, and its shifts; 0 for the class *equal* and where
/// there is no key. The raw bits of the run start at the most significant bit of `raws`.
#[inline]
#[target_feature(enable = "avx2")]
fn deltas(raws: u64, run: SymbolRun) -> (__m256i, __m256i) {
    let run = _mm256_set1_epi64x(run.0 as i64);
    let fields = |at: [i64; RUN_KEYS], mask| {
        let at = _mm256_setr_epi64x(at[0], at[1], at[2], at[3]);
        _mm256_and_si256(_mm256_srlv_epi64(run, at), _mm256_set1_epi64x(mask))
    };
    let (before, shifts) = (fields(SymbolRun::BEFORE, 63), fields(SymbolRun::SHIFT, 127));
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
