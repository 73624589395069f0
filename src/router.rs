//! Finds the blocks that can hold matches of a query, from the last key of every block.
//!
//! The sorted array of last keys is an implicit binary trie over the prefixes of keys. The search
//! descends it with the query and a budget of flips: the child that agrees with the query's bit is
//! free, the other one costs a flip. Inside the top of the table at most τ flips are allowed,
//! behind it what is left of k. A range of blocks is emitted when it is a single block, or when no
//! bit is left to decide; each block comes once, with the largest *residual budget*: k minus the
//! flips spent on the way to it.
//!
//! The descent ends where the low column begins. The scan of the column counts the bits of the
//! column, so a flip of such a bit must not be subtracted from the budget before.
//!
//! A directory over the first D bits of keys gives the first block for each of 2^D prefixes, so a
//! step of the descent above depth D costs one look-up, and one below it a binary search among some
//! 8 last keys. D is 3 less than the logarithm of the number of blocks: 0.5 byte of heap per block.
//!
//! The paper finds the block by interpolation search. Measured by `cargo bench --bench router` (AMD
//! EPYC, one core, last keys in the cache), per look-up of one key:
//!
//! | last keys | directory | interpolation | binary search |
//! | --- | --- | --- | --- |
//! | 86,038 (2^24 uniform fingerprints, 195 a block) | 7.6 ns | 11.6 ns | 25.3 ns |
//! | 327 (63,707 real ones) | 7.3 ns | 24.4 ns | 8.2 ns |
//!
//! So the directory stays: it is 1.5 times as fast on uniform keys, and does not suffer from skew.

use byteorder::{ByteOrder, LittleEndian as LE};

/// A block that can hold matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Number of the block in its table.
    pub(crate) block: u32,
    /// How many bits may differ that the descent has not seen.
    pub(crate) budget: u32,
}

/// The directory over the last keys of a table. The keys themselves stay in the file.
#[derive(Debug)]
pub(crate) struct Router {
    blocks: u32,
    directory_bits: u32,
    /// For each prefix of `directory_bits` bits the first block whose last key is not below it;
    /// then `blocks`.
    directory: Vec<u32>,
}

/// How far a descent may stray from the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Bits that may differ in all.
    pub(crate) k: u32,
    /// Bits that may differ inside the top, τ.
    pub(crate) threshold: u32,
    /// Bits of the top, p.
    pub(crate) top_bits: u32,
    /// Where the descent ends at the latest: the bits above the low column, M.
    pub(crate) middle_bits: u32,
}

impl Router {
    /// Builds the directory. `last_keys` holds 8 bytes per block, ascending, as in the file. Takes
    /// one pass.
    pub(crate) fn new(last_keys: &[u8]) -> Self {
        let blocks = (last_keys.len() / 8) as u32;
        let directory_bits = blocks.max(1).ilog2().saturating_sub(3);
        let mut directory = Vec::with_capacity((1 << directory_bits) + 1);
        for (block, last) in last_keys.chunks_exact(8).map(LE::read_u64).enumerate() {
            // Every prefix up to that of this key, and not yet listed, begins here.
            let prefix = prefix(last, directory_bits);
            while directory.len() as u64 <= prefix {
                directory.push(block as u32);
            }
        }
        directory.resize((1 << directory_bits) + 1, blocks);
        Self { blocks, directory_bits, directory }
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        4 * self.directory.capacity() as u64
    }

    /// The first block whose last key is `key` or more: the only one that can hold `key`. `None` if
    /// all keys are less.
    pub(crate) fn find(&self, last_keys: &[u8], key: u64) -> Option<u32> {
        let block = Descent::new(self, last_keys).first_not_below(key, 0, self.blocks);
        (block < self.blocks).then_some(block)
    }

    /// Appends the blocks that can hold a key within `budget` of `query`, ascending. Stops early,
    /// and returns false, once there are more than `limit`.
    pub(crate) fn descend(
        &self,
        last_keys: &[u8],
        query: u64,
        budget: Budget,
        limit: usize,
        out: &mut Vec<Candidate>,
    ) -> bool {
        if self.blocks == 0 {
            return true;
        }
        let start = out.len();
        let limit = start.saturating_add(limit);
        let mut descent = Descent { query, budget, limit, start, ..Descent::new(self, last_keys) };
        descent.visit(out, 0, 0, 0, self.blocks - 1, 0);
        out.len() <= limit
    }
}

/// The first `bits` bits of `key` as a number.
fn prefix(key: u64, bits: u32) -> u64 {
    key.checked_shr(64 - bits).unwrap_or(0)
}

/// One walk down the trie.
struct Descent<'a> {
    router: &'a Router,
    last_keys: &'a [u8],
    query: u64,
    budget: Budget,
    /// Length of the output at which the walk gives up.
    limit: usize,
    /// Length of the output before the walk.
    start: usize,
}

impl<'a> Descent<'a> {
    fn new(router: &'a Router, last_keys: &'a [u8]) -> Self {
        let budget = Budget { k: 0, threshold: 0, top_bits: 64, middle_bits: 64 };
        Self { router, last_keys, query: 0, budget, limit: usize::MAX, start: 0 }
    }

    #[inline]
    fn last_key(&self, block: u32) -> u64 {
        LE::read_u64(&self.last_keys[8 * block as usize..][..8])
    }

    /// The first block of `from..to` whose last key is `key` or more, else `to`.
    #[inline]
    fn first_not_below(&self, key: u64, from: u32, to: u32) -> u32 {
        let slot = prefix(key, self.router.directory_bits) as usize;
        let mut low = self.router.directory[slot].clamp(from, to);
        let mut high = self.router.directory[slot + 1].clamp(low, to);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.last_key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Visits the keys that begin with the first `depth` bits of `path` (its other bits are zero).
    /// They lie in the blocks `low..=high`, and differ from the query in `spent` of these bits.
    fn visit(
        &mut self,
        out: &mut Vec<Candidate>,
        depth: u32,
        path: u64,
        low: u32,
        high: u32,
        spent: u32,
    ) {
        let Budget { k, threshold, top_bits, middle_bits } = self.budget;
        if low == high || depth >= middle_bits {
            return self.emit(out, low, high, spent);
        }
        if out.len() > self.limit {
            return;
        }
        let in_top = depth < top_bits;
        let left = if in_top { threshold.min(k) - spent } else { k - spent };
        if left == 0 {
            // One path is left, to the end of the top, or to the column if no flip is left at all.
            let end = if in_top && k > spent { top_bits.min(middle_bits) } else { middle_bits };
            let rest = u64::MAX >> depth;
            let below = u64::MAX.checked_shr(end).unwrap_or(0);
            let path = path | (self.query & rest & !below);
            let from = self.first_not_below(path, low, high + 1);
            if from > high {
                return;
            }
            let to = self.first_not_below(path | below, from, high);
            return self.visit(out, end, path, from, to, spent);
        }
        // Hardly any pruning is left where there are no more blocks than ways to flip.
        if !in_top && (high - low).checked_shr(left).unwrap_or(0) == 0 {
            return self.emit(out, low, high, spent);
        }
        let one = 1u64 << (63 - depth);
        // The first block with a key that has a 1 here. It may hold keys with a 0 as well.
        let split = self.first_not_below(path | one, low, high + 1);
        let [zero_spent, one_spent] = if self.query & one == 0 { [0, 1] } else { [1, 0] };
        self.visit(out, depth + 1, path, low, split.min(high), spent + zero_spent);
        if split <= high {
            self.visit(out, depth + 1, path | one, split, high, spent + one_spent);
        }
    }

    /// Appends blocks. The walk goes from left to right, so only the last one can be there already.
    fn emit(&self, out: &mut Vec<Candidate>, low: u32, high: u32, spent: u32) {
        let budget = self.budget.k - spent;
        let mut block = low;
        if let Some(last) = out[self.start..].last_mut()
            && last.block == block
        {
            last.budget = last.budget.max(budget);
            block += 1;
        }
        out.extend((block..=high).map(|block| Candidate { block, budget }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys in blocks of different sizes, and the last key of each block as bytes.
    fn blocks(mut keys: Vec<u64>, sizes: &[usize]) -> (Vec<Vec<u64>>, Vec<u8>) {
        keys.sort_unstable();
        keys.dedup();
        let mut sizes = sizes.iter().cycle();
        let mut blocks = Vec::new();
        while !keys.is_empty() {
            let rest = keys.split_off((*sizes.next().unwrap()).min(keys.len()));
            blocks.push(std::mem::replace(&mut keys, rest));
        }
        let last = blocks.iter().flat_map(|b| b.last().unwrap().to_le_bytes()).collect();
        (blocks, last)
    }

    fn top_mask(bits: u32) -> u64 {
        !u64::MAX.checked_shr(bits).unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Every key within the budget lies in a block that is emitted, with a budget that covers
        /// what differs outside the bits that the descent may see; blocks ascend.
        #[test]
        fn no_key_within_the_budget_is_missed(
            seeds in prop::collection::vec((any::<u64>(), 0u32..50), 1..300),
            sizes in prop::collection::vec(1usize..6, 1..5),
            query in any::<u64>(), flips in prop::collection::vec(0u32..64, 0..5),
            k in 0u32..8, threshold in 0u32..8, top_bits in 1u32..=64, column in 0usize..5,
        ) {
            let threshold = threshold.min(k);
            let middle_bits = 64 - 8 * column as u32;
            // Dense prefixes, so that blocks share them; some keys near the query.
            let mut keys: Vec<u64> = seeds.iter().map(|&(seed, shift)| seed >> shift).collect();
            keys.push(flips.iter().fold(query, |key, bit| key ^ 1 << bit));
            keys.extend(seeds.iter().take(40).map(|&(seed, _)| query ^ 1 << (seed % 64) ^ 1 << (seed / 64 % 64)));
            let (blocks, last_keys) = blocks(keys, &sizes);
            let router = Router::new(&last_keys);
            let mut found = Vec::new();
            let budget = Budget { k, threshold, top_bits, middle_bits };
            prop_assert!(router.descend(&last_keys, query, budget, usize::MAX, &mut found));
            prop_assert!(found.windows(2).all(|pair| pair[0].block < pair[1].block));
            for (number, block) in blocks.iter().enumerate() {
                for key in block {
                    let differs = key ^ query;
                    prop_assert_eq!(router.find(&last_keys, *key), Some(number as u32));
                    if differs.count_ones() > k || (differs & top_mask(top_bits)).count_ones() > threshold {
                        continue;
                    }
                    let candidate = found.iter().find(|c| c.block as usize == number);
                    prop_assert!(candidate.is_some(), "key {:016x} of block {} is missed", key, number);
                    let in_column = (differs & !top_mask(middle_bits)).count_ones();
                    prop_assert!(candidate.unwrap().budget >= in_column);
                }
            }
        }
    }

    #[test]
    fn flips_on_the_path_lower_the_budget_and_prune_blocks() {
        // 256 blocks of one key each, one per prefix of 8 bits.
        let last_keys: Vec<u8> = (0..256u64).flat_map(|i| (i << 56 | 1).to_le_bytes()).collect();
        let router = Router::new(&last_keys);
        let mut found = Vec::new();
        let budget = Budget { k: 3, threshold: 1, top_bits: 32, middle_bits: 40 };
        assert!(router.descend(&last_keys, 0xA5 << 56, budget, 1000, &mut found));
        for candidate in &found {
            // The key of a block is the last one with its prefix, so keys of the next prefix begin
            // it too.
            let flips = |prefix: u32| (prefix ^ 0xA5).count_ones();
            let least = flips(candidate.block).min(flips(candidate.block.saturating_sub(1)));
            assert!(least <= 1 && candidate.budget <= 3 - least, "{candidate:?}");
        }
        assert!((9..=18).contains(&found.len()), "{}", found.len());
        assert!(!router.descend(&last_keys, 0, budget, 3, &mut found), "the limit is reported");
    }

    #[test]
    fn an_empty_table_has_no_candidates() {
        let router = Router::new(&[]);
        let mut found = Vec::new();
        let budget = Budget { k: 64, threshold: 64, top_bits: 64, middle_bits: 64 };
        assert!(router.descend(&[], 7, budget, 10, &mut found));
        assert!(found.is_empty());
        assert_eq!(router.find(&[], 7), None);
    }
}
