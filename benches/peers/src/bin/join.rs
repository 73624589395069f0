//! Joins a set with itself by fpstore and by all-pairs-hamming, the crate of find-simdoc, each in a
//! process of its own, so that the peak memory is its own.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml --bin join -- [EXPONENT...]`: sets
//! of 2^22 and 2^24 uniform fingerprints without arguments, a tenth of them within three flips of
//! another, k = 3. Both are compared with each other by the number of pairs and a sum over them.
//! The crate uses one thread, and gives numbers of fingerprints; fpstore reads a packed store, and
//! its time includes opening it.

use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use all_pairs_hamming::ChunkedJoiner;
use fpstore::query::JoinEvent;
use fpstore::{Design, Execution, Layout, Packer, Store};

const RADIUS: u32 = 3;

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut x = *state;
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Distinct fingerprints, uniform but for near duplicates.
fn set(exponent: u32) -> Vec<u64> {
    let (count, mut state) = (1usize << exponent, 7);
    let mut set: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count {
        let mut next = random(&mut state);
        if i % 10 == 9 {
            let flips = next;
            next = (0..=flips % 3)
                .fold(set[i - 1], |fp, flip| fp ^ 1 << (flips >> (8 + 6 * flip) & 63));
        }
        set.push(next);
    }
    set.sort_unstable();
    set.dedup();
    set
}

/// The number of pairs, and a sum that does not depend on their order.
#[derive(Default)]
struct Sum(u64, u64);

impl Sum {
    fn add(&mut self, one: u64, other: u64) {
        let (a, b) = (one.min(other), one.max(other));
        self.0 += 1;
        self.1 = self.1.wrapping_add(random(&mut (a ^ random(&mut b.clone()))));
    }
}

/// A value in KiB of `/proc/self/status`.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Seconds of processor time that this process has taken.
fn processor_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Joins as `engine` does; gives the line that is compared.
fn join(engine: &str, threads: usize, exponent: u32, path: &str) {
    let mut sum = Sum::default();
    // Mapped pages of files are no memory of the process.
    let mut mapped = 0;
    let (seconds, processor) = if engine == "fpstore" {
        let (start, processor) = (Instant::now(), processor_seconds());
        let store = Store::open(path).expect("the store opens");
        let join = store.self_join(RADIUS).execution(Execution::new().threads(threads));
        join.run(|event| {
            if let JoinEvent::Pairs(pairs) = event {
                pairs.iter().for_each(|pair| sum.add(pair.a, pair.b));
            }
            ControlFlow::Continue(())
        })
        .expect("the store is sound");
        mapped = status("RssFile");
        (start.elapsed().as_secs_f64(), processor_seconds() - processor)
    } else {
        let mut joiner = ChunkedJoiner::<u64>::new(1);
        let set = set(exponent);
        set.iter().for_each(|&fingerprint| joiner.add([fingerprint]).expect("one chunk"));
        drop(set);
        let (start, processor) = (Instant::now(), processor_seconds());
        let pairs = joiner.similar_pairs(f64::from(RADIUS) / 64.0);
        let taken = (start.elapsed().as_secs_f64(), processor_seconds() - processor);
        let set = self::set(exponent);
        pairs.iter().for_each(|&(one, other, _)| sum.add(set[one], set[other]));
        taken
    };
    let memory = status("VmHWM").saturating_sub(mapped);
    println!("{} {:016x} {seconds:.3} {processor:.2} {}", sum.0, sum.1, memory / 1024);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [marker, engine, threads, exponent, path] = &arguments[..]
        && marker == "one"
    {
        let (threads, exponent) = (threads.parse(), exponent.parse());
        return join(engine, threads.expect("a number"), exponent.expect("an exponent"), path);
    }
    let mut exponents: Vec<u32> =
        arguments.iter().map(|text| text.parse().expect("an exponent")).collect();
    if exponents.is_empty() {
        exponents = vec![22, 24];
    }
    let this = std::env::current_exe().expect("this program");
    println!("exponent engine threads pairs seconds processor-seconds peak-MiB");
    for exponent in exponents {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let path = temporary.path().join("store");
        let design = Design::named("single").expect("a design");
        Packer::new()
            .layout(Layout::new().design(design).block_bytes(1024))
            .pack(&path, set(exponent))
            .expect("packed");
        let mut first: Option<String> = None;
        for (engine, threads) in [("all-pairs-hamming", "1"), ("fpstore", "1"), ("fpstore", "2")] {
            let mut command = Command::new(&this);
            command.args(["one", engine, threads, &exponent.to_string()]).arg(&path);
            let output = command.output().expect("the program runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let line = String::from_utf8(output.stdout).expect("text");
            let fields: Vec<&str> = line.split_whitespace().collect();
            let found = format!("{} {}", fields[0], fields[1]);
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "{engine}: other pairs");
            println!("2^{exponent} {engine} {threads} {} {}", fields[0], fields[2..].join(" "));
        }
    }
}
