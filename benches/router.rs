//! Finding the block of a key: the directory of the router against the paper's interpolation search
//! and against binary search, on the last keys of uniform and of real fingerprints.

#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use fpstore::internals::Router;
use sets::Random;

/// Keys per block that a block of 1024 bytes holds at 2^24 uniform fingerprints.
const KEYS_PER_BLOCK: usize = 195;
const QUERIES: usize = 4096;

/// The first block whose last key is not below `key`, by interpolation (the paper, section 3.2).
fn interpolation_search(last_keys: &[u64], key: u64) -> usize {
    let (mut low, mut high) = (0, last_keys.len());
    // Everything before `low` is below `key`, nothing from `high` on is.
    while low < high {
        let (first, last) = (last_keys[low], last_keys[high - 1]);
        if key <= first {
            return low;
        }
        if key > last {
            return high;
        }
        let share = (key - first) as f64 / (last - first) as f64;
        let middle = low + (((high - 1 - low) as f64 * share) as usize).min(high - 1 - low);
        if last_keys[middle] < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn last_keys(mut keys: Vec<u64>) -> Vec<u64> {
    keys.sort_unstable();
    keys.dedup();
    keys.chunks(KEYS_PER_BLOCK).map(|block| block[block.len() - 1]).collect()
}

fn uniform(count: usize) -> Vec<u64> {
    let mut random = Random(1);
    (0..count).map(|_| random.next()).collect()
}

fn real() -> Vec<u64> {
    let bytes = include_bytes!("../tests/data/devset-100k.u64");
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

fn find(criterion: &mut Criterion) {
    // In test mode (`cargo test --benches`) a small set proves that everything agrees.
    let large = !std::env::args().any(|argument| argument == "--test");
    let count = if large { 1 << 24 } else { 1 << 16 };
    for (name, keys) in [("uniform", uniform(count)), ("real", real())] {
        let mut random = Random(2);
        let queries: Vec<u64> = (0..QUERIES)
            .map(|i| {
                let stored = keys[random.next() as usize % keys.len()];
                if i % 2 == 0 { stored } else { random.flip(stored, 3) }
            })
            .collect();
        let last = last_keys(keys);
        let bytes: Vec<u8> = last.iter().flat_map(|key| key.to_le_bytes()).collect();
        let router = Router::new(&bytes);
        let directory = |key| router.find(&bytes, key).map_or(last.len(), |block| block as usize);
        for &query in &queries {
            let expected = last.partition_point(|&key| key < query);
            assert_eq!(directory(query), expected);
            assert_eq!(interpolation_search(&last, query), expected);
        }
        let mut group = criterion.benchmark_group(format!("find/{name}"));
        group.throughput(Throughput::Elements(QUERIES as u64));
        let blocks = last.len();
        let mut measure = |what: &str, find: &dyn Fn(u64) -> usize| {
            group.bench_function(BenchmarkId::new(what, blocks), |bencher| {
                bencher.iter(|| queries.iter().map(|&query| black_box(find(query))).sum::<usize>());
            });
        };
        measure("directory", &directory);
        measure("interpolation", &|key| interpolation_search(&last, key));
        measure("binary", &|key| last.partition_point(|&last| last < key));
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots().sample_size(20);
    targets = find
}
criterion_main!(benches);
