//! Tests of descents.

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
        let last_keys = LastKeys::new(64, &last_keys);
        let router = Router::new(last_keys, 64);
        let mut found = Vec::new();
        let budget = Budget { k, threshold, top_bits, middle_bits };
        router.candidates(last_keys, query, budget, &mut found);
        prop_assert!(found.windows(2).all(|pair| pair[0].block < pair[1].block));
        for (number, block) in blocks.iter().enumerate() {
            for key in block {
                let differs = key ^ query;
                prop_assert_eq!(router.find(last_keys, *key), Some(number as u32));
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
fn blocks_of_a_scan_have_what_all_of_their_keys_leave() {
    // Blocks of four keys that share 6 bits, the first block of each 8 has fewer before it to
    // share.
    let keys: Vec<u64> = (0..256u64).map(|i| i << 56 | 0xFFFF).collect();
    let last_keys: Vec<u8> =
        keys.iter().skip(3).step_by(4).flat_map(|key| key.to_le_bytes()).collect();
    let last_keys = LastKeys::new(64, &last_keys);
    for (query, k, middle_bits) in
        [(0xA5 << 56, 2, 40), (0x5A << 56 | 0xFFFF, 4, 40), (7, 0, 64), (u64::MAX, 64, 5)]
    {
        let mut found = Vec::new();
        last_keys.within(0..10, (query, k), middle_bits, &mut found);
        last_keys.within(10..64, (query, k), middle_bits, &mut found);
        let mut found = found.into_iter().peekable();
        for block in 0..64u32 {
            // By the definition: bits above the column that the last key of the block before and
            // the own one begin with.
            let last = keys[block as usize * 4 + 3];
            let before = if block == 0 { 0 } else { keys[block as usize * 4 - 1] };
            let shared = (0..middle_bits).take_while(|bit| (before ^ last) >> (63 - bit) & 1 == 0);
            let flips = shared.filter(|bit| (query ^ last) >> (63 - bit) & 1 == 1).count() as u32;
            let is_here = found.next_if(|candidate| candidate.block == block);
            assert_eq!(is_here.map(|candidate| candidate.budget), k.checked_sub(flips), "{block}");
            // And no key of the block that is near is missed.
            for key in &keys[block as usize * 4..][..4] {
                let differs = key ^ query;
                let in_column = (differs & !top_mask(middle_bits)).count_ones();
                let left = is_here.map_or(0, |candidate| candidate.budget);
                assert!(differs.count_ones() > k || is_here.is_some() && in_column <= left);
            }
        }
        assert!(found.next().is_none());
    }
}

#[test]
fn flips_on_the_path_lower_the_budget_and_prune_blocks() {
    // 256 blocks of one key each, one per prefix of 8 bits.
    let last_keys: Vec<u8> = (0..256u64).flat_map(|i| (i << 56 | 1).to_le_bytes()).collect();
    let last_keys = LastKeys::new(64, &last_keys);
    let router = Router::new(last_keys, 64);
    let mut found = Vec::new();
    let budget = Budget { k: 3, threshold: 1, top_bits: 32, middle_bits: 40 };
    let query = 0xA5 << 56;
    let mut probes = Vec::new();
    router.probe(query, budget, &mut probes);
    assert!(router.descend(last_keys, (query, budget), &probes, 1000, &mut found));
    for candidate in &found {
        // The key of a block is the last one with its prefix, so keys of the next prefix begin
        // it too.
        let flips = |prefix: u32| (prefix ^ 0xA5).count_ones();
        let least = flips(candidate.block).min(flips(candidate.block.saturating_sub(1)));
        assert!(least <= 1 && candidate.budget <= 3 - least, "{candidate:?}");
    }
    assert!((9..=18).contains(&found.len()), "{}", found.len());
    let stopped = !router.descend(last_keys, (query, budget), &probes, 3, &mut found);
    assert!(stopped, "the limit is reported");
}

#[test]
fn an_empty_table_has_no_candidates() {
    let router = Router::new(LastKeys::new(64, &[]), 64);
    let mut found = Vec::new();
    let budget = Budget { k: 64, threshold: 64, top_bits: 64, middle_bits: 64 };
    router.candidates(LastKeys::new(64, &[]), 7, budget, &mut found);
    assert!(found.is_empty());
    assert_eq!(router.find(LastKeys::new(64, &[]), 7), None);
}
