//! Searches at k = 3 in stores of uniform fingerprints whose blocks are in memory: a quarter of the
//! queries is stored, a half lies within three flips of a stored one, a quarter is random. The
//! answers are those of brute force.

#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fpstore::{Design, Layout, Match, Packer, Store};

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use sets::Random;

const RADIUS: u32 = 3;
const QUERIES: usize = 2000;
/// Queries whose answers are compared with brute force.
const CHECKED: usize = 100;

fn brute_force(set: &[u64], query: u64) -> Vec<Match> {
    let distance = |fingerprint: u64| (fingerprint ^ query).count_ones();
    let near = set.iter().filter(|&&fingerprint| distance(fingerprint) <= RADIUS);
    let near = near.map(|&fingerprint| Match { fingerprint, distance: distance(fingerprint) });
    let mut near: Vec<Match> = near.collect();
    near.sort_unstable_by_key(|found| (found.distance, found.fingerprint));
    near
}

fn search(criterion: &mut Criterion) {
    // In test mode (`cargo test --benches`) a small set proves that everything agrees.
    let test = std::env::args().any(|argument| argument == "--test");
    let exponent = if test { 12 } else { 22 };
    let mut random = Random(1);
    let set: Vec<u64> = (0..1usize << exponent).map(|_| random.next()).collect();
    let queries: Vec<u64> = (0..QUERIES)
        .map(|i| {
            let stored = set[random.next() as usize % set.len()];
            match i % 4 {
                0 => stored,
                1 | 2 => random.flip(stored, i as u32 / 4 % 4),
                _ => random.next(),
            }
        })
        .collect();
    let mut group = criterion.benchmark_group(format!("search/2^{exponent}"));
    group.throughput(Throughput::Elements(QUERIES as u64));
    for (name, block_bytes) in
        [("quarters", 512), ("quarters", 1024), ("halves", 512), ("halves", 1024), ("single", 512)]
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let design: Design = name.parse().unwrap();
        Packer::new()
            .layout(Layout::new().design(design).block_bytes(block_bytes))
            .pack(&path, &set)
            .unwrap();
        let store = Store::open(&path).unwrap();
        store.verify().unwrap();
        let mut searcher = store.searcher();
        for &query in &queries[..CHECKED] {
            assert_eq!(searcher.search(query, RADIUS).unwrap(), brute_force(&set, query));
        }
        group.bench_function(BenchmarkId::new(name, block_bytes), |bencher| {
            bencher.iter(|| {
                let found = |&query| searcher.search(black_box(query), RADIUS).unwrap().len();
                queries.iter().map(found).sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots().sample_size(10);
    targets = search
}
criterion_main!(benches);
