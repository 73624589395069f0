//! How many blocks a descent of the router touches, in expectation over uniform data.
//!
//! A prefix that is shared by x blocks' worth of keys lies in x + 1 blocks on average, since its
//! ends fall anywhere inside a block. So a descent with f flips left in a subtree of x blocks
//! touches the blocks of both halves, of x / 2 each, with f and f - 1 flips left, less those that
//! the halves share, and it stops where one block is left. Near the root, where x is large, halves
//! share next to nothing, and the number of subtrees with j flips spent is a binomial coefficient.
//! Near the leaves sharing decides. There the expectation is taken over the descents of the router
//! itself, in subtrees of 32 to 64 blocks with borders at every offset. So the prediction knows all
//! rules by which the router stops.
//!
//! Only additions, multiplications and divisions of `f64` are used: the result is the same on every
//! machine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::flips;
use crate::router::{Budget, LastKeys, Router};

/// A subtree has at least half as many blocks as this, unless the table is smaller.
const SUBTREE_BLOCKS: u64 = 64;
/// Offsets of the borders of blocks, each with one query.
const OFFSETS: u32 = 48;
/// With so many flips left the descent reaches every block of a subtree.
const FLIPS_FOR_ALL: u32 = 8;
/// A top that reaches so many bits into a subtree ends where one block is left.
const WHOLE_TOP: u32 = 16;

/// The budget of a descent in a subtree: k, the threshold, and the bits of the top that are left.
type Key = (u32, u32, u32);

/// Expected descents of a table of uniform keys.
pub(crate) struct DescentModel {
    blocks: f64,
    /// Depth in bits at which the subtrees begin.
    depth: u32,
    forest: Arc<Forest>,
}

/// Subtrees of equal width, and what is known of them: it serves all tables that have such.
struct Forest {
    subtrees: Vec<Subtree>,
    /// For each budget the mean number of blocks in a subtree, by the flips that are left.
    known: Mutex<HashMap<Key, Vec<f64>>>,
}

/// The forests of subtrees of 32, 33, ... 63 blocks.
static FORESTS: [OnceLock<Arc<Forest>>; SUBTREE_BLOCKS as usize / 2] =
    [const { OnceLock::new() }; SUBTREE_BLOCKS as usize / 2];

/// A subtree with blocks of equal width in the space of keys.
struct Subtree {
    last_keys: Vec<u8>,
    router: Router,
    query: u64,
}

impl Subtree {
    /// `blocks` blocks' worth of keys, the first one cut so that `offset` of it is left.
    fn new(blocks: f64, offset: f64, query: u64) -> Self {
        let width = 2f64.powi(64) / blocks;
        let borders = (0u64..).map(|i| (i as f64 + offset) * width);
        let inside = borders.take_while(|&border| border < 2f64.powi(64));
        let mut last_keys: Vec<u8> =
            inside.flat_map(|border| (border as u64).to_le_bytes()).collect();
        // The last block reaches into the next subtree.
        last_keys.extend(u64::MAX.to_le_bytes());
        Self { router: Router::new(LastKeys::new(64, &last_keys), 64), last_keys, query }
    }
}

impl Forest {
    /// Subtrees of `width` blocks; a `whole` table begins with a whole block.
    fn new(width: f64, whole: bool) -> Self {
        let subtrees = (0..OFFSETS).map(|i| {
            let offset = match whole {
                true => 1.0 - 1e-9,
                false => (f64::from(i) + 0.5) / f64::from(OFFSETS),
            };
            // Queries in low-discrepancy order: their first bits are spread evenly.
            let spread = u64::from(i * 29 % OFFSETS) * (u64::MAX / u64::from(OFFSETS));
            let mixed = u64::from(i + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
            Subtree::new(width, offset, spread + (mixed >> 8))
        });
        Self { subtrees: subtrees.collect(), known: Mutex::default() }
    }

    /// That of the subtrees of `width` blocks, which is shared where that is a whole number.
    fn of_width(width: f64) -> Arc<Self> {
        let forest = || Arc::new(Self::new(width, false));
        let number = width as usize;
        let shared = FORESTS.get(number.wrapping_sub(FORESTS.len()));
        match shared.filter(|_| number as f64 == width) {
            Some(shared) => Arc::clone(shared.get_or_init(forest)),
            None => forest(),
        }
    }
}

impl DescentModel {
    /// A model of tables with `blocks` blocks. Takes some 20 microseconds.
    pub(crate) fn new(blocks: u64) -> Self {
        let blocks = blocks.max(1);
        let depth = (blocks.ilog2() + 1).saturating_sub(SUBTREE_BLOCKS.ilog2());
        let forest = match depth {
            0 => Arc::new(Forest::new(blocks as f64, true)),
            _ => Forest::of_width(blocks as f64 / (1u64 << depth) as f64),
        };
        Self { blocks: blocks as f64, depth, forest }
    }

    /// Blocks of a table.
    pub(crate) fn blocks(&self) -> f64 {
        self.blocks
    }

    /// The blocks that a descent within `k`, with at most `threshold` flips in a top of `top_bits`
    /// bits, touches. Takes some milliseconds at most; what was computed once is remembered.
    pub(crate) fn expected_blocks(&self, top_bits: u32, threshold: u32, k: u32) -> f64 {
        let mut sum = 0.0;
        self.for_each_kind(top_bits, threshold, k, |paths, mut budget| {
            let all = budget.threshold >= FLIPS_FOR_ALL && budget.top_bits >= FLIPS_FOR_ALL
                || budget.top_bits == 0 && budget.k >= FLIPS_FOR_ALL;
            // More flips behind the top than reach every block do not count.
            budget.k = budget.k.min(budget.threshold + FLIPS_FOR_ALL);
            sum += paths
                * match all && self.depth > 0 {
                    true => self.blocks / (1u64 << self.depth) as f64 + 1.0,
                    false => self.in_subtree(budget, |blocks| blocks.iter().sum()),
                };
        });
        sum.min(self.blocks)
    }

    /// As [`Self::expected_blocks`], split by the flips that are left at a block, 0 to `k`.
    pub(crate) fn blocks_by_budget(&self, top_bits: u32, threshold: u32, k: u32) -> Vec<f64> {
        let mut by_budget = vec![0.0; k as usize + 1];
        self.for_each_kind(top_bits, threshold, k, |paths, budget| {
            let spare = (budget.k - self.key(budget).0) as usize;
            self.in_subtree(budget, |blocks| {
                for (sum, blocks) in by_budget[spare..].iter_mut().zip(blocks) {
                    *sum += paths * blocks;
                }
            });
        });
        let sum: f64 = by_budget.iter().sum();
        if sum > self.blocks {
            by_budget.iter_mut().for_each(|blocks| *blocks *= self.blocks / sum);
        }
        by_budget
    }

    /// Calls `visit` with the number of subtrees that are reached with each budget.
    fn for_each_kind(
        &self,
        top_bits: u32,
        threshold: u32,
        k: u32,
        mut visit: impl FnMut(f64, Budget),
    ) {
        let above = self.depth.min(top_bits);
        let below = self.depth - above;
        for in_top in 0..=threshold.min(k).min(above) {
            for behind in 0..=(k - in_top).min(below) {
                let paths = flips::ways_of(above, in_top) * flips::ways_of(below, behind);
                let budget = Budget {
                    k: k - in_top - behind,
                    threshold: threshold.min(k) - in_top,
                    top_bits: top_bits - above,
                    middle_bits: 64,
                };
                visit(paths, budget);
            }
        }
    }

    /// What a budget comes to in a subtree: a top that does not end there leaves no use for the
    /// flips behind it, and a top that has ended leaves none for its threshold.
    fn key(&self, budget: Budget) -> Key {
        match budget.top_bits {
            0 => (budget.k, 0, 0),
            WHOLE_TOP.. => (budget.threshold, budget.threshold, 64),
            bits => (budget.k, budget.threshold, bits),
        }
    }

    /// Calls `read` with the mean number of blocks in a subtree, by the flips that are left of the
    /// k of [`Self::key`].
    fn in_subtree<T>(&self, budget: Budget, read: impl FnOnce(&[f64]) -> T) -> T {
        let key = self.key(budget);
        let Forest { subtrees, known } = &*self.forest;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = known.entry(key).or_insert_with(|| {
            let (k, threshold, top_bits) = key;
            let budget = Budget { k, threshold, top_bits, middle_bits: 64 };
            let each = 1.0 / subtrees.len() as f64;
            let mut blocks = vec![0.0; k as usize + 1];
            let mut found = Vec::new();
            for subtree in subtrees {
                found.clear();
                let (router, last_keys) = (&subtree.router, &subtree.last_keys);
                let last_keys = LastKeys::new(64, last_keys);
                router.candidates(last_keys, subtree.query, budget, &mut found);
                found.iter().for_each(|candidate| blocks[candidate.budget as usize] += each);
            }
            blocks
        });
        read(blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_x_blocks_lies_in_x_and_one_blocks() {
        for (blocks, top_bits) in [(1 << 20, 16), (3 << 20, 20), (1 << 26, 32)] {
            let found = DescentModel::new(blocks).expected_blocks(top_bits, 0, 0);
            assert!(found < 2.1, "{found}");
        }
        // Enough flips behind the top reach all of its blocks.
        let found = DescentModel::new(1 << 20).expected_blocks(14, 0, 9);
        assert!((found - 65.0).abs() < 2.5, "{found}");
    }

    #[test]
    fn more_flips_touch_more_blocks_and_never_more_than_there_are() {
        for blocks in [1, 5, 64, 100, 5000, 1 << 22] {
            let model = DescentModel::new(blocks);
            for top_bits in [12, 16, 32, 64] {
                let found: Vec<f64> =
                    (0..=12).map(|flips| model.expected_blocks(top_bits, flips, 12)).collect();
                assert!(found.is_sorted(), "{blocks} blocks, top {top_bits}: {found:?}");
                assert!(found[0] >= 1.0 && found[12] <= blocks as f64);
                let split: f64 = model.blocks_by_budget(top_bits, 3, 12).iter().sum();
                assert!((split / found[3] - 1.0).abs() < 0.05, "{split} is not {}", found[3]);
            }
        }
    }
}
