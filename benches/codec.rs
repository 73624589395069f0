//! The parts that a block goes through: Huffman codes, encoding, decoding, and the scan of its
//! column, each per fingerprint. The keys lie as densely as those of 2^26 uniform fingerprints.
//! Every answer is checked before it is measured.

#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use fpstore::Codec;
use fpstore::internals::{Blocks, code_lengths};
use sets::Random;

const BLOCK_BYTES: u32 = 1024;
/// The set is cut out of one of so many keys.
const DENSITY: u32 = 26;

fn keys() -> Vec<u64> {
    // In test mode (`cargo test --benches`) a small set proves that everything agrees.
    let exponent = if std::env::args().any(|argument| argument == "--test") { 12 } else { 20 };
    let mut random = Random(1);
    let mut keys: Vec<u64> =
        (0..1 << exponent).map(|_| random.next() >> (DENSITY - exponent)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn table(keys: &[u64], codec: Codec, low_bits: u32) -> Blocks {
    let mut table = Blocks::new(keys, codec, low_bits, BLOCK_BYTES).unwrap();
    table.encode(keys);
    table
}

/// How many keys the scan must let through, from the keys.
fn survivors(table: &Blocks, keys: &[u64], query: u64, budget: u32) -> usize {
    let mask = (1u64 << (8 * table.first_planes(budget))) - 1;
    let is_first = |i: usize| table.starts().binary_search(&i).is_ok();
    let near = |&(i, key): &(usize, &u64)| match is_first(i) {
        true => (key ^ query).count_ones() <= budget,
        false => ((key ^ query) & mask).count_ones() <= budget,
    };
    keys.iter().enumerate().filter(near).count()
}

fn codec(criterion: &mut Criterion) {
    let keys = keys();
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Elements(keys.len() as u64));
    for codec in [Codec::Gap, Codec::Xor] {
        for low_bits in [0, 24, 32] {
            let mut table = table(&keys, codec, low_bits);
            let mut decoded = Vec::new();
            table.decode(|keys| decoded.extend_from_slice(keys)).unwrap();
            assert_eq!(decoded, keys);
            let name = table.to_string();
            group.bench_function(BenchmarkId::new("encode", &name), |bencher| {
                bencher.iter(|| table.encode(black_box(&keys)));
            });
            group.bench_function(BenchmarkId::new("decode", &name), |bencher| {
                bencher.iter(|| {
                    table
                        .decode(|keys| {
                            black_box(keys);
                        })
                        .unwrap()
                });
            });
        }
    }
    group.finish();
}

fn scan(criterion: &mut Criterion) {
    let keys = keys();
    let mut group = criterion.benchmark_group("scan");
    group.throughput(Throughput::Elements(keys.len() as u64));
    let table = table(&keys, Codec::Gap, 32);
    let query = keys[keys.len() / 2] ^ 5;
    for budget in [0, 3, 10] {
        let mut candidates = table.candidates(budget);
        let found = table.sift(query, &mut candidates).unwrap();
        assert_eq!(found, survivors(&table, &keys, query, budget), "budget {budget}");
        group.bench_function(BenchmarkId::new("budget", budget), |bencher| {
            bencher.iter(|| table.sift(black_box(query), &mut candidates).unwrap());
        });
    }
    group.finish();
}

fn huffman_codes(criterion: &mut Criterion) {
    let table = table(&keys(), Codec::Gap, 32);
    let histogram = table.histogram();
    let lengths = code_lengths(histogram);
    let coded = lengths.iter().filter(|&&length| length > 0);
    let sum: f64 = coded.map(|&length| 2f64.powi(-i32::from(length))).sum();
    assert_eq!(sum, 1.0, "the code is complete");
    criterion.bench_function("huffman/code_lengths", |bencher| {
        bencher.iter(|| code_lengths(black_box(histogram)));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots().sample_size(20);
    targets = huffman_codes, codec, scan
}
criterion_main!(benches);
