//! Probes by whole keys and by low parts, against brute force; and the sets that streams are tested with as well.

use std::fs;
use std::iter;
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::costs::Costs;
use crate::design::Design;
use crate::error::Corruption;
use crate::error::{Error, Result};
use crate::execution::{Execution, Stop};
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::format::{Codec, table_name};
use crate::query::join::{Message, Output};
use crate::query::search::tests::store_of_packed;
use crate::segment::{Index, Segment};
use crate::store::{Packer, Store};

pub(super) fn random(i: u64) -> u64 {
    crate::set_sum::term(i) as u64
}

/// `of` with up to `most` bits flipped.
pub(super) fn near(of: u64, most: u64, seed: u64) -> u64 {
    (0..random(seed) % (most + 1)).fold(of, |fp, flip| fp ^ 1 << (random(seed + 1 + flip) & 63))
}

/// Fingerprints: anywhere, near a few others, with equal tops, with equal low bits, all at once.
pub(super) fn set(count: usize, seed: u64, kind: usize) -> Vec<u64> {
    let fingerprint = |i: u64| match (kind + usize::from(kind == 4) * i as usize) % 4 {
        0 => random(seed ^ i << 16),
        1 => near(random(seed ^ (i % 20) << 16), 8, i << 20),
        2 => random(seed ^ i << 16) >> (seed % 50),
        _ => random(seed ^ i << 16) << (seed % 50),
    };
    (0..count as u64).map(fingerprint).collect()
}

fn segments<F: Fingerprint>(store: &Store<F>) -> Vec<Arc<Segment<F>>> {
    store.snapshot().segments().to_vec()
}

/// The pairs of keys of a query and a match that probes of a segment hand on.
fn pairs<F: Fingerprint>(
    segment: &Segment<F>,
    queries: &[u64],
    k: u32,
    low: bool,
    threads: usize,
) -> Result<Vec<[u64; 2]>> {
    let pool = Execution::new().threads(threads).start_pool().unwrap();
    let mut pairs = Vec::new();
    let work = |output: &Output<F>| probe::probe_segment(output, queries, segment, k, |_, _| low);
    Output::run(&pool, &Stop::default(), work, |message| {
        if let Message::Pairs(some) = message {
            pairs.extend(some.iter().map(|pair| [key_of(pair.a), key_of(pair.b)]));
        }
        ControlFlow::Continue(())
    })?;
    pairs.sort_unstable();
    Ok(pairs)
}

/// How a set is stored.
#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: usize,
    design: &'static str,
    size: u32,
    codec: Codec,
    planes: u32,
}

fn check_probes<F: Fingerprint>(
    counts: (usize, usize),
    asked: usize,
    seed: u64,
    shape: Shape,
    k: u32,
    threads: usize,
) {
    let Shape { kind, design, size, codec, planes } = shape;
    let key = |word: u64| key_of(of_key::<F>(word));
    let set = |count, seed| -> Vec<u64> { set(count, seed, kind).into_iter().map(key).collect() };
    let sets = [set(counts.0, seed), set(counts.1, seed + 1)];
    let directory = tempfile::tempdir().unwrap();
    let store = store_of_packed::<F>(&directory.path().join("store"), 2, |number, path| {
        let design = Design::named_for(F::BITS, design).unwrap();
        let packer = Packer::new().width::<F>().design(design).block_bytes(1 << size);
        let packer = packer.codec(Some(codec)).low_bits(Some(8 * planes.min(F::BITS / 8 - 1)));
        packer.pack(path, sets[number].iter().map(|&key| of_key::<F>(key))).unwrap();
    });
    let all = [&sets[0][..], &sets[1][..]].concat();
    let query = |i: u64| {
        let one = all[random(seed + i) as usize % all.len()];
        key(near(one, u64::from(k) + 2, seed ^ i))
    };
    let mut queries: Vec<u64> = (0..asked as u64).map(query).collect();
    queries.extend([0, key(u64::MAX), key(seed)]);
    queries.sort_unstable();
    queries.dedup();
    for (segment, set) in segments(&store).iter().zip(&sets) {
        let time = probe::of_segment_ns(segment, 200, k, Costs::shipped());
        if time.is_none_or(|time| time > 3e8) {
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
            assert_eq!(found, expected, "{}", if low { "low parts" } else { "whole keys" });
        }
    }
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
        let shape = Shape { kind, design, size, codec, planes };
        check_probes::<u64>(counts, asked, seed, shape, k, threads);
        check_probes::<u32>(counts, asked, seed, shape, k, threads);
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

#[test]
fn a_hot_index_makes_searches_the_plan_of_more_batches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let set: Vec<u64> = (0..20_000).map(random).collect();
    Packer::new().design("quarters".parse().unwrap()).pack(&path, set.iter().copied()).unwrap();
    let queries: Vec<u64> = (0..20_000).map(|i| near(set[i as usize], 3, i)).collect();
    let store = Store::open(&path).unwrap();
    let batch = store.batch(3).execution(Execution::new().threads(1));
    let of_query = |plan, count| batch.predicted(plan, count as u64).unwrap() / count as f64;
    let descent_ns = of_query(BatchPlan::Search, 1);
    // So many queries that it takes a little less to go through a table once than to descend for each.
    let together = |&count: &usize| {
        let [probe, stream] = [BatchPlan::Probe, BatchPlan::Stream].map(|of| of_query(of, count));
        probe.min(stream) < 0.9 * descent_ns
    };
    let mut counts = iter::successors(Some(100), |count| Some(count + count / 4));
    let queries = &queries[..counts.find(together).unwrap()];
    let plan = || batch.run(queries, |_| ()).unwrap().plan.unwrap();
    assert_ne!(plan(), BatchPlan::Search);
    let mut searcher = store.searcher();
    let segments = segments(&store);
    let Index::Tables(tables) = segments[0].index() else { panic!("no tables") };
    for query in 0.. {
        if tables.hot().index().is_some() {
            break;
        }
        searcher.search(random(query), 3).unwrap();
        assert!(query < 1_000_000);
    }
    assert_eq!(plan(), BatchPlan::Search);
    let hot_ns = of_query(BatchPlan::Search, 1);
    assert!(hot_ns < descent_ns / 2.0, "{hot_ns} {descent_ns}");
    let wider = store.batch(8).predicted(BatchPlan::Search, 1).unwrap();
    let fresh = Store::open(&path).unwrap().batch(8).predicted(BatchPlan::Search, 1).unwrap();
    assert!(wider < fresh, "{wider} {fresh}");
}
