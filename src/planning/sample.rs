//! How a sample of the fingerprints strays from uniform ones.

use crate::block::Candidate;
use crate::codec::profile::Profile;
use crate::design::Design;
use crate::permute::Permutation;
use crate::router::{Budget, LastKeys, Router};
use crate::thresholds::descent::DescentModel;
use crate::thresholds::solver::Thresholds;

/// Fingerprints that are kept to descend.
const KEPT: usize = 1 << 14;
/// Keys of the sample that stand for a block, at least.
const KEYS_PER_BLOCK: usize = 8;
/// Descents of each table.
const QUERIES: usize = 96;

/// Some fingerprints of a set.
#[derive(Clone)]
pub(super) struct Sample {
    /// Bits of a fingerprint, which are the highest of its word.
    pub(super) bits: u32,
    /// Number of distinct fingerprints.
    pub(super) count: u64,
    pub(super) profile: Profile,
    /// Some of them, evenly by rank.
    pub(super) kept: Vec<u64>,
}

impl Sample {
    /// Takes fingerprints in any order. Those that ascend strictly are not copied.
    pub(super) fn new(bits: u32, fingerprints: &[u64]) -> Self {
        if !fingerprints.is_sorted_by(|a, b| a < b) {
            let mut sorted = fingerprints.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            return Self::new(bits, &sorted);
        }
        let stride = Self::stride(fingerprints.len() as u64) as usize;
        Self {
            count: fingerprints.len() as u64,
            profile: Profile::new(bits, fingerprints),
            bits,
            kept: fingerprints.iter().copied().step_by(stride).collect(),
        }
    }

    /// One of so many fingerprints of a sorted set is kept.
    pub(super) fn stride(count: u64) -> u64 {
        count.div_ceil(KEPT as u64).max(1)
    }

    /// Whether there are too few fingerprints to tell anything.
    pub(super) fn is_small(&self) -> bool {
        self.kept.len() < 4 * KEYS_PER_BLOCK
    }

    /// The tables of a design, to descend them with any size of blocks.
    pub(super) fn tables(&self, design: &Design) -> SampledTables<'_> {
        let tables = design.tops().iter().map(|top| {
            let permutation = Permutation::new(top);
            let mut keys: Vec<u64> = self.kept.iter().map(|&fp| permutation.key(fp)).collect();
            keys.sort_unstable();
            (permutation, keys)
        });
        SampledTables { sample: self, tables: tables.collect() }
    }

    /// A fingerprint near the set: one of it, with 0 to `k` of its bits flipped.
    fn query(&self, number: usize, k: u32) -> u64 {
        let stored = self.kept[number * self.kept.len() / QUERIES];
        let mut state = number as u64;
        (0..number as u32 % (k.min(63) + 1)).fold(stored, |query, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let bits = u64::from(self.bits);
            query ^ 1 << (64 - bits + (state >> 58) % bits)
        })
    }
}

/// The keys of a sample in every table of a design.
pub(super) struct SampledTables<'a> {
    sample: &'a Sample,
    tables: Vec<(Permutation, Vec<u64>)>,
}

impl SampledTables<'_> {
    /// For each table the blocks that a search touches, by the flips that are left.
    ///
    /// The last keys of blocks are quantiles of the sample. Where the tables have more blocks than
    /// the sample has quantiles, fewer blocks are descended, and what is found grows as it would
    /// for uniform keys.
    pub(super) fn blocks_by_budget(
        &self,
        thresholds: &Thresholds,
        k: u32,
        blocks: u64,
        uniform: &DescentModel,
    ) -> Vec<Vec<f64>> {
        let kept = self.sample.kept.len();
        let quantiles = (kept / KEYS_PER_BLOCK).min(blocks as usize).max(1);
        let coarse = (quantiles as u64 != blocks).then(|| DescentModel::new(quantiles as u64));
        let mut by_budget = vec![vec![0.0; k as usize + 1]; self.tables.len()];
        let mut found: Vec<Vec<(f64, Vec<Candidate>)>> = vec![Vec::new(); QUERIES];
        for ((permutation, keys), threshold) in self.tables.iter().zip(thresholds) {
            let Some(threshold) = *threshold else {
                found.iter_mut().for_each(|found| found.push((0.0, Vec::new())));
                continue;
            };
            // Half way to the next key, lest a query be a last key more often than in a real table.
            let last = (1..=quantiles).map(|i| {
                let (key, rank) = (keys[i * kept / quantiles - 1], i * kept / quantiles);
                keys.get(rank).map_or(key, |next| key + (next - key) / 2)
            });
            let last_keys: Vec<u8> = last.flat_map(u64::to_le_bytes).collect();
            let last_keys = LastKeys::new(64, &last_keys);
            let router = Router::new(last_keys, 64);
            let top_bits = permutation.top_bits();
            let growth = coarse.as_ref().map_or(1.0, |coarse| {
                uniform.expected_blocks(top_bits, threshold, k)
                    / coarse.expected_blocks(top_bits, threshold, k)
            });
            for (number, found) in found.iter_mut().enumerate() {
                let query = permutation.key(self.sample.query(number, k));
                let budget = Budget { k, threshold, top_bits, middle_bits: 64 };
                let mut candidates = Vec::new();
                router.candidates(last_keys, query, budget, &mut candidates);
                found.push((growth, candidates));
            }
        }
        for tables in &found {
            let sum: f64 = tables.iter().map(|(growth, found)| growth * found.len() as f64).sum();
            // A search that would touch more blocks scans one table.
            let share = (blocks as f64 / sum).min(1.0) / QUERIES as f64;
            for ((growth, found), by_budget) in tables.iter().zip(&mut by_budget) {
                for candidate in found {
                    by_budget[candidate.budget as usize] += growth * share;
                }
            }
        }
        by_budget
    }
}
