//! The headline of the paper on one machine: a million queries at once against billions of
//! fingerprints.
//!
//! `cargo bench --bench headline -- DIRECTORY [EXPONENT [PART_EXPONENT [QUERIES...]]]`; without
//! arguments behind the directory 2^33 uniform fingerprints in parts of 2^30, and 2^20 queries.
//! Each part comes out of a pipe, in no order, and is packed within 4 GiB as a segment of the store
//! `DIRECTORY/headline.fps`, which takes 37 bits per fingerprint; a part's temporary files take 8
//! bytes for each of its fingerprints. A store that stands there is used, and parts that it lacks
//! are added. Half of the queries are stored fingerprints with up to 3 flips.
//!
//! For each number of queries the batch runs by the plan that it chooses, and with `--plans` by
//! every plan that is not predicted to take ten times as long, from a cold page cache. All that was
//! planted must be found, and the matches of 1,000 queries are compared with those of a pass over
//! all fingerprints that shares nothing with the library. With `--test` a small set.
//!
//! Two cores of an AMD EPYC with 24 GiB took 56.0 s by the clock and 97.7 s of processor time,
//! cold, for 2^20 queries of 2^33 fingerprints in 39.1 GB, read at 0.69 GB/s (78.9 s beside other
//! work); packing took 567 s at low priority beside other work, and 4,026 MiB of memory. The paper
//! gives 100 s on 200 machines.

#![allow(missing_docs)]

#[path = "../tests/it/sets.rs"]
#[allow(dead_code)]
mod sets;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fpstore::query::BatchPlan;
use fpstore::{Design, Execution, Layout, Packer, Store};
use rayon::prelude::*;
use sets::Random;

const SEED: u64 = 20_070_508;
const RADIUS: u32 = 3;
const MEMORY: u64 = 4 << 30;
/// Queries whose matches are compared with those of the other pass.
const CHECKED: usize = 1000;
/// Fingerprints that go through the pipe, or through the other pass, at a time.
const CHUNK: u64 = 1 << 16;

/// Fingerprint number `i` of the set.
fn fingerprint(i: u64) -> u64 {
    Random(SEED.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).next()
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|text| text != "--bench").collect();
    if let [generate, start, end] = &arguments[..]
        && generate == "--generate"
    {
        let number = |text: &String| text.parse().expect("a number");
        return write_fingerprints(number(start), number(end)).expect("the pipe takes it");
    }
    let has = |option: &str| arguments.iter().any(|text| text == option);
    let plain: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|text| !text.starts_with('-')).collect();
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let small = has("--test");
    let directory = match plain.first() {
        Some(directory) if !small => Path::new(directory),
        _ if small => temporary.path(),
        _ => panic!("which DIRECTORY? The store of 2^33 fingerprints takes 39 GB"),
    };
    let number = |at: usize, none: u64| match plain.get(at) {
        Some(text) if !small => text.parse().expect("a number"),
        _ => none,
    };
    let count = 1u64 << if small { 16 } else { number(1, 33) };
    let part = 1u64 << if small { 14 } else { number(2, 30) };
    let store = directory.join("headline.fps");
    pack(&store, count, part.min(count));
    let mut batches: Vec<u64> = (3..plain.len()).map(|at| number(at, 0)).collect();
    if batches.is_empty() || small {
        batches = vec![if small { 2000 } else { 1 << 20 }];
    }
    for asked in batches {
        ask(&store, count, asked as usize, has("--plans"));
    }
}

/// Writes fingerprints to the standard output, in no order.
fn write_fingerprints(start: u64, end: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for first in (start..end).step_by(CHUNK as usize) {
        let numbers = first..end.min(first + CHUNK);
        let bytes: Vec<u8> = numbers.flat_map(|i| fingerprint(i).to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    out.flush()
}

/// Packs the parts that the store lacks.
fn pack(path: &Path, count: u64, part: u64) {
    let has = Store::open(path)
        .map_or(0, |store| store.stats().map_or(0, |stats| stats.segments.len() as u64));
    let free = free_bytes(path.parent().expect("a directory"));
    let (least_free, done) = (AtomicU64::new(free), AtomicBool::new(false));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let free = free_bytes(path.parent().expect("a directory"));
                least_free.fetch_min(free, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        for number in has..count.div_ceil(part) {
            pack_part(path, number, part);
        }
        done.store(true, Ordering::Relaxed);
    });
    let bytes: u64 = files(path).iter().map(|file| file.metadata().map_or(0, |of| of.len())).sum();
    let parts = count.div_ceil(part).saturating_sub(has);
    let peak = free.saturating_sub(least_free.load(Ordering::Relaxed));
    println!(
        "packed  {parts} parts of {part} in {:.1} s, peak memory {}, peak disk {:.2} GB",
        start.elapsed().as_secs_f64(),
        memory("VmHWM"),
        peak as f64 / 1e9,
    );
    println!(
        "size    {:.2} GB, {:.3} bytes per fingerprint",
        bytes as f64 / 1e9,
        bytes as f64 / count as f64
    );
}

/// Packs a part out of a pipe.
fn pack_part(path: &Path, number: u64, part: u64) {
    let itself = std::env::current_exe().expect("this program");
    let range = [number * part, (number + 1) * part].map(|end| end.to_string());
    let mut generator = Command::new(itself)
        .arg("--generate")
        .args(range)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the generator starts");
    let packer = Packer::new()
        .layout(
            Layout::new()
                .design(Design::named("single").expect("a design"))
                .block_bytes(1024)
                .k(RADIUS),
        )
        .append(number > 0)
        .execution(Execution::new().memory(MEMORY));
    let mut session = packer.start(path).expect("the pack starts");
    let mut pipe = generator.stdout.take().expect("a pipe");
    let mut bytes = vec![0; 8 * CHUNK as usize];
    let mut left = part;
    while left > 0 {
        let some = left.min(CHUNK);
        let bytes = &mut bytes[..8 * some as usize];
        pipe.read_exact(bytes).expect("the generator goes on");
        let words = bytes.as_chunks::<8>().0;
        let fingerprints: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        session.extend(&fingerprints).expect("the part is packed");
        left -= some;
    }
    session.finish().expect("the part is packed");
    assert!(generator.wait().expect("the generator ends").success());
}

/// Asks so many queries at once.
fn ask(path: &Path, count: u64, asked: usize, all_plans: bool) {
    let mut random = Random(1);
    let mut planted = vec![None; asked];
    let queries: Vec<u64> = (0..asked)
        .map(|i| match i % 2 {
            0 => random.next(),
            _ => {
                let (stored, flips) = (fingerprint(random.next() % count), random.next() % 4);
                planted[i] = Some(stored);
                random.flip(stored, flips as u32)
            }
        })
        .collect();
    let checked: Vec<usize> =
        (0..CHECKED.min(asked)).map(|i| i * asked / CHECKED.min(asked)).collect();
    let of_checked: Vec<u64> = checked.iter().map(|&i| queries[i]).collect();
    let expected = other_pass(count, &of_checked);
    let store = Store::open(path).expect("the store opens");
    println!("asked   {asked} queries of {count} fingerprints, k = {RADIUS}");
    let plans = [BatchPlan::Search, BatchPlan::Sweep];
    let predicted = |plan| store.batch(RADIUS).predicted(plan, asked as u64);
    let least = plans.iter().filter_map(|&plan| predicted(plan)).fold(f64::INFINITY, f64::min);
    let near = |plan: &BatchPlan| predicted(*plan).is_some_and(|time| time < 10.0 * least);
    let forced = plans.into_iter().filter(near).map(Some).filter(|_| all_plans);
    for plan in [None].into_iter().chain(forced) {
        forget(path);
        let store = Store::open(path).expect("the store opens");
        let batch = store.batch(RADIUS);
        let batch = plan.map_or(batch.clone(), |plan| batch.plan(plan));
        let (start, processor, read) = (Instant::now(), processor_seconds(), read_bytes());
        let (mut found, mut next) = (0, 0);
        let summary = batch.run(&queries, |answer| {
            found += answer.matches.len();
            if let Some(stored) = planted[answer.query] {
                assert!(answer.matches.iter().any(|at| at.fingerprint == stored), "a lost match");
            }
            if checked.get(next) == Some(&answer.query) {
                let mut matches: Vec<u64> =
                    answer.matches.iter().map(|at| at.fingerprint).collect();
                matches.sort_unstable();
                assert_eq!(matches, expected[next], "query {}", answer.query);
                next += 1;
            }
        });
        let seconds = start.elapsed().as_secs_f64();
        let read = (read_bytes() - read) as f64 / 1e9;
        assert_eq!(
            (summary.as_ref().expect("the blocks are sound").queries, next),
            (asked as u64, checked.len())
        );
        let ran = summary.expect("the blocks are sound").plan.expect("there are queries");
        println!(
            "{:10} {} {seconds:8.2} s, {:8.2} of processor time, {:8.2} predicted, {read:6.2} GB read, {:.2} GB/s, {found} matches",
            format!("{ran:?}"),
            if plan.is_none() { "chosen" } else { "      " },
            processor_seconds() - processor,
            predicted(ran).unwrap_or(f64::NAN) / 1e9,
            read / seconds,
        );
    }
}

/// The fingerprints near each query, ascending, each once: by a pass over all of them that looks up
/// their four quarters.
fn other_pass(count: u64, queries: &[u64]) -> Vec<Vec<u64>> {
    let quarter = |word: u64, number: usize| (word >> (16 * number)) as u16 as usize;
    let mut lists = vec![Vec::new(); 4 << 16];
    for (at, &query) in queries.iter().enumerate() {
        (0..4).for_each(|number| lists[number << 16 | quarter(query, number)].push(at));
    }
    let has: Vec<bool> = lists.iter().map(|list| !list.is_empty()).collect();
    let near = |i: u64| {
        let fingerprint = fingerprint(i);
        let of_quarter = |number| number << 16 | quarter(fingerprint, number);
        let at = (0..4).map(of_quarter).filter(|&at| has[at]).flat_map(|at| &lists[at]);
        let within = |at: &&usize| (queries[**at] ^ fingerprint).count_ones() <= RADIUS;
        at.filter(within).map(move |&at| (at, fingerprint)).collect::<Vec<_>>()
    };
    let chunks = (0..count.div_ceil(CHUNK)).into_par_iter();
    let found: Vec<_> = chunks
        .flat_map_iter(|chunk| (chunk * CHUNK..count.min((chunk + 1) * CHUNK)).flat_map(near))
        .collect();
    let mut answers = vec![Vec::new(); queries.len()];
    found.into_iter().for_each(|(at, fingerprint)| answers[at].push(fingerprint));
    for answer in &mut answers {
        answer.sort_unstable();
        answer.dedup();
    }
    answers
}

fn files(store: &Path) -> Vec<File> {
    let entries = fs::read_dir(store).expect("the store is a directory").flatten();
    entries.filter_map(|entry| File::open(entry.path()).ok()).collect()
}

/// Has the system drop the pages of a store.
fn forget(store: &Path) {
    for file in files(store) {
        let _ = file.sync_all();
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

#[cfg(unix)]
fn free_bytes(directory: &Path) -> u64 {
    let of = rustix::fs::statvfs(directory);
    of.map_or(0, |of| of.f_bavail * of.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_directory: &Path) -> u64 {
    0
}

/// A line of `/proc/self/status` in MiB; where there is no such file, nothing.
fn memory(field: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or("unknown".to_string(), |kib| format!("{} MiB", kib / 1024))
}

/// Bytes that this process has had read from the disk; 0 where the system does not say.
fn read_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// Seconds of processor time that this process has taken; 0 where the system does not say.
fn processor_seconds() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
