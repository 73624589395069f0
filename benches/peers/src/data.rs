//! The set and the queries: seeded, or a set from a file.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::Result;

const SET_SEED: u64 = 20_070_508;
const QUERY_SEED: u64 = 1;

/// The most bits that are flipped in a query that was made from a stored fingerprint.
const MOST_FLIPS: u64 = 3;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// The next number. The numbers of one generator are distinct until it has given 2^64.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// `value` with exactly `flips` different bits flipped.
    fn flip(&mut self, value: u64, flips: u32) -> u64 {
        let mut flipped = value;
        while (flipped ^ value).count_ones() < flips {
            flipped ^= 1 << (self.next() % 64);
        }
        flipped
    }
}

/// `count` distinct uniform fingerprints, sorted.
pub fn uniform(count: usize) -> Vec<u64> {
    let mut random = Random(SET_SEED);
    let mut set: Vec<u64> = (0..count).map(|_| random.next()).collect();
    set.par_sort_unstable();
    set
}

/// The distinct fingerprints of a file of little-endian u64, sorted.
pub fn read(path: &Path) -> Result<Vec<u64>> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(format!("{}: its size is no multiple of 8 bytes", path.display()).into());
    }
    let mut set: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    set.par_sort_unstable();
    set.dedup();
    Ok(set)
}

/// Queries for a sorted set, in an order in which every four of them are one stored fingerprint,
/// two stored ones with up to three bits flipped, and a random number.
pub fn queries(set: &[u64], count: usize) -> Vec<u64> {
    let mut random = Random(QUERY_SEED);
    let query = |i: usize| {
        let stored = set[(random.next() % set.len() as u64) as usize];
        match i % 4 {
            0 => stored,
            1 | 2 => {
                let flips = (random.next() % (MOST_FLIPS + 1)) as u32;
                random.flip(stored, flips)
            }
            _ => random.next(),
        }
    };
    (0..count).map(query).collect()
}

/// Reads a count such as `67108864`, `1_000_000` or `2^26`.
pub fn parse_count(text: &str) -> std::result::Result<usize, String> {
    let plain = text.replace('_', "");
    let count = match plain.split_once('^') {
        Some((base, exponent)) => {
            let base: Option<usize> = base.parse().ok();
            base.zip(exponent.parse().ok()).and_then(|(base, exponent)| base.checked_pow(exponent))
        }
        None => plain.parse().ok(),
    };
    count.filter(|&count| count > 0).ok_or(format!("{text:?} is no number like 1000000 or 2^24"))
}
