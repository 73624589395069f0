//! A million queries at once, by every plan, beside single calls: microseconds per query, with one
//! thread and with two.
//!
//! `cargo bench --bench batch [-- EXPONENT [QUERIES [DESIGN [BLOCK_BYTES]]]]`; without arguments
//! 2^26 uniform fingerprints, 2^20 queries at k = 3, half of them near duplicates, `quarters`,
//! blocks of 512 bytes. With `--test` a small set. All answers are compared.

#![allow(missing_docs)]

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use std::ops::ControlFlow;
use std::time::Instant;

use fpstore::query::BatchPlan;
use fpstore::{Design, Execution, Layout, Packer, Store};
use sets::Random;

const SEED: u64 = 20_070_508;
const RADIUS: u32 = 3;

/// Fingerprint number `i` of the set.
fn fingerprint(i: u64) -> u64 {
    Random(SEED.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).next()
}

/// A line of `/proc/self/status` in MiB; where there is no such file, nothing.
fn memory(field: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or("unknown".to_string(), |kib| format!("{} MiB", kib / 1024))
}

/// Seconds of processor time that this process has taken; 0 where the system does not say.
fn processor_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold spaces: the fields for user and system, in ticks.
    let fields = status.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--test");
    let mut plain = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let exponent = plain.next().map_or(26, |text| text.parse().expect("an exponent"));
    let count = 1u64 << if small { 14 } else { exponent };
    let asked = plain.next().map_or(1 << 20, |text| text.parse().expect("a number of queries"));
    let asked: usize = if small { 2000 } else { asked };
    let design: Design = plain.next().map_or("quarters", String::as_str).parse().expect("a design");
    let block_bytes = plain.next().map_or(512, |text| text.parse().expect("bytes per block"));

    let temporary = tempfile::tempdir().expect("a temporary directory");
    let path = temporary.path().join("store");
    let packer = Packer::new()
        .layout(Layout::new().design(design.clone()).block_bytes(block_bytes))
        .execution(Execution::new().memory(2 << 30));
    packer.pack(&path, (0..count).map(fingerprint)).expect("the set is packed");
    let store = Store::open(&path).expect("the store opens");
    store.verify().expect("the store is sound");
    let mut random = Random(1);
    let query = |i: usize| match i % 2 {
        0 => random.next(),
        _ => {
            let (stored, flips) = (fingerprint(random.next() % count), random.next() % 4);
            random.flip(stored, flips as u32)
        }
    };
    let queries: Vec<u64> = (0..asked).map(query).collect();
    println!(
        "{count} uniform fingerprints, {asked} queries, k = {RADIUS}, design {design}, blocks of \
         {block_bytes} bytes"
    );
    let each = |seconds: f64| 1e6 * seconds / asked as f64;
    let (start, processor) = (Instant::now(), processor_seconds());
    let mut searcher = store.searcher();
    let mut single = (0u64, 0u64);
    let mix = |sum: (u64, u64), number: usize, fingerprint: u64| {
        let mixed = (fingerprint ^ (number as u64) << 17).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (sum.0 + 1, sum.1.wrapping_add(mixed ^ mixed >> 31))
    };
    for (number, &query) in queries.iter().enumerate() {
        let found = searcher.search(query, RADIUS).expect("the blocks are sound");
        single = found.iter().fold(single, |sum, found| mix(sum, number, found.fingerprint));
    }
    println!(
        "single calls, 1 thread   {:8.3} us per query, {:.3} of processor time",
        each(start.elapsed().as_secs_f64()),
        each(processor_seconds() - processor),
    );
    for plan in [BatchPlan::Search, BatchPlan::Sweep] {
        for threads in [1, 2] {
            let batch = store.batch(RADIUS).plan(plan).execution(Execution::new().threads(threads));
            let predicted = batch.predicted(plan, asked as u64).unwrap_or(f64::NAN);
            let (start, processor) = (Instant::now(), processor_seconds());
            let mut found = (0, 0);
            let summary = batch.run(&queries, |answer| {
                let sum = answer.matches.iter();
                found = sum.fold(found, |sum, at| mix(sum, answer.query, at.fingerprint));
                ControlFlow::Continue(())
            });
            let seconds = start.elapsed().as_secs_f64();
            assert_eq!(summary.expect("the blocks are sound").queries, asked as u64);
            assert!(found == single, "{plan:?}: other matches than those of single calls");
            println!(
                "{:12} {threads} thread{}   {:8.3} us per query, {:.3} of processor time, {:.3} predicted",
                format!("{plan:?},"),
                if threads == 1 { " " } else { "s" },
                each(seconds),
                each(processor_seconds() - processor),
                predicted / 1e3 / asked as f64,
            );
        }
    }
    println!("equal   {} matches; peak memory {}", single.0, memory("VmHWM"));
}
