//! Fingerprint sets and the answers of brute force.

use fpstore::Match;

/// SplitMix64: a stream of uniform 64-bit numbers from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// `fingerprint` with `flips` distinct random bits flipped.
    pub fn flip(&mut self, fingerprint: u64, flips: u32) -> u64 {
        self.flip_inside(fingerprint, flips, u64::MAX)
    }

    /// `fingerprint` with `flips` distinct random bits of `inside` flipped, or all of them if there
    /// are not so many.
    pub fn flip_inside(&mut self, fingerprint: u64, flips: u32, inside: u64) -> u64 {
        let mut mask = 0u64;
        while mask.count_ones() < flips.min(inside.count_ones()) {
            mask |= (1 << (self.next() % 64)) & inside;
        }
        fingerprint ^ mask
    }
}

/// Uniform fingerprints, a quarter of them with near duplicates.
pub fn clustered(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut set = Vec::with_capacity(count);
    while set.len() < count {
        let center = random.next();
        set.push(center);
        if center.is_multiple_of(4) {
            for _ in 0..center / 4 % 20 {
                let flips = 1 + (random.next() % 5) as u32;
                set.push(random.flip(center, flips));
            }
        }
    }
    set.truncate(count);
    set
}

/// Uniform fingerprints, and for each `share` of them one within `flips` of one of the first ones,
/// in order.
pub fn uniform_and_near(count: usize, seed: u64, share: usize, flips: u32) -> Vec<u64> {
    let mut random = Random(seed);
    let mut set: Vec<u64> = (0..count).map(|_| random.next()).collect();
    for at in 0..count / share {
        let near = random.flip(set[at % 300], at as u32 % (flips + 1));
        set.push(near);
    }
    sorted(&set)
}

/// All of `set` within `k` of `query`, as a store orders them.
pub fn brute_force(set: &[u64], query: u64, k: u32) -> Vec<Match> {
    let mut matches: Vec<Match> = set
        .iter()
        .map(|&fingerprint| Match { fingerprint, distance: (fingerprint ^ query).count_ones() })
        .filter(|found| found.distance <= k)
        .collect();
    matches.sort_by_key(|found| (found.distance, found.fingerprint));
    matches.dedup();
    matches
}

/// The set without duplicates, in order.
pub fn sorted(set: &[u64]) -> Vec<u64> {
    let mut set = set.to_vec();
    set.sort_unstable();
    set.dedup();
    set
}
