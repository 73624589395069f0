//! The parts that a block goes through: Huffman codes, encoding, decoding, and the scan of its
//! column, each per fingerprint. The keys lie as densely as those of 2^26 uniform fingerprints.
//! Every answer is checked before it is measured.

#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

#[path = "../src/block/mod.rs"]
#[allow(dead_code, unused_imports)]
mod block;
#[path = "../src/codec/mod.rs"]
#[allow(dead_code, unused_imports)]
mod codec;
#[path = "../src/error/mod.rs"]
#[allow(dead_code, unused_imports)]
mod error;
#[path = "../src/format/mod.rs"]
#[allow(dead_code, unused_imports)]
mod format;
#[path = "../src/mapped.rs"]
#[allow(dead_code)]
mod mapped;
#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;
#[path = "../src/simd/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros)]
mod simd;

// As `crate::files`, for the modules above.
#[allow(unused_imports)]
use fpstore::files;

use block::{BlockReader, BlockWriter, Candidate, OVERHANG, Reading};
use codec::huffman;
use codec::profile::{Coding, Profile};
use format::{Codec, Geometry};
use sets::Random;

const BLOCK_BYTES: u32 = 1024;
const HEADER_CRC: u32 = 0xC0FF_EE00;
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

/// A table: how it is coded, its blocks behind room for a header, and the place of each.
struct Table {
    name: String,
    coding: Coding,
    writer: BlockWriter,
    starts: Vec<usize>,
    reader: BlockReader,
    file: Vec<u8>,
    first_at: usize,
}

impl Table {
    fn new(keys: &[u64], codec: Codec, low_bits: u32) -> Self {
        let coding = Profile::new(keys).choose(Some(codec), Some(low_bits)).unwrap();
        let geometry = |block_count| Geometry { block_bytes: BLOCK_BYTES, low_bits, block_count };
        let writer = BlockWriter::new(&coding, geometry(0), HEADER_CRC);
        let starts = writer.cut(keys);
        let geometry = geometry(starts.len() as u64);
        let first_at = geometry.block(0).start;
        let file = vec![0; first_at + starts.len() * BLOCK_BYTES as usize + OVERHANG];
        let reader = BlockReader::new(codec, geometry, &coding.code_lengths);
        let name = format!("{codec}, L = {low_bits}");
        let mut table = Self { name, coding, writer, starts, reader, file, first_at };
        table.encode(keys);
        table
    }

    fn encode(&mut self, keys: &[u64]) {
        let blocks = self.file[self.first_at..].chunks_exact_mut(BLOCK_BYTES as usize);
        for (number, out) in blocks.enumerate() {
            let end = self.starts.get(number + 1).copied().unwrap_or(keys.len());
            out.fill(0);
            self.writer.encode(number as u64, &keys[self.starts[number]..end], out);
        }
    }

    /// All keys, some blocks at a time, as an iteration decodes them.
    fn decode(&self, mut each: impl FnMut(&[u64])) {
        const BATCH: usize = 8;
        let mut keys = Vec::new();
        let numbers: Vec<usize> = (0..self.starts.len()).collect();
        for batch in numbers.chunks(BATCH) {
            let bytes = &self.file[self.first_at + batch[0] * BLOCK_BYTES as usize..];
            let view = |number: &usize| {
                let at = (number - batch[0]) * BLOCK_BYTES as usize;
                let block = &bytes[at..at + BLOCK_BYTES as usize + OVERHANG];
                (at, self.reader.view(*number as u64, block).unwrap())
            };
            let views: Vec<_> = batch.iter().map(view).collect();
            self.reader.decode(bytes, &views, &mut keys).unwrap();
            each(&keys);
        }
    }

    /// Calls `survived` for each key that the scan of the candidates lets through.
    fn sift(&self, query: u64, candidates: &[Candidate], survived: impl FnMut(usize, u32)) {
        let k = candidates[0].budget;
        self.reader
            .sift(&self.file, query, k, (candidates, Reading::Parts), || {}, survived)
            .unwrap();
    }

    /// What the scan must let through, from the keys.
    fn survivors(&self, keys: &[u64], query: u64, budget: u32) -> usize {
        let planes = self.reader.first_planes(budget);
        let mask = (1u64 << (8 * planes)) - 1;
        let is_first = |i: usize| self.starts.binary_search(&i).is_ok();
        let near = |&(i, key): &(usize, &u64)| match is_first(i) {
            true => (key ^ query).count_ones() <= budget,
            false => ((key ^ query) & mask).count_ones() <= budget,
        };
        keys.iter().enumerate().filter(near).count()
    }
}

fn codec(criterion: &mut Criterion) {
    let keys = keys();
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Elements(keys.len() as u64));
    for codec in [Codec::Gap, Codec::Xor] {
        for low_bits in [0, 24, 32] {
            let mut table = Table::new(&keys, codec, low_bits);
            let mut decoded = Vec::new();
            table.decode(|keys| decoded.extend_from_slice(keys));
            assert_eq!(decoded, keys);
            let name = table.name.clone();
            group.bench_function(BenchmarkId::new("encode", &name), |bencher| {
                bencher.iter(|| table.encode(black_box(&keys)));
            });
            group.bench_function(BenchmarkId::new("decode", &name), |bencher| {
                bencher.iter(|| {
                    table.decode(|keys| {
                        black_box(keys);
                    })
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
    let table = Table::new(&keys, Codec::Gap, 32);
    let query = keys[keys.len() / 2] ^ 5;
    for budget in [0, 3, 10] {
        let blocks = 0..table.starts.len() as u32;
        let candidates: Vec<_> = blocks.map(|block| Candidate { block, budget }).collect();
        let mut survivors = 0;
        table.sift(query, &candidates, |_, _| survivors += 1);
        assert_eq!(survivors, table.survivors(&keys, query, budget), "budget {budget}");
        group.bench_function(BenchmarkId::new("budget", budget), |bencher| {
            bencher.iter(|| table.sift(black_box(query), &candidates, |_, _| {}));
        });
    }
    group.finish();
}

fn huffman_codes(criterion: &mut Criterion) {
    let table = Table::new(&keys(), Codec::Gap, 32);
    let histogram = &table.coding.histogram;
    let lengths = huffman::code_lengths(histogram);
    let coded = lengths.iter().filter(|&&length| length > 0);
    let sum: f64 = coded.map(|&length| 2f64.powi(-i32::from(length))).sum();
    assert_eq!(sum, 1.0, "the code is complete");
    criterion.bench_function("huffman/code_lengths", |bencher| {
        bencher.iter(|| huffman::code_lengths(black_box(histogram)));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots().sample_size(20);
    targets = huffman_codes, codec, scan
}
criterion_main!(benches);
