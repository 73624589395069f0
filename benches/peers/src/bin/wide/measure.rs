//! What is measured of fpstore.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fpstore::internals::Costs;
use fpstore::query::JoinEvent;
use fpstore::{Execution, Fingerprint, Layout, OpenOptions, Packer, Store};

use crate::{Options, Result};

/// Scans whose mean is taken.
const SCANS: usize = 20;
/// No measurement of one kind takes much longer.
const MOST: Duration = Duration::from_secs(60);
/// Fingerprints that all others are compared with, to tell what a join by comparing all would take.
const ROWS: usize = 200;

/// Seconds that the CPUs have worked for this process, where the system tells.
fn cpu_seconds() -> f64 {
    let ticks = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let behind_name = stat.rsplit_once(')')?.1;
        let times = behind_name.split_whitespace().skip(11).take(2);
        times.map(|ticks| ticks.parse::<f64>().ok()).sum::<Option<f64>>()
    };
    // There are 100 in a second wherever this file is.
    ticks().map_or(f64::NAN, |ticks| ticks / 100.0)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Mean, median and 99th percentile, in microseconds.
fn quantiles(mut times: Vec<f64>) -> (f64, f64, f64) {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    (mean, times[times.len() / 2], times[times.len() * 99 / 100])
}

pub fn print(what: &str, times: Vec<f64>, rest: &str) -> f64 {
    let count = times.len();
    let (mean, median, late) = quantiles(times);
    println!(
        "{what:<44} mean {mean:>10.1} us  p50 {median:>10.1}  p99 {late:>10.1}  ({count}){rest}"
    );
    mean
}

pub fn pack<F: Fingerprint>(options: &Options, set: &[F], path: &Path) -> Result<Store<F>> {
    let planned = options.planned.unwrap_or(options.radius[0]);
    let mut packer = Packer::new().width::<F>().layout(Layout::new().k(planned));
    if let Some(parts) = options.parts {
        packer = packer.with_layout(|it| it.parts(parts));
    }
    if let Some(design) = &options.design {
        packer = packer.with_layout(|it| it.design(design.clone()).block_bytes(512));
    }
    let start = Instant::now();
    let summary = packer.pack(path, set)?;
    let layout = match (summary.parts(), summary.design()) {
        (Some(parts), _) => format!("{parts} parts"),
        (None, design) => format!("{design:?}"),
    };
    println!(
        "{} fingerprints of {} bits, {}: {layout}, {:.2} bytes each, packed in {:.1} s by {} threads",
        summary.distinct,
        F::BITS,
        options.kind(),
        summary.bytes as f64 / summary.distinct as f64,
        start.elapsed().as_secs_f64(),
        threads(),
    );
    Ok(OpenOptions::new().width::<F>().in_memory(options.in_memory).open(path)?)
}

/// The number of matches of each query.
pub fn search<F: Fingerprint>(store: &Store<F>, queries: &[F], k: u32) -> Result<Vec<usize>> {
    let mut searcher = store.searcher();
    let mut counts = Vec::new();
    // All pages are in memory then, and all checksums were checked.
    searcher.search_by_scan(queries[0], k)?;
    for &query in queries {
        counts.push(searcher.search(query, k)?.len());
    }
    let (mut times, mut groups, mut rows) = (Vec::new(), 0, 0);
    let begun = Instant::now();
    for &query in queries {
        let start = Instant::now();
        searcher.search(query, k)?;
        times.push(start.elapsed().as_nanos() as f64 / 1e3);
        (groups, rows) =
            (groups + searcher.work().groups_probed, rows + searcher.work().rows_compared);
        if begun.elapsed() > MOST {
            break;
        }
    }
    let count = times.len() as u64;
    let work = format!("  {} groups, {} rows", groups / count, rows / count);
    let mean = print(&format!("search within {k}"), times, &work);
    let mut times = Vec::new();
    for (&query, &expected) in queries.iter().zip(&counts).take(SCANS) {
        let start = Instant::now();
        let found = searcher.search_by_scan(query, k)?.len();
        times.push(start.elapsed().as_nanos() as f64 / 1e3);
        assert_eq!(found, expected, "a scan finds the same");
    }
    let scan = times.iter().sum::<f64>() / times.len() as f64;
    print("scan of the same store", times, &format!("  factor {:.1}", scan / mean));
    Ok(counts)
}

/// The distances of the nearest fingerprints of each query.
pub fn nearest<F: Fingerprint>(
    store: &Store<F>,
    queries: &[F],
    count: usize,
    near: bool,
) -> Result<Vec<Vec<u32>>> {
    let mut searcher = store.searcher();
    let (mut times, mut answers) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    for &query in queries {
        let start = Instant::now();
        let found = searcher.nearest(query, count, F::BITS)?;
        times.push(start.elapsed().as_nanos() as f64 / 1e3);
        answers.push(found.iter().map(|found| found.distance).collect::<Vec<_>>());
        if begun.elapsed() > MOST {
            break;
        }
    }
    let last = answers.iter().filter_map(|answer| answer.last()).sum::<u32>();
    let distance = f64::from(last) / answers.len() as f64;
    let what = if near { "near a stored one" } else { "anywhere" };
    print(&format!("nearest {count}, {what}"), times, &format!("  last at {distance:.1}"));
    Ok(answers)
}

/// Drops the pages of the files before each query. Nobody else may have the store open.
pub fn cold<F: Fingerprint>(path: &Path, queries: &[F], k: u32) -> Result<()> {
    let (mut times, mut opening) = (Vec::new(), Vec::new());
    for &query in queries.iter().take(20) {
        for entry in std::fs::read_dir(path)? {
            let file = format!("if={}", entry?.path().display());
            // Advice to drop the pages of a file from memory.
            let dd = Command::new("dd").args([&file, "iflag=nocache", "count=0"]).output()?;
            assert!(dd.status.success());
        }
        let start = Instant::now();
        let opened = OpenOptions::new().width::<F>().open(path)?;
        opening.push(start.elapsed().as_nanos() as f64 / 1e3);
        let start = Instant::now();
        opened.search(query, k)?;
        times.push(start.elapsed().as_nanos() as f64 / 1e3);
    }
    print("open, files not in memory", opening, "");
    print(&format!("search within {k}, files not in memory"), times, "");
    Ok(())
}

/// A self-join in which all are compared with all, beside the one that is planned, and some
/// fingerprints compared one by one with all others: the pairs are the same.
pub fn join<F: Fingerprint>(store: &Store<F>, set: &[F], k: u32) -> Result<()> {
    let sample: HashSet<F> = set.iter().copied().step_by(set.len() / ROWS + 1).collect();
    let mut costs = Costs::default();
    // No split is worth while.
    costs.join.pass_ns = 1e15;
    let runs = [("1 thread", 1, Costs::default()), ("all threads", threads(), Costs::default())];
    let all_with_all = ("all with all, all threads", threads(), costs);
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let (mut known, mut of_sample) = (None, 0);
    for (what, threads, costs) in runs.into_iter().chain([all_with_all]) {
        let (mut pairs, mut sum) = (0u64, 0u64);
        of_sample = 0;
        let (start, cpu) = (Instant::now(), cpu_seconds());
        store.self_join(k).execution(Execution::new().threads(threads).costs(costs)).run(
            |event| {
                let JoinEvent::Pairs(some) = event else { return };
                for pair in some {
                    // Does not depend on the order.
                    sum = sum.wrapping_add(hasher.hash_one(pair));
                    of_sample += [pair.a, pair.b].iter().filter(|one| sample.contains(one)).count();
                }
                pairs += some.len() as u64;
            },
        )?;
        let seconds = start.elapsed().as_secs_f64();
        let cpu = cpu_seconds() - cpu;
        println!(
            "self-join within {k}, {what}: {pairs} pairs in {seconds:.2} s, {cpu:.2} s of CPU"
        );
        assert_eq!(*known.get_or_insert((pairs, sum)), (pairs, sum), "the same pairs");
    }
    let start = Instant::now();
    let near = |one: &F| set.iter().filter(|other| one.distance(**other) <= k).count();
    // Each is near itself.
    let found: usize = sample.iter().map(|one| near(one) - 1).sum();
    let seconds = start.elapsed().as_secs_f64() * set.len() as f64 / sample.len() as f64 / 2.0;
    assert_eq!(found, of_sample, "the same pairs");
    println!("a loop over all pairs, 1 thread: {seconds:.0} s, by {} of them", sample.len());
    Ok(())
}
