//! Decodes the codec `gap` where gaps are narrow, with AVX-512.
//!
//! A look-up of 11 bits gives the classes of up to 4 keys. All that a scalar loop does is to look
//! up and to store what it finds, with the place of the raw bits ([`find`]). Then vectors cut the
//! raw bits of 8 runs at a time out of 64 bytes, into 16 bits for each gap, and close up the gaps
//! ([`cut`](mod@cut)); add them up, 16 at a time; and join the sums with their low parts ([`sum`]).
//! To go on to one key, it is enough to add up those before it.

#![allow(unsafe_code)]

mod cut;
mod find;
mod sum;

use super::decoder::Decode;
use super::narrow::NarrowRuns;
use super::runs::RUN_KEYS;
use super::runs_avx2::ByRuns;
use super::stream::{LANES, LOADED_CODES, Lane, Place, Streams};
use crate::format::MAX_PLANES;
use crate::mapped;
use crate::simd::Avx512;

use cut::{CHUNK, Gaps, add_up, cut};
use find::{Finder, Found, REFILLS, State};
use sum::sum_up;

/// The decoder by narrow runs.
#[derive(Debug)]
pub(super) struct Deposit {
    avx512: Avx512,
    runs: NarrowRuns,
    /// Decodes blocks that are alone: one lane does not keep the vectors busy.
    one: ByRuns<false, false>,
}

impl Deposit {
    pub(super) fn new(avx512: Avx512, runs: NarrowRuns, one: ByRuns<false, false>) -> Self {
        Self { avx512, runs, one }
    }

    #[inline(always)]
    fn finder<'a>(&'a self, streams: &Streams<'a>) -> Finder<'a> {
        let symbols = streams.code.symbols.table();
        Finder { bytes: streams.bytes, runs: self.runs.table(), symbols }
    }
}

impl Decode for Deposit {
    fn decode(&self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        let finder = self.finder(streams);
        // SAFETY: a value of `Avx512` exists only where the CPU has all of these.
        unsafe {
            match streams.code.planes() {
                0 => decode::<0>(self.avx512, finder, streams, lanes),
                1 => decode::<1>(self.avx512, finder, streams, lanes),
                2 => decode::<2>(self.avx512, finder, streams, lanes),
                3 => decode::<3>(self.avx512, finder, streams, lanes),
                4 => decode::<4>(self.avx512, finder, streams, lanes),
                5 => decode::<5>(self.avx512, finder, streams, lanes),
                _ => decode::<MAX_PLANES>(self.avx512, finder, streams, lanes),
            }
        }
    }

    fn decode_one(&self, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
        self.one.decode_one(streams, lane)
    }

    fn middles(&self, streams: &Streams<'_>, lane: &mut Lane<'_>, last: usize) -> bool {
        self.one.middles(streams, lane, last)
    }

    fn skip(&self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
        // SAFETY: a value of `Avx512` exists only where the CPU has all of these.
        unsafe { skip(self.avx512, self.finder(streams), streams, place, keys) }
    }
}

/// [`Decode::decode`], by narrow runs. With a number of planes that is not a constant it takes 23%
/// to 35% more time.
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decode<const PLANES: usize>(
    avx512: Avx512,
    finder: Finder<'_>,
    streams: &Streams<'_>,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    let mut states = lanes.each_ref().map(|lane| {
        let place = lane.place;
        State { window: 0, codes: place.codes, raws: place.raws_end() }
    });
    let mut found = [const { Found::NONE }; LANES];
    let mut gaps = [const { Gaps::NONE }; LANES];
    // The next key of each lane.
    let mut from = [1; LANES];
    // What comes next is asked for in small parts: a CPU has few requests under way.
    let shortest = lanes.iter().map(|lane| lane.keys.len()).min().unwrap_or(0);
    let refills = (shortest / (LOADED_CODES * RUN_KEYS)).max(1);
    let mut next = streams.next.chunks(streams.next.len() / refills + 1);
    let mut sound = true;
    loop {
        let counts: [usize; LANES] =
            std::array::from_fn(|lane| CHUNK.min(lanes[lane].keys.len() - from[lane]));
        if counts == [0; LANES] {
            break;
        }
        // The next gap of each lane.
        let mut at = [0; LANES];
        loop {
            let left = counts.iter().zip(at).map(|(count, at)| count - at);
            let refills = left.fold(CHUNK, usize::min) / (RUN_KEYS * LOADED_CODES);
            if refills == 0 {
                break;
            }
            let refills = refills.min(REFILLS);
            for refill in 0..refills {
                mapped::prefetch_early(next.next().unwrap_or_default());
                for state in &mut states {
                    finder.refill(state);
                }
                for i in 0..LOADED_CODES {
                    for lane in 0..LANES {
                        found[lane].runs[refill][i] = finder.look_up(&mut states[lane]);
                        found[lane].raws[refill][i] = states[lane].raws as u64;
                    }
                }
                for state in &mut states {
                    finder.drain(state);
                }
            }
            for lane in 0..LANES {
                let runs = refills * LOADED_CODES;
                let (found, gaps) = (&found[lane], &mut gaps[lane]);
                at[lane] = cut(avx512, streams.bytes, found, runs, gaps, at[lane]);
            }
        }
        for lane in 0..LANES {
            let range = (at[lane], counts[lane]);
            let (state, found, gaps) = (&mut states[lane], &mut found[lane], &mut gaps[lane]);
            finish(avx512, &finder, state, found, gaps, range);
            sound &= sum_up::<PLANES>(gaps, counts[lane], &mut lanes[lane], from[lane]);
            from[lane] += counts[lane];
        }
    }
    states.iter().all(|state| state.codes as isize <= state.raws as isize) && sound
}

/// [`Decode::skip`], by narrow runs.
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn skip(
    avx512: Avx512,
    finder: Finder<'_>,
    streams: &Streams<'_>,
    place: &mut Place,
    keys: usize,
) -> bool {
    let mut state = State { window: 0, codes: place.codes, raws: place.raws_end() };
    let (mut found, mut left) = (Found::NONE, keys);
    let mut sum = 0;
    while left >= RUN_KEYS {
        let runs = finder.find(&mut state, &mut found, &mut left);
        sum += add_up(avx512, streams.bytes, &found, runs);
    }
    finder.refill(&mut state);
    for _ in 0..left {
        sum += u64::from(finder.one(&mut state));
    }
    finder.drain(&mut state);
    // A block has too few keys for the sum to wrap.
    let (middle, wraps) = place.middle.overflowing_add(sum);
    *place = Place::new(state.codes, state.raws, middle);
    !wraps && place.is_sound(streams.code)
}

/// Finds the gaps from number `at` to number `end`. A call instead costs blocks of 1024 bytes a
/// tenth of their time.
#[inline(always)]
fn finish(
    avx512: Avx512,
    finder: &Finder<'_>,
    state: &mut State,
    found: &mut Found,
    gaps: &mut Gaps,
    (mut at, end): (usize, usize),
) {
    while end - at >= RUN_KEYS {
        let runs = finder.find(state, found, &mut (end - at));
        // SAFETY: a value of `Avx512` exists only where the CPU has all of these.
        at = unsafe { cut(avx512, finder.bytes, found, runs, gaps, at) };
    }
    finder.refill(state);
    for gap in &mut gaps.0[at..end] {
        *gap = finder.one(state);
    }
    finder.drain(state);
}
