//! Packs, verifies and queries a large uniform set, with the answers of brute force, and prints
//! seconds and memory.
//!
//! `cargo bench --bench scale [-- EXPONENT [DESIGN [BLOCK_BYTES]]]`; without arguments 2^24
//! fingerprints, `halves`, blocks of 1024 bytes. With `--test` a small set. The set is made on the
//! fly, so that the memory is that of the pack.

#![allow(missing_docs)]

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use std::time::Instant;

use fpstore::plan::information_bound_bits;
use fpstore::{Design, Layout, Match, Packer, Store};
use rayon::prelude::*;
use sets::Random;

const SEED: u64 = 20_070_508;
const RADIUS: u32 = 3;
const QUERIES: usize = 1000;
/// Fingerprints that one task of the brute force compares.
const CHUNK: u64 = 1 << 16;

/// Fingerprint number `i` of the set.
fn fingerprint(i: u64) -> u64 {
    Random(SEED.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).next()
}

/// A quarter stored, a half with up to three flips, a quarter random.
fn queries(count: u64) -> Vec<u64> {
    let mut random = Random(1);
    let query = |i: usize| {
        let stored = fingerprint(random.next() % count);
        match i % 4 {
            0 => stored,
            1 | 2 => {
                let flips = (random.next() % 4) as u32;
                random.flip(stored, flips)
            }
            _ => random.next(),
        }
    };
    (0..QUERIES).map(query).collect()
}

fn brute_force(count: u64, queries: &[u64]) -> Vec<Vec<Match>> {
    let near = |i: u64| {
        let fingerprint = fingerprint(i);
        queries.iter().enumerate().filter_map(move |(number, query)| {
            let distance = (fingerprint ^ query).count_ones();
            (distance <= RADIUS).then_some((number, Match { fingerprint, distance }))
        })
    };
    let chunks = (0..count).step_by(CHUNK as usize).collect::<Vec<_>>().into_par_iter();
    let found: Vec<_> = chunks
        .flat_map_iter(|start| (start..count.min(start + CHUNK)).flat_map(near).collect::<Vec<_>>())
        .collect();
    let mut answers = vec![Vec::new(); queries.len()];
    found.into_iter().for_each(|(number, found)| answers[number].push(found));
    for answer in &mut answers {
        answer.sort_by_key(|found| (found.distance, found.fingerprint));
        answer.dedup();
    }
    answers
}

/// A line of `/proc/self/status` in MiB; where there is no such file, nothing.
fn memory(field: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or("unknown".to_string(), |kib| format!("{} MiB", kib / 1024))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--test");
    let mut plain = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let exponent = plain.next().map_or(24, |text| text.parse().expect("an exponent"));
    let count = 1u64 << if small { 14 } else { exponent };
    let design: Design = plain.next().map_or("halves", String::as_str).parse().expect("a design");
    let block_bytes = plain.next().map_or(1024, |text| text.parse().expect("bytes per block"));

    let temporary = tempfile::tempdir().expect("a temporary directory");
    let path = temporary.path().join("store");
    let start = Instant::now();
    let packer = Packer::new()
        .layout(Layout::new().design(design.clone()).block_bytes(block_bytes).k(RADIUS));
    let summary = packer.pack(&path, (0..count).map(fingerprint)).expect("the set is packed");
    println!(
        "{count} uniform fingerprints, design {design}, blocks of {block_bytes} bytes, k = {RADIUS}"
    );
    println!("pack    {:8.2} s, peak memory {}", start.elapsed().as_secs_f64(), memory("VmHWM"));
    let bits = summary.tables[0].bits_per_fingerprint();
    let bound = information_bound_bits(summary.distinct);
    println!(
        "size    {:8.3} bytes per fingerprint, {bits:.2} bits in the blocks of a table, bound {bound:.2}",
        summary.bytes as f64 / summary.distinct as f64,
    );
    let start = Instant::now();
    let store = Store::open(&path).expect("the store opens");
    println!("open    {:8.2} ms", 1e3 * start.elapsed().as_secs_f64());
    let start = Instant::now();
    let report = store.verify().expect("the store is sound");
    assert_eq!(report.fingerprints, summary.distinct);
    println!("verify  {:8.2} s", start.elapsed().as_secs_f64());
    let queries = queries(count);
    let mut searcher = store.searcher();
    let start = Instant::now();
    let answers: Vec<Vec<Match>> = queries
        .iter()
        .map(|&query| searcher.search(query, RADIUS).expect("the blocks are sound").to_vec())
        .collect();
    println!(
        "query   {:8.2} us each, one thread",
        1e6 * start.elapsed().as_secs_f64() / QUERIES as f64
    );
    let start = Instant::now();
    let expected = brute_force(count, &queries);
    println!("brute   {:8.2} s for {QUERIES} queries, all threads", start.elapsed().as_secs_f64());
    assert!(answers == expected, "an answer differs from brute force");
    let matches: usize = answers.iter().map(Vec::len).sum();
    println!("equal   {QUERIES} answers with {matches} matches; peak memory {}", memory("VmHWM"));
}
