//! Joins uniform sets with 10% planted near duplicates with themselves, and prints seconds per set,
//! nanoseconds per fingerprint and memory.
//!
//! `cargo bench --bench join [-- EXPONENT...]`; without arguments 2^20, 2^22, 2^24 and 2^26
//! fingerprints at k = 3. With `--test` a small set. All planted pairs must be found.

#![allow(missing_docs)]

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Instant;

use fpstore::query::JoinEvent;
use fpstore::{Design, Execution, Layout, Packer, Store};
use sets::Random;

const RADIUS: u32 = 3;

/// A line of `/proc/self/status` in MiB.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Uniform fingerprints; each tenth lies within three flips of the one before it.
fn set(count: usize) -> Vec<u64> {
    let mut random = Random(7);
    let mut set: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count {
        let near = i % 10 == 9;
        let next =
            if near { random.flip(set[i - 1], 1 + i as u32 / 10 % 3) } else { random.next() };
        set.push(next);
    }
    set
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
    let plain = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let mut exponents: Vec<u32> = plain.map(|text| text.parse().expect("an exponent")).collect();
    if exponents.is_empty() {
        exponents = vec![20, 22, 24, 26];
    }
    if small {
        exponents = vec![14];
    }
    println!("exponent threads seconds processor-seconds ns/fingerprint pairs peak-MiB growth");
    let mut before: [Option<(u32, f64)>; 2] = [None; 2];
    for exponent in exponents {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let path = temporary.path().join("store");
        let set = set(1 << exponent);
        let planted: HashSet<(u64, u64)> = set
            .chunks_exact(10)
            .take(100_000)
            .map(|ten| (ten[8].min(ten[9]), ten[8].max(ten[9])))
            .collect();
        let design = Design::named("single").expect("a design");
        let packer = Packer::new()
            .layout(Layout::new().design(design).block_bytes(1024))
            .execution(Execution::new().memory(2 << 30));
        packer.pack(&path, &set).expect("the set is packed");
        drop(set);
        let store = Store::open(&path).expect("the store opens");
        for threads in [1, 2] {
            let mut missing = planted.clone();
            // The high-water mark starts again where the system allows it.
            let _ = std::fs::write("/proc/self/clear_refs", "5");
            let (start, processor) = (Instant::now(), processor_seconds());
            let join = store.self_join(RADIUS).execution(Execution::new().threads(threads));
            let summary = join.run(|event| {
                if let JoinEvent::Pairs(pairs) = event {
                    for pair in pairs {
                        assert!((pair.a ^ pair.b).count_ones() <= RADIUS && pair.a < pair.b);
                        missing.remove(&(pair.a, pair.b));
                    }
                }
                ControlFlow::Continue(())
            });
            let seconds = start.elapsed().as_secs_f64();
            let processor = processor_seconds() - processor;
            let summary = summary.expect("the blocks are sound");
            assert!(missing.is_empty(), "{} planted pairs were not found", missing.len());
            let last = before[threads - 1].replace((exponent, processor));
            let growth = last.map_or(String::new(), |(last, of_last)| {
                format!("n^{:.2}", (processor / of_last).log2() / f64::from(exponent - last))
            });
            println!(
                "2^{exponent} {threads} {seconds:.3} {processor:.2} {:.1} {} {} {growth}",
                1e9 * processor / f64::from(exponent).exp2(),
                summary.pairs,
                memory("VmHWM"),
            );
        }
    }
}
