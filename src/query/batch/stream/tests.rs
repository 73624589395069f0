//! Streams by any parts, against brute force.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::tests::{near, random, set};
use super::part::Part;
use super::{StreamPlan, stream_at};
use crate::costs::Costs;
use crate::execution::{Execution, Stop};
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::query::join::{Message, Output};
use crate::query::search::tests::store_of_packed;
use crate::simd::Level;
use crate::snapshot::Snapshot;
use crate::store::Packer;

/// The pairs of keys of a query and a match that a stream hands on, sorted.
fn pairs<F: Fingerprint>(
    level: Level,
    snapshot: &Snapshot<F>,
    queries: &[u64],
    k: u32,
    plan: &StreamPlan,
    threads: usize,
) -> Vec<[u64; 2]> {
    let pool = Execution::new().threads(threads).start_pool().unwrap();
    let mut pairs = Vec::new();
    let parts = plan.queries::<F>(queries);
    let work = |output: &Output<F>| stream_at(level, output, &parts, snapshot, k, plan);
    Output::run(&pool, &Stop::default(), work, |message| {
        if let Message::Pairs(some) = message {
            pairs.extend(some.iter().map(|pair| [key_of(pair.a), key_of(pair.b)]));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    pairs.sort_unstable();
    pairs
}

/// Parts of about equal length with these thresholds.
fn parts<F: Fingerprint>(thresholds: &[u32], listed_bits: u32) -> Vec<Part> {
    let count = thresholds.len() as u32;
    let part = |(number, &most): (u32, &u32)| {
        let (start, end) = (number * F::BITS / count, (number + 1) * F::BITS / count);
        let bits = end - start;
        let listed_bits = listed_bits.min(bits);
        let cut_bits = if number == 0 { bits } else { bits.min(listed_bits + listed_bits % 5 * 2) };
        Part { start, bits, most, listed_bits, cut_bits }
    };
    (0..).zip(thresholds).map(part).collect()
}

#[derive(Clone, Debug)]
struct Case {
    counts: [usize; 2],
    asked: usize,
    seed: u64,
    kind: usize,
    size: u32,
    thresholds: Vec<u32>,
    listed_bits: u32,
    together: u64,
    threads: usize,
}

fn check<F: Fingerprint>(case: &Case) {
    let Case { counts, asked, seed, kind, size, ref thresholds, listed_bits, together, threads } =
        *case;
    let key = |word: u64| key_of(of_key::<F>(word));
    let set = |count, seed| -> Vec<u64> { set(count, seed, kind).into_iter().map(key).collect() };
    // Some stand in both segments.
    let mut sets = [set(counts[0], seed), set(counts[1], seed + 1)];
    let both = sets[0].iter().step_by(3).copied().collect::<Vec<_>>();
    sets[1].extend(both);
    let directory = tempfile::tempdir().unwrap();
    let store = store_of_packed::<F>(&directory.path().join("store"), 2, |number, path| {
        let packer = Packer::new().width::<F>().block_bytes(1 << size);
        packer.pack(path, sets[number].iter().map(|&key| of_key::<F>(key))).unwrap();
    });
    let k = thresholds.iter().map(|most| most + 1).sum::<u32>() - 1;
    let all = sets.concat();
    let query = |i: u64| {
        let one = all[random(seed + i) as usize % all.len()];
        key(near(one, u64::from(k) + 2, seed ^ i))
    };
    let mut queries: Vec<u64> = (0..asked as u64).map(query).collect();
    queries.extend([0, key(u64::MAX), key(seed)]);
    queries.sort_unstable();
    queries.dedup();
    let mut expected: Vec<[u64; 2]> = Vec::new();
    for set in &mut sets {
        set.sort_unstable();
        set.dedup();
        for &query in &queries {
            let within = set.iter().filter(|&&stored| (stored ^ query).count_ones() <= k);
            expected.extend(within.map(|&stored| [query, stored]));
        }
    }
    expected.sort_unstable();
    let plan = StreamPlan { parts: parts::<F>(thresholds, listed_bits), together };
    for level in Level::all() {
        let found = pairs(level, &store.snapshot(), &queries, k, &plan, threads);
        assert!(found == expected, "{level:?}: {} of {} pairs", found.len(), expected.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn streams_by_any_parts_find_each_pair_of_a_segment_once(
        counts in [1usize..3000, 1usize..300], asked in 0usize..400, seed in any::<u64>(),
        kind in 0usize..5, size in 8u32..=13, thresholds in prop::collection::vec(0u32..=3, 1..=3),
        listed_bits in 0u32..12, together in prop_oneof![Just(1 << 20), 1u64..2000],
        threads in 1usize..=3,
    ) {
        let case = Case {
            counts, asked, seed, kind, size, thresholds, listed_bits, together, threads,
        };
        check::<u64>(&case);
        check::<u32>(&case);
    }
}

#[test]
fn long_lists_and_dense_groups_are_cut_until_they_can_be_compared() {
    // All begin with the same bits, and end with others, or the other way round; more queries than a list holds.
    let case = |kind| Case {
        counts: [10_000, 1000],
        asked: 17_000,
        seed: 49,
        kind,
        size: 10,
        thresholds: vec![1],
        listed_bits: 3,
        together: 1 << 20,
        threads: 2,
    };
    for kind in [2, 3] {
        check::<u64>(&case(kind));
        check::<u32>(&case(kind));
    }
}

#[test]
fn plans_cover_their_radius_with_parts_that_follow_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_of_packed::<u64>(&directory.path().join("store"), 1, |_, path| {
        Packer::new().pack(path, (0..100).map(random)).unwrap();
    });
    for k in 0..=20 {
        for queries in [0, 1, 1000, 1 << 20, u64::MAX] {
            let best = StreamPlan::best(&store.snapshot(), queries, k, 1 << 20, Costs::shipped());
            let Some((ns, plan)) = best else {
                assert!(k > 3 || queries == u64::MAX, "{k}");
                continue;
            };
            assert!(ns.is_finite() && ns > 0.0);
            assert_eq!(plan.parts.iter().map(|part| part.most + 1).sum::<u32>(), k + 1);
            let mut next = 0;
            for part in &plan.parts {
                assert_eq!(part.start, next);
                next += part.bits;
            }
            assert_eq!(next, 64);
        }
    }
}

#[test]
fn queries_with_equal_bits_are_not_streamed_by_a_part_of_these() {
    let part = Part { start: 32, bits: 32, most: 1, listed_bits: 8, cut_bits: 16 };
    let plan = StreamPlan { parts: vec![Part { start: 0, ..part }, part], together: 1 << 20 };
    let skew = |keys: Vec<u64>| plan.queries::<u64>(&keys).pop().unwrap().skew();
    let uniform: Vec<u64> = (0..1 << 18).map(random).collect();
    assert!((0.5..2.0).contains(&skew(uniform.clone())));
    assert!((0.5..2.0).contains(&skew(uniform[..100].to_vec())));
    assert_eq!(skew(Vec::new()), 0.0);
    // Half of them in every second value, or a tenth in one.
    assert!(skew(uniform.iter().map(|key| key | 1 << 16).collect()) < 3.0);
    let alike = |(i, key): (usize, &u64)| if i % 10 == 0 { key >> 32 << 32 } else { *key };
    assert!(skew(uniform.iter().enumerate().map(alike).collect()) > 100.0);
}
