//! The steps with NEON: 8 queries at a time.
//!
//! ```text
//! lane           0    1    2   ...   7
//! upper        | u0 | u1 | u2 | ... |    |    two loads: the upper halves of 8 queries
//!     ^ key    |  k |  k |  k | ... |  k |    of a prefix, or of a key to compare with
//! counts       | bits that are set, in 16 bits each
//! mask         | a byte for each query that is near enough
//! ```
//!
//! To sift, each query is written behind those that are kept so far, and the mask says whether it
//! stays there. The last queries of a list, fewer than 8, are sifted one by one.

#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::{Entries, Kernel, Near, Room, Within};
use crate::simd::neon::{Neon, at_most, distances_of_halves, halves_of};
use crate::simd::{Scalar, ones};

/// Queries that are compared together.
const EIGHT: usize = 8;
/// Keys after which it is looked whether one of them was near.
const KEYS: usize = 32;

impl Kernel for Neon {
    fn sift<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        within: Within,
        room: &mut Room<'_>,
    ) -> usize {
        let whole = entries.len() - entries.len() % EIGHT;
        let (whole, rest) = entries.split_at(whole);
        // SAFETY: a value of `Neon` exists only where the CPU has NEON.
        let count = unsafe { sift::<UPPER>(whole, within, room) };
        let mut room = Room { upper: &mut room.upper[count..], lower: &mut room.lower[count..] };
        count + Scalar.sift::<UPPER>(rest, within, &mut room)
    }

    fn compare<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        keys: &[u64],
        k: u32,
        near: &mut Vec<Near>,
    ) {
        // SAFETY: a value of `Neon` exists only where the CPU has NEON.
        unsafe { compare::<UPPER>(entries, keys, k, near) };
    }
}

/// Sifts groups of eight.
#[target_feature(enable = "neon")]
fn sift<const UPPER: bool>(entries: Entries<'_>, within: Within, room: &mut Room<'_>) -> usize {
    let most = vdupq_n_u16(within.most.min(64) as u16);
    let halves = |word: u64| [halves_of((word >> 32) as u32), halves_of(word as u32)];
    let (key, mask) = (halves(within.key), halves(within.mask));
    let mut count = 0;
    let chunks = entries.upper.as_chunks::<EIGHT>().0.iter();
    for (upper, lower) in chunks.zip(entries.lower.as_chunks::<EIGHT>().0) {
        let mut all = distances_of_halves(upper, key[0], mask[0]);
        if !UPPER {
            all = vaddq_u16(all, distances_of_halves(lower, key[1], mask[1]));
        }
        let mut kept = at_most(all, most);
        // None of eight is the most frequent case.
        if kept == 0 {
            continue;
        }
        for (&upper, &lower) in upper.iter().zip(lower) {
            (room.upper[count], room.lower[count]) = (upper, lower);
            count += (kept & 1) as usize;
            kept >>= 8;
        }
    }
    count
}

/// The first eight words, and a bit for each that there is; the others are the last one.
#[inline]
fn first_eight(words: &[u32]) -> (u64, [u32; EIGHT]) {
    if let Some(words) = words.first_chunk() {
        return (u64::MAX, *words);
    }
    let mut all = [words.last().copied().unwrap_or_default(); EIGHT];
    all[..words.len()].copy_from_slice(words);
    ((1 << (8 * words.len())) - 1, all)
}

#[target_feature(enable = "neon")]
fn compare<const UPPER: bool>(entries: Entries<'_>, keys: &[u64], k: u32, near: &mut Vec<Near>) {
    let limit = vdupq_n_u16(k.min(64) as u16);
    let all_bits = halves_of(u32::MAX);
    let half = |key: u64| halves_of((if UPPER { key >> 32 } else { key }) as u32);
    for at in (0..entries.len()).step_by(EIGHT) {
        let some = entries.split_at(at).1;
        let (there, words) = first_eight(if UPPER { some.upper } else { some.lower });
        let (_, others) = first_eight(if UPPER { some.lower } else { some.upper });
        for (first, keys) in (0..).step_by(KEYS).zip(keys.chunks(KEYS)) {
            let mut least = vdupq_n_u16(u16::MAX);
            for &key in keys {
                least = vminq_u16(least, distances_of_halves(&words, half(key), all_bits));
            }
            if at_most(least, limit) & there == 0 {
                continue;
            }
            for (number, &key) in (first..).zip(keys) {
                let by_one = distances_of_halves(&words, half(key), all_bits);
                // Most keys are far by the half that was compared before.
                if at_most(by_one, limit) & there == 0 {
                    continue;
                }
                let other = halves_of((if UPPER { key } else { key >> 32 }) as u32);
                let both = vaddq_u16(by_one, distances_of_halves(&others, other, all_bits));
                let found = ones(at_most(both, limit) & there).map(|bit| (at + bit / 8) as u32);
                near.extend(found.map(|entry| Near { entry, key: number }));
            }
        }
    }
}
