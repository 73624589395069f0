//! The steps with AVX2: 8 queries at a time.
//!
//! ```text
//! lane           0    1    2   ...   7
//! upper        | u0 | u1 | u2 | ... |    |    one load: the upper halves of 8 queries
//!     ^ key    |  k |  k |  k | ... |  k |    of a prefix, or of a key to compare with
//! counts       | bits that are set, byte by byte, added up in each lane
//! mask         | a bit for each query that is near enough
//! ```
//!
//! To sift, a table says for each mask how its lanes are closed up. The last queries of a list,
//! fewer than 8, are sifted one by one.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{Entries, Kernel, Near, Room, Within};
use crate::simd::avx2::{Avx2, count_ones, load_halves, store_halves};
use crate::simd::{Scalar, ones};

/// Queries of a register.
const EIGHT: usize = 8;
/// Keys after which it is looked whether one of them was near.
const KEYS: usize = 32;

/// For each mask the lanes that are set in it, in order, and others behind.
static CLOSED_UP: [[u32; EIGHT]; 1 << EIGHT] = closed_up();

const fn closed_up() -> [[u32; EIGHT]; 1 << EIGHT] {
    let mut all = [[0; EIGHT]; 1 << EIGHT];
    let mut mask = 0;
    while mask < all.len() {
        let (mut lane, mut count) = (0, 0);
        while lane < EIGHT {
            if mask >> lane & 1 == 1 {
                all[mask][count] = lane as u32;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    all
}

impl Kernel for Avx2 {
    fn sift<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        within: Within,
        room: &mut Room<'_>,
    ) -> usize {
        let whole = entries.len() - entries.len() % EIGHT;
        let (upper, upper_rest) = entries.upper.split_at(whole);
        let (lower, lower_rest) = entries.lower.split_at(whole);
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2.
        let count = unsafe { sift::<UPPER>(Entries::new(upper, lower), within, room) };
        let mut room = Room { upper: &mut room.upper[count..], lower: &mut room.lower[count..] };
        let rest = Entries::new(upper_rest, lower_rest);
        count + Scalar.sift::<UPPER>(rest, within, &mut room)
    }

    fn compare<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        keys: &[u64],
        k: u32,
        near: &mut Vec<Near>,
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2.
        unsafe { compare::<UPPER>(entries, keys, k, near) };
    }
}

/// The upper and the lower half of a word, each in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(word: u64) -> [__m256i; 2] {
    [_mm256_set1_epi32((word >> 32) as i32), _mm256_set1_epi32(word as i32)]
}

/// How many bits are set in each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn counts(words: __m256i) -> __m256i {
    let of_pairs = _mm256_maddubs_epi16(count_ones(words), _mm256_set1_epi8(1));
    _mm256_madd_epi16(of_pairs, _mm256_set1_epi16(1))
}

/// A bit for each lane that is at most `most`; no lane is that of a negative number.
#[inline]
#[target_feature(enable = "avx2")]
fn at_most(counts: __m256i, most: __m256i) -> u32 {
    let above = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(counts, most)));
    !above as u32 & 0xFF
}

/// Sifts whole registers.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn sift<const UPPER: bool>(entries: Entries<'_>, within: Within, room: &mut Room<'_>) -> usize {
    let most = _mm256_set1_epi32(within.most as i32);
    let (key, mask) = (halves(within.key), halves(within.mask));
    let mut count = 0;
    let chunks = entries.upper.as_chunks().0.iter().zip(entries.lower.as_chunks().0);
    for (upper, lower) in chunks {
        let (upper, lower) = (load_halves(upper), load_halves(lower));
        let differing = |words, number: usize| {
            counts(_mm256_and_si256(_mm256_xor_si256(words, key[number]), mask[number]))
        };
        let mut all = differing(upper, 0);
        if !UPPER {
            all = _mm256_add_epi32(all, differing(lower, 1));
        }
        let kept = at_most(all, most);
        let [Some(to_upper), Some(to_lower)] = [&mut *room.upper, &mut *room.lower]
            .map(|room| room.get_mut(count..).and_then(|room| room.first_chunk_mut()))
        else {
            break;
        };
        let order = load_halves(&CLOSED_UP[kept as usize]);
        store_halves(to_upper, _mm256_permutevar8x32_epi32(upper, order));
        store_halves(to_lower, _mm256_permutevar8x32_epi32(lower, order));
        count += kept.count_ones() as usize;
    }
    count
}

/// The first words in a register, and a bit for each lane that has one of its own: where they are
/// fewer than eight, the last of them stands in the others, too.
#[inline]
#[target_feature(enable = "avx2")]
fn load_some(words: &[u32]) -> (u32, __m256i) {
    if let Some(words) = words.first_chunk() {
        return (0xFF, load_halves(words));
    }
    let last = words.last().copied().unwrap_or_default();
    let mut all = [last; EIGHT];
    all[..words.len()].copy_from_slice(words);
    ((1 << words.len()) - 1, load_halves(&all))
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn compare<const UPPER: bool>(entries: Entries<'_>, keys: &[u64], k: u32, near: &mut Vec<Near>) {
    let limit = _mm256_set1_epi32(k as i32);
    for at in (0..entries.len()).step_by(EIGHT) {
        let some = Entries::new(&entries.upper[at..], &entries.lower[at..]);
        let (lanes, words) = load_some(if UPPER { some.upper } else { some.lower });
        for (first, keys) in (0..).step_by(KEYS).zip(keys.chunks(KEYS)) {
            let mut least = _mm256_set1_epi32(64);
            for &key in keys {
                least = _mm256_min_epi32(least, differing::<UPPER>(words, key));
            }
            if at_most(least, limit) & lanes != 0 {
                report::<UPPER>((some, at), keys, first, k, near);
            }
        }
    }
}

/// In how many bits the words differ from one half of a key.
#[inline]
#[target_feature(enable = "avx2")]
fn differing<const UPPER: bool>(words: __m256i, key: u64) -> __m256i {
    let word = if UPPER { key >> 32 } else { key };
    counts(_mm256_xor_si256(words, _mm256_set1_epi32(word as i32)))
}

/// Appends what is near by both halves, of the first 8 of some entries, which are numbered from
/// `at` on, and of keys whose first has this number.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn report<const UPPER: bool>(
    (entries, at): (Entries<'_>, usize),
    keys: &[u64],
    first: u32,
    k: u32,
    near: &mut Vec<Near>,
) {
    let limit = _mm256_set1_epi32(k as i32);
    let ((lanes, upper), (_, lower)) = (load_some(entries.upper), load_some(entries.lower));
    for (number, &key) in (first..).zip(keys) {
        let by_one =
            if UPPER { differing::<true>(upper, key) } else { differing::<false>(lower, key) };
        // Most keys are far by the half that was compared before.
        if at_most(by_one, limit) == 0 {
            continue;
        }
        let other =
            if UPPER { differing::<false>(lower, key) } else { differing::<true>(upper, key) };
        let found = at_most(_mm256_add_epi32(by_one, other), limit) & lanes;
        let found = ones(u64::from(found)).map(|lane| (at + lane) as u32);
        near.extend(found.map(|entry| Near { entry, key: number }));
    }
}
