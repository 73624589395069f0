//! Sets of fingerprints with near neighbours, and the plain answer to a query.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// `fingerprint` with up to `bits` bits flipped.
    pub fn near(&mut self, fingerprint: u64, bits: u64) -> u64 {
        let flips = self.below(bits + 1);
        (0..flips).fold(fingerprint, |x, _| x ^ 1 << self.below(64))
    }

    pub fn shuffle(&mut self, set: &mut [u64]) {
        for i in (1..set.len()).rev() {
            set.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// `count` fingerprints in no order, half of them near another one.
pub fn fingerprints(seed: u64, count: usize) -> Vec<u64> {
    let mut random = Random(seed);
    let mut set: Vec<u64> = (0..count.div_ceil(2)).map(|_| random.next()).collect();
    while set.len() < count {
        let base = set[random.below(set.len() as u64) as usize];
        set.push(random.near(base, 6));
    }
    set
}

pub fn sorted(set: &[u64]) -> Vec<u64> {
    let mut set = set.to_vec();
    set.sort_unstable();
    set.dedup();
    set
}

/// All matches of a query with their distances, by distance, then by value.
pub fn matches(set: &[u64], query: u64, k: u32) -> Vec<(u32, u64)> {
    let distances = sorted(set).into_iter().map(|x| ((x ^ query).count_ones(), x));
    let mut matches: Vec<_> = distances.filter(|&(distance, _)| distance <= k).collect();
    matches.sort_unstable();
    matches
}

/// What `query` prints as TSV.
pub fn tsv(set: &[u64], queries: &[u64], k: u32) -> String {
    let rows = |&query: &u64| {
        let matches = matches(set, query, k).into_iter();
        matches.map(move |(distance, x)| format!("{query:016x}\t{x:016x}\t{distance}\n"))
    };
    queries.iter().flat_map(rows).collect()
}

/// log2(C(2^64, n)) / n, factor by factor.
pub fn bound_bits(n: u64) -> f64 {
    let all = 2f64.powi(64);
    let bits = (0..n).map(|i| (all - i as f64).log2() - ((i + 1) as f64).log2());
    bits.sum::<f64>() / n as f64
}
