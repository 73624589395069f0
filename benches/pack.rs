//! How long a pack takes in memory, beside plain radix sorts of as many integers in the same run,
//! and what each of its stages takes.
//!
//! `cargo bench --bench pack [-- EXPONENT [THREADS [DESIGN [STAGES_EXPONENT]]]]`; without arguments
//! 2^26 fingerprints, two threads, `quarters`, and the stages of 2^24 with one thread. With
//! `--test` small sets.

#![allow(missing_docs)]

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use std::time::{Duration, Instant};

use fpstore::{Design, Execution, Layout, PackSummary, Packer, Store};
use rdst::RadixSort;
use sets::Random;

fn uniform(exponent: u32) -> Vec<u64> {
    let mut random = Random(20_070_508);
    (0..1u64 << exponent).map(|_| random.next()).collect()
}

/// Packs `set`; gives the summary and the time of it all.
fn pack(set: &[u64], design: &Design, threads: usize) -> (PackSummary, Duration) {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let path = temporary.path().join("store");
    let packer = Packer::new()
        .layout(Layout::new().design(design.clone()).block_bytes(1024))
        .execution(Execution::new().threads(threads));
    let start = Instant::now();
    let summary = packer.pack(&path, set).expect("the set is packed");
    let time = start.elapsed();
    let stored = Store::open(&path).expect("the store opens").len();
    assert_eq!(stored, summary.distinct);
    (summary, time)
}

/// The least time of three radix sorts of a copy of `set`, all 64 bits, with so many threads.
fn radix_sort(set: &[u64], threads: usize) -> Duration {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let sort = |_| {
        let mut copy = set.to_vec();
        let start = Instant::now();
        pool.install(|| copy.radix_sort_unstable());
        let time = start.elapsed();
        assert!(copy.is_sorted());
        time
    };
    (0..3).map(sort).min().expect("three times")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--test");
    let mut plain = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let mut number =
        |default: u32| plain.next().map_or(default, |text| text.parse().expect("a number"));
    let (exponent, threads) = if small { (16, 2) } else { (number(26), number(2) as usize) };
    let mut plain = arguments.iter().filter(|argument| !argument.starts_with('-')).skip(2);
    let design: Design = plain.next().map_or("quarters", String::as_str).parse().expect("a design");
    let stages: u32 = plain.next().map_or(24, |text| text.parse().expect("an exponent"));
    let stages = if small { 16 } else { stages };
    let tables = design.table_count();

    let set = uniform(exponent);
    let radix = radix_sort(&set, threads).as_secs_f64();
    let mut best: Option<(PackSummary, Duration)> = None;
    for _ in 0..3 {
        let (summary, time) = pack(&set, &design, threads);
        if best.as_ref().is_none_or(|(_, least)| time < *least) {
            best = Some((summary, time));
        }
    }
    let (summary, time) = best.expect("three packs");
    let time = time.as_secs_f64();
    println!(
        "2^{exponent} uniform fingerprints, {design}, blocks of 1024 bytes, {threads} threads"
    );
    println!("radix sort (rdst)     {radix:8.3} s");
    println!("{tables} radix sorts         {:8.3} s", radix * tables as f64);
    println!(
        "pack                  {time:8.3} s, of which sync {:.3} s",
        summary.times.sync.as_secs_f64()
    );
    println!("pack to radix sorts   {:8.2}", time / (radix * tables as f64));
    println!(
        "pack without sync     {:8.2}",
        (time - summary.times.sync.as_secs_f64()) / (radix * tables as f64)
    );

    let set = uniform(stages);
    let (summary, time) = pack(&set, &design, 1);
    let keys = summary.distinct as f64 * tables as f64;
    let each = |time: Duration| time.as_nanos() as f64 / keys;
    let times = summary.times;
    println!("\n2^{stages}, one thread: nanoseconds per fingerprint and table");
    println!("radix sort (rdst)     {:8.2}", each(radix_sort(&set, 1)) * tables as f64);
    for (stage, time) in [
        ("sort", times.sort),
        ("count", times.count),
        ("cut", times.cut),
        ("encode", times.encode),
        ("write", times.write),
        ("sync", times.sync),
        ("all", time),
    ] {
        println!("{stage:21} {:8.2}", each(time));
    }
}
