//! Probes by whole keys and by low parts, against brute force.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::costs::Costs;
use crate::design::Design;
use crate::error::Corruption;
use crate::error::{Error, Result};
use crate::execution::{Execution, Stop};
use crate::format::{Codec, table_name};
use crate::query::join::{Message, Output};
use crate::query::search::tests::store_of_packed;
use crate::segment::Segment;
use crate::store::{Packer, Store};

fn random(i: u64) -> u64 {
    crate::set_sum::term(i) as u64
}

/// `of` with up to `most` bits flipped.
fn near(of: u64, most: u64, seed: u64) -> u64 {
    (0..random(seed) % (most + 1)).fold(of, |fp, flip| fp ^ 1 << (random(seed + 1 + flip) & 63))
}

/// Fingerprints: anywhere, near a few others, with equal tops, with equal low bits, all at once.
fn set(count: usize, seed: u64, kind: usize) -> Vec<u64> {
    let fingerprint = |i: u64| match (kind + usize::from(kind == 4) * i as usize) % 4 {
        0 => random(seed ^ i << 16),
        1 => near(random(seed ^ (i % 20) << 16), 8, i << 20),
        2 => random(seed ^ i << 16) >> (seed % 50),
        _ => random(seed ^ i << 16) << (seed % 50),
    };
    (0..count as u64).map(fingerprint).collect()
}

fn segments(store: &Store) -> Vec<Arc<Segment>> {
    store.snapshot().segments().to_vec()
}

/// The pairs of a query and a match that probes of a segment hand on.
fn pairs(
    segment: &Segment,
    queries: &[u64],
    k: u32,
    low: bool,
    threads: usize,
) -> Result<Vec<[u64; 2]>> {
    let pool = Execution::new().threads(threads).start_pool().unwrap();
    let mut pairs = Vec::new();
    let work = |output: &Output| probe::probe_segment(output, queries, segment, k, |_, _| low);
    Output::run(&pool, &Stop::default(), work, |message| {
        if let Message::Pairs(some) = message {
            pairs.extend(some.iter().map(|pair| [pair.a, pair.b]));
        }
        ControlFlow::Continue(())
    })?;
    pairs.sort_unstable();
    Ok(pairs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn probes_find_each_match_once_per_segment(
        counts in (1usize..1500, 1usize..300), asked in 0usize..150, seed in any::<u64>(),
        kind in 0usize..5, design in prop::sample::select(Design::NAMES), size in 8u32..=16,
        codec in prop::sample::select(&Codec::ALL[..]), planes in 0u32..=4,
        k in prop_oneof![4 => 0u32..=4, 1 => 5u32..=8], threads in 1usize..=2,
    ) {
        let sets = [set(counts.0, seed, kind), set(counts.1, seed + 1, kind)];
        let directory = tempfile::tempdir().unwrap();
        let store = store_of_packed(&directory.path().join("store"), 2, |number, path| {
            let packer = Packer::new().design(Design::named(design).unwrap());
            let packer = packer.block_bytes(1 << size).codec(Some(codec));
            packer.low_bits(Some(8 * planes)).pack(path, sets[number].iter().copied()).unwrap();
        });
        let all = [&sets[0][..], &sets[1][..]].concat();
        let query = |i: u64| near(all[random(seed + i) as usize % all.len()], u64::from(k) + 2, seed ^ i);
        let mut queries: Vec<u64> = (0..asked as u64).map(query).collect();
        queries.extend([0, u64::MAX, seed]);
        queries.sort_unstable();
        queries.dedup();
        for (segment, set) in segments(&store).iter().zip(&sets) {
            if probe::of_segment_ns(segment, 200, k, Costs::shipped()).is_none_or(|time| time > 3e8) {
                continue;
            }
            let mut expected: Vec<[u64; 2]> = Vec::new();
            for &query in &queries {
                let within = set.iter().filter(|&&stored| (stored ^ query).count_ones() <= k);
                expected.extend(within.map(|&stored| [query, stored]));
            }
            expected.sort_unstable();
            expected.dedup();
            for low in [false, true] {
                let found = pairs(segment, &queries, k, low, threads).unwrap();
                prop_assert_eq!(&found, &expected, "{}", if low { "low parts" } else { "whole keys" });
            }
        }
    }
}

/// A store of random fingerprints in `quarters`, with L = 32.
fn uniform(path: &std::path::Path, count: u64) -> (Store, Vec<u64>) {
    let set: Vec<u64> = (0..count).map(random).collect();
    let packer = Packer::new().design(Design::named("quarters").unwrap()).block_bytes(512);
    packer.low_bits(Some(32)).pack(path, set.iter().copied()).unwrap();
    (Store::open(path).unwrap(), set)
}

#[test]
fn a_damaged_block_is_an_error_once_it_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let (store, mut set) = uniform(&path, 20_000);
    set.sort_unstable();
    let at = segments(&store)[0].tables()[1].geometry().block(3).start;
    drop(store);
    // A byte of the column, and one of the stream, of a block of the second table.
    for byte in [100, 500] {
        let file = path.join(table_name(1, 1));
        let mut bytes = fs::read(&file).unwrap();
        bytes[at + byte] ^= 16;
        fs::write(&file, &bytes).unwrap();
        let store = Store::open(&path).unwrap();
        let segment = &segments(&store)[0];
        for low in [false, true] {
            let broken = pairs(segment, &set, 3, low, 1).unwrap_err();
            let Error::Corrupt { corruption: Corruption::BlockChecksum { block: 3, .. }, .. } =
                broken
            else {
                panic!("{broken:?}")
            };
            // What visits other blocks is answered.
            let other = segment.tables()[1].permutation().fingerprint(u64::MAX);
            assert_eq!(pairs(segment, &[other], 3, low, 1).unwrap(), [[0; 2]; 0]);
        }
        bytes[at + byte] ^= 16;
        fs::write(&file, &bytes).unwrap();
    }
}

#[test]
fn many_queries_of_a_large_set_compare_low_parts() {
    let directory = tempfile::tempdir().unwrap();
    let (store, set) = uniform(&directory.path().join("store"), 200_000);
    let segment = &segments(&store)[0];
    // Tasks end, and windows, in the middle of a table.
    let mut queries: Vec<u64> = (0..30_000).map(|i| near(set[6 * i], 4, i as u64)).collect();
    queries.sort_unstable();
    queries.dedup();
    let found = pairs(segment, &queries, 3, true, 2).unwrap();
    assert_eq!(found, pairs(segment, &queries, 3, false, 2).unwrap());
    assert!(found.len() > 20_000);
}
