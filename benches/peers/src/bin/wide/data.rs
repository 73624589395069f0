//! Fingerprints and queries.

use fpstore::Fingerprint;
use rayon::prelude::*;

/// The outputs of SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn fingerprint<F: Fingerprint>(&mut self) -> F {
        let mut bytes = F::Bytes::default();
        for chunk in bytes.as_mut().chunks_mut(8) {
            let length = chunk.len();
            chunk.copy_from_slice(&self.next().to_be_bytes()[..length]);
        }
        F::from_be_bytes(bytes)
    }

    /// With so many bits flipped, some perhaps twice.
    fn near<F: Fingerprint>(&mut self, fingerprint: F, flips: u32) -> F {
        let mut bytes = fingerprint.to_be_bytes();
        for _ in 0..flips {
            let bit = (self.next() % u64::from(F::BITS)) as usize;
            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        F::from_be_bytes(bytes)
    }
}

/// So many distinct fingerprints, ascending; a few less where some are equal.
pub fn set<F: Fingerprint>(count: usize, clustered: bool) -> Vec<F> {
    let mut random = Random(7);
    let mut set: Vec<F> = Vec::with_capacity(count);
    while set.len() < count {
        let one = random.fingerprint();
        set.push(one);
        // A twelfth of them begins a cluster of four on average: a third of all.
        if clustered && random.next().is_multiple_of(8) {
            for _ in 0..2 + random.next() % 5 {
                let flips = (random.next() % u64::from(F::BITS / 8)) as u32;
                let near = random.near(one, flips);
                set.push(near);
            }
        }
    }
    set.truncate(count);
    set.par_sort_unstable();
    set.dedup();
    set
}

/// Half of them as far from a stored fingerprint as the radius, half anywhere.
pub fn queries<F: Fingerprint>(set: &[F], k: u32, count: usize) -> Vec<F> {
    queries_of(set, k, count, |number| number % 2 == 0)
}

/// Those of which `near` says so with so many flips, others anywhere.
pub fn queries_of<F: Fingerprint>(
    set: &[F],
    flips: u32,
    count: usize,
    near: impl Fn(usize) -> bool,
) -> Vec<F> {
    let mut random = Random(99);
    let query = |number| {
        let stored = set[(random.next() % set.len() as u64) as usize];
        if near(number) { random.near(stored, flips) } else { random.fingerprint() }
    };
    (0..count).map(query).collect()
}
