//! Decodes the codec `gap` where gaps are narrow, with AVX-512.
//!
//! A look-up of 11 bits gives the classes of up to 4 keys. All that a scalar loop does is to look
//! up and to store what it finds, with the place of the raw bits. Then vectors cut the raw bits of 8
//! runs at a time out of 64 bytes, into 16 bits for each gap, and close up the gaps; add them up, 16
//! at a time; and join the sums with their low parts. To go on to one key, it is enough to add up
//! those before it.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::lanes::{LANES, LOADED_CODES, Lane, Place, Streams, load, used, window};
use super::narrow::{NarrowRun, NarrowRunTable, NarrowRuns};
use super::runs::RUN_KEYS;
use super::scan::Avx512;
use super::symbols::SymbolTable;
use crate::mapped;

/// Keys of a lane whose gaps are found before they are added up, at most.
const CHUNK: usize = 512;
/// Loads of codes of a lane before gaps are cut out, at most. More would need more of the
/// first-level cache.
const REFILLS: usize = 8;
/// Runs whose gaps are cut out at a time.
const CUT: usize = 8;
/// Keys that are joined at a time.
const JOINED: usize = 16;

/// Runs of a lane, in groups that one load of codes serves.
struct Found {
    runs: [[NarrowRun; LOADED_CODES]; REFILLS],
    /// The bits where the raw bits of each run start.
    raws: [[u64; LOADED_CODES]; REFILLS],
}

impl Found {
    const NONE: Self =
        Self { runs: [[NarrowRun(0); LOADED_CODES]; REFILLS], raws: [[0; LOADED_CODES]; REFILLS] };
}

/// The gaps of a chunk, and room to write some more.
struct Gaps([u16; CHUNK + RUN_KEYS * CUT]);

/// Finds runs.
#[derive(Clone, Copy)]
struct Finder<'a> {
    bytes: &'a [u8],
    runs: NarrowRunTable<'a>,
    symbols: SymbolTable<'a>,
}

/// A place in a stream.
#[derive(Clone, Copy)]
struct State {
    window: u64,
    codes: usize,
    /// Where the next raw bits end, in bits.
    raws: usize,
}

impl Finder<'_> {
    #[inline(always)]
    fn refill(&self, state: &mut State) {
        state.window = window(self.bytes, state.codes);
    }

    #[inline(always)]
    fn drain(&self, state: &mut State) {
        state.codes += used(state.window);
    }

    #[inline(always)]
    fn look_up(&self, state: &mut State) -> NarrowRun {
        let (run, behind) = self.runs.find(state.window);
        state.window = behind;
        state.raws = state.raws.wrapping_sub(run.raw_bits());
        run
    }

    /// Finds one gap.
    #[inline(always)]
    fn one(&self, state: &mut State) -> u16 {
        let symbol = self.symbols.find(state.window);
        state.window = symbol.skip_code(state.window);
        state.raws = state.raws.wrapping_sub(symbol.raw_bits());
        let raw = load(self.bytes, state.raws) & ((1 << symbol.raw_bits()) - 1);
        symbol.after_gap(0, raw) as u16
    }

    /// Finds runs of no more than `left` keys, some of them or up to the last 3 keys; takes these
    /// from `left`, and gives the number of runs.
    #[inline(always)]
    fn find(&self, state: &mut State, found: &mut Found, left: &mut usize) -> usize {
        const ROOM: usize = REFILLS * LOADED_CODES;
        let mut runs = 0;
        while *left >= RUN_KEYS && runs < ROOM {
            self.refill(state);
            // Near the end a load serves fewer, so the room need not be a multiple of them.
            for _ in 0..LOADED_CODES.min(*left / RUN_KEYS).min(ROOM - runs) {
                let run = self.look_up(state);
                found.runs.as_flattened_mut()[runs] = run;
                found.raws.as_flattened_mut()[runs] = state.raws as u64;
                *left -= run.keys();
                runs += 1;
            }
            self.drain(state);
        }
        runs
    }

    /// Finds the gaps from number `at` to number `end`.
    #[inline(always)]
    fn finish(
        &self,
        avx512: Avx512,
        state: &mut State,
        found: &mut Found,
        gaps: &mut Gaps,
        (mut at, end): (usize, usize),
    ) {
        while end - at >= RUN_KEYS {
            let runs = self.find(state, found, &mut (end - at));
            // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512.
            at = unsafe { cut(avx512, self.bytes, found, runs, gaps, at) };
        }
        self.refill(state);
        for gap in &mut gaps.0[at..end] {
            *gap = self.one(state);
        }
        self.drain(state);
    }
}

/// [`lanes::decode`](super::lanes::decode), by narrow runs.
#[inline(always)]
pub(super) fn decode(
    avx512: Avx512,
    streams: &Streams<'_>,
    runs: &NarrowRuns,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    match streams.geometry.planes() {
        0 => decode_by::<0>(avx512, streams, runs, lanes),
        1 => decode_by::<1>(avx512, streams, runs, lanes),
        2 => decode_by::<2>(avx512, streams, runs, lanes),
        3 => decode_by::<3>(avx512, streams, runs, lanes),
        _ => decode_by::<4>(avx512, streams, runs, lanes),
    }
}

#[inline(always)]
fn decode_by<const PLANES: usize>(
    avx512: Avx512,
    streams: &Streams<'_>,
    runs: &NarrowRuns,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    let (bytes, runs, symbols) = (streams.bytes, runs.table(), streams.symbols.table());
    let finder = Finder { bytes, runs, symbols };
    let mut states = lanes.each_ref().map(|lane| {
        let place = lane.place;
        State { window: 0, codes: place.codes, raws: place.raws_end() }
    });
    let mut found = [const { Found::NONE }; LANES];
    let mut gaps = [const { Gaps([0; CHUNK + RUN_KEYS * CUT]) }; LANES];
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
                // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512.
                at[lane] =
                    unsafe { cut(avx512, bytes, &found[lane], runs, &mut gaps[lane], at[lane]) };
            }
        }
        for lane in 0..LANES {
            let range = (at[lane], counts[lane]);
            let (state, found, gaps) = (&mut states[lane], &mut found[lane], &mut gaps[lane]);
            finder.finish(avx512, state, found, gaps, range);
            // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512.
            sound &= unsafe { sum_up::<PLANES>(gaps, counts[lane], &mut lanes[lane], from[lane]) };
            from[lane] += counts[lane];
        }
    }
    states.iter().all(|state| state.codes as isize <= state.raws as isize) && sound
}

/// [`lanes::skip`](super::lanes::skip), by narrow runs.
#[inline(always)]
pub(super) fn skip(
    avx512: Avx512,
    streams: &Streams<'_>,
    runs: &NarrowRuns,
    place: &mut Place,
    keys: usize,
) -> bool {
    let (bytes, runs, symbols) = (streams.bytes, runs.table(), streams.symbols.table());
    let finder = Finder { bytes, runs, symbols };
    let mut state = State { window: 0, codes: place.codes, raws: place.raws_end() };
    let (mut found, mut left) = (Found::NONE, keys);
    let mut sum = 0;
    while left >= RUN_KEYS {
        let runs = finder.find(&mut state, &mut found, &mut left);
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512.
        sum += unsafe { add_up(avx512, bytes, &found, runs) };
    }
    finder.refill(&mut state);
    for _ in 0..left {
        sum += u64::from(finder.one(&mut state));
    }
    finder.drain(&mut state);
    // A block has too few keys for the sum to wrap.
    let (middle, wraps) = place.middle.overflowing_add(sum);
    *place = Place::new(state.codes, state.raws, middle);
    !wraps && streams.is_sound(place)
}

/// Puts the gaps of the first `count` runs to `at` and behind; gives the place behind the last. May
/// change the gaps behind it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn cut(
    _avx512: Avx512,
    bytes: &[u8],
    found: &Found,
    count: usize,
    gaps: &mut Gaps,
    mut at: usize,
) -> usize {
    for start in (0..count).step_by(CUT) {
        let Some(out) = gaps.0.get_mut(at..at + RUN_KEYS * CUT) else { break };
        let (found, is_key) = cut_some(bytes, found, start, count);
        let found = _mm512_maskz_compress_epi16(is_key, found);
        // SAFETY: the slice has 64 bytes, and the store needs no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), found) };
        at += is_key.count_ones() as usize;
    }
    at
}

/// The sum of the gaps of the first `count` runs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn add_up(_avx512: Avx512, bytes: &[u8], found: &Found, count: usize) -> u64 {
    let even = _mm512_set1_epi32(0xFFFF);
    let mut sums = _mm512_setzero_si512();
    for start in (0..count).step_by(CUT) {
        let (found, is_key) = cut_some(bytes, found, start, count);
        let found = _mm512_maskz_mov_epi16(is_key, found);
        sums = _mm512_add_epi32(sums, _mm512_and_si512(found, even));
        sums = _mm512_add_epi32(sums, _mm512_srli_epi32::<16>(found));
    }
    // Each of the 16 sums has no more than 2 gaps of each of 5 groups of 8 runs.
    u64::from(_mm512_reduce_add_epi32(sums) as u32)
}

/// The gaps of up to [`CUT`] runs from number `start` on, out of the first `count`, in 16 bits each,
/// and where one stands.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn cut_some(bytes: &[u8], found: &Found, start: usize, count: usize) -> (__m512i, u32) {
    /// Bytes before the one where the raw bits of the first run start: those of 7 other runs may
    /// take 7 times 57 bits.
    const BEFORE: usize = 55;
    let all = |byte: u64| _mm512_set1_epi64((byte * 0x0101_0101_0101_0101) as i64);
    let pairs = |bytes: [u8; RUN_KEYS]| {
        let pairs = bytes.map(|byte| u16::from_le_bytes([byte; 2]));
        _mm512_set1_epi64(pairs.iter().rev().fold(0, |word, &pair| word << 16 | i64::from(pair)))
    };
    let (behind, key) = (pairs(NarrowRun::BEHIND), pairs(NarrowRun::KEY));
    let each_byte = _mm512_set1_epi64(0x07_06_05_04_03_02_01_00);
    // 16 bits end where the raw bits of a key do: 16 and 8 bits before that start their bytes.
    let back = _mm512_set1_epi16(i16::from_le_bytes([-16i8 as u8, -8i8 as u8]));
    let flag = |flag: u8| _mm512_set1_epi16(flag.into());
    let (differs, is_key) = (flag(NarrowRun::DIFFERS), flag(NarrowRun::IS_KEY));
    let (runs, raws) = (found.runs.as_flattened(), found.raws.as_flattened());
    let (Some(runs), Some(raws)) =
        (runs[start..].first_chunk::<CUT>(), raws[start..].first_chunk::<CUT>())
    else {
        return (_mm512_setzero_si512(), 0);
    };
    let first = (raws[0] as usize / 8).wrapping_sub(BEFORE);
    let loaded = match bytes.get(first..first.wrapping_add(64)) {
        // SAFETY: the slice has 64 bytes, and the load needs no alignment.
        Some(bytes) => unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) },
        None => {
            let edge = at_edge(bytes, first);
            // SAFETY: the array has 64 bytes, and the load needs no alignment.
            unsafe { _mm512_loadu_si512(edge.as_ptr().cast()) }
        }
    };
    // SAFETY: both arrays have 64 bytes, and the loads need no alignment.
    let (runs, raws) = unsafe {
        let runs = _mm512_loadu_si512(runs.as_ptr().cast());
        (runs, _mm512_loadu_si512(raws.as_ptr().cast()))
    };
    // From the first of the loaded bits on.
    let raws = _mm512_sub_epi64(raws, _mm512_set1_epi64(8i64.wrapping_mul(first as i64)));
    // The 8 bytes that each run starts in.
    let order = _mm512_add_epi8(_mm512_multishift_epi64_epi8(all(3), raws), each_byte);
    let words = _mm512_permutexvar_epi8(order, loaded);
    // (raws & 7) | back, in each byte.
    let raws = _mm512_multishift_epi64_epi8(all(0), raws);
    let starts = _mm512_ternarylogic_epi64::<0b1111_1000>(back, raws, all(7));
    let starts = _mm512_add_epi8(starts, _mm512_multishift_epi64_epi8(behind, runs));
    let words = _mm512_multishift_epi64_epi8(starts, words);
    let keys = _mm512_multishift_epi64_epi8(key, runs);
    let differs = _mm512_test_epi16_mask(keys, differs);
    let is_key = _mm512_test_epi16_mask(keys, is_key);
    let is_key = is_key & u32::MAX >> (RUN_KEYS * CUT.saturating_sub(count - start));
    (_mm512_maskz_shldv_epi16(differs, _mm512_set1_epi16(1), words, keys), is_key)
}

/// 64 bytes from number `first` on, where some of them are outside of `bytes`; those are 0.
#[cold]
fn at_edge(bytes: &[u8], first: usize) -> [u8; 64] {
    std::array::from_fn(|i| bytes.get(first.wrapping_add(i)).copied().unwrap_or(0))
}

/// Adds up the gaps of `count` keys from number `from` on, and joins them with their low parts; false
/// if a middle leaves its bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn sum_up<const PLANES: usize>(
    gaps: &Gaps,
    count: usize,
    lane: &mut Lane<'_>,
    from: usize,
) -> bool {
    let others = lane.keys.len() - 1;
    let mut planes: [&[u8]; PLANES] = [&[]; PLANES];
    for (plane, bytes) in planes.iter_mut().enumerate() {
        *bytes = &lane.column[plane * others..][from - 1..from - 1 + count];
    }
    let (before, keys) = lane.keys.split_at_mut(from);
    let keys = &mut keys[..count];
    // Middles stand where they do in a key.
    let first = before[from - 1] >> (8 * PLANES) << (8 * PLANES);
    let mut middle = _mm512_set1_epi64(first as i64);
    let orders = const { Orders::new::<PLANES>() };
    let load = |order: &[u8; 64]| {
        // SAFETY: the array has 64 bytes, and the load needs no alignment.
        unsafe { _mm512_loadu_si512(order.as_ptr().cast()) }
    };
    let last = load(&orders.last);
    let halves = [load(&orders.halves[0]), load(&orders.halves[1])];
    let third = _mm512_setr_epi32(0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0, 11, 11, 11, 11);
    let step = |at: usize, mask: u16, middle: &mut __m512i, keys: &mut [u64]| {
        let plane = |plane: usize| match planes.get(plane) {
            Some(bytes) => {
                let bytes = &bytes[at..];
                assert!(bytes.len() >= (u16::BITS - mask.leading_zeros()) as usize);
                // SAFETY: the slice has all bytes in the mask, and the load needs no alignment.
                unsafe { _mm_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
            }
            None => _mm_setzero_si128(),
        };
        let low = _mm512_zextsi128_si512(plane(0));
        let low = if PLANES > 1 { _mm512_inserti32x4::<1>(low, plane(1)) } else { low };
        let low = if PLANES > 2 { _mm512_inserti32x4::<2>(low, plane(2)) } else { low };
        let low = if PLANES > 3 { _mm512_inserti32x4::<3>(low, plane(3)) } else { low };
        // SAFETY: the array has 32 bytes, and the load needs no alignment.
        let found = unsafe { _mm256_loadu_si256(gaps.0[at..at + JOINED].as_ptr().cast()) };
        let sums = _mm512_cvtepu16_epi32(found);
        let sums = _mm512_add_epi32(sums, _mm512_bslli_epi128::<4>(sums));
        let sums = _mm512_add_epi32(sums, _mm512_bslli_epi128::<8>(sums));
        let before = _mm512_maskz_permutexvar_epi32(0xF0F0, third, sums);
        let sums = _mm512_add_epi32(sums, before);
        let before = _mm512_maskz_permutexvar_epi32(0xFF00, _mm512_set1_epi32(7), sums);
        let sums = _mm512_add_epi32(sums, before);
        let before = *middle;
        let four_bytes = (0x0F << PLANES & 0xFF) * 0x0101_0101_0101_0101;
        let added = _mm512_maskz_permutexvar_epi8(four_bytes, last, sums);
        *middle = _mm512_add_epi64(before, added);
        let keys = &mut keys[at..];
        assert!(keys.len() >= (u16::BITS - mask.leading_zeros()) as usize);
        for (half, order) in halves.into_iter().enumerate() {
            let used = (u64::MAX >> (64 - PLANES - 4) & 0xFF) * 0x0101_0101_0101_0101;
            let joined = _mm512_maskz_permutex2var_epi8(used, sums, order, low);
            let joined = _mm512_add_epi64(joined, before);
            let mask = (mask >> (8 * half)) as u8;
            let keys = keys.as_mut_ptr().wrapping_add(8 * half);
            // SAFETY: the slice has all words in the mask, and the store needs no alignment.
            unsafe { _mm512_mask_storeu_epi64(keys.cast(), mask, joined) };
        }
    };
    let mut at = 0;
    while at + JOINED <= count {
        step(at, u16::MAX, &mut middle, keys);
        at += JOINED;
    }
    if at < count {
        step(at, (1 << (count - at)) - 1, &mut middle, keys);
    }
    // All gaps together are less than 2^57, so a sum that wraps is less than the first.
    keys.last().is_none_or(|&last| last >> (8 * PLANES) >= first >> (8 * PLANES))
}

/// Where bytes come from.
struct Orders {
    /// From 16 sums of 32 bits, to 8 times the last one.
    last: [u8; 64],
    /// From 16 sums of 32 bits and 16 bytes of each plane, to 8 keys and 8 more.
    halves: [[u8; 64]; 2],
}

impl Orders {
    const fn new<const PLANES: usize>() -> Self {
        let mut orders = Self { last: [0; 64], halves: [[0; 64]; 2] };
        let mut key = 0;
        while key < JOINED {
            let half = &mut orders.halves[key / 8];
            let at = 8 * (key % 8);
            let mut byte = 0;
            while byte < PLANES {
                half[at + byte] = (64 + 16 * byte + key) as u8;
                byte += 1;
            }
            byte = 0;
            while byte < 4 {
                half[at + PLANES + byte] = (4 * key + byte) as u8;
                if key < 8 {
                    orders.last[at + PLANES + byte] = (60 + byte) as u8;
                }
                byte += 1;
            }
            key += 1;
        }
        orders
    }
}
