//! All engines on the same queries, beside the raw arrays.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Result;
use crate::engines::{Engine, Kind, RADIUS, Search};
use crate::heap;
use crate::latency::{self, Latencies, Summary};
use crate::report::{Csv, Json, Table, number};
use crate::scan::{Scanner, keys};

/// Queries for which the raw arrays themselves are checked.
const CHECKED_QUERIES: usize = 300;

/// What is compared, and how.
pub struct Options<'a> {
    pub set: &'a [u64],
    pub queries: &'a [u64],
    /// The directory in which each engine gets one of its own.
    pub directory: &'a Path,
    pub rounds: usize,
    /// How long an engine may take for one pass over the queries; then it gets a prefix of them.
    pub pass_limit: Duration,
    /// Memory for the engines of a group.
    pub memory_bytes: u64,
}

/// An engine that holds the set, and what it cost.
struct Built {
    name: String,
    engine: Box<dyn Engine>,
    seconds: f64,
    file_bytes: u64,
    heap_bytes: u64,
    // Dropped last: the files.
    _directory: TempDir,
}

/// An engine in the course of the measurement.
struct Contestant<'a> {
    built: &'a Built,
    search: Search<'a>,
    /// Mean microseconds of the first pass over the queries, before anything else was touched.
    first_pass: f64,
    latencies: Latencies,
    /// Heap that it took while it answered, that is its caches.
    cache_bytes: usize,
}

/// Compares the engines in groups that fit into memory, each together with the raw arrays.
pub fn run(kinds: &[Kind], options: &Options<'_>, csv: &mut Csv, json: &mut Json) -> Result<()> {
    let raw = build(&Kind::Raw, options)?;
    let expected = expected_answers(&raw, options)?;
    let groups = groups(kinds, options);
    for (number, kinds) in groups.iter().enumerate() {
        if groups.len() > 1 {
            println!("### Group {} of {}\n", number + 1, groups.len());
        }
        let mut built = Vec::new();
        for kind in kinds {
            built.push(build(kind, options)?);
        }
        let all: Vec<&Built> = [&raw].into_iter().chain(&built).collect();
        let contestants = measure(&all, &expected, options)?;
        print(&contestants, options, number, csv, json)?;
    }
    if groups.len() > 1 {
        println!(
            "The engines do not fit into memory together. Each group was measured in rounds of its \
             own, with the raw arrays among them, to which its ratios refer.\n"
        );
    }
    Ok(())
}

fn build(kind: &Kind, options: &Options<'_>) -> Result<Built> {
    eprintln!("building {kind}");
    let directory = tempfile::tempdir_in(options.directory)?;
    let heap_before = heap::live_bytes();
    let start = Instant::now();
    let engine =
        kind.build(options.set, directory.path()).map_err(|error| format!("{kind}: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    let note = engine.note().map_or(String::new(), |note| format!(": {note}"));
    Ok(Built {
        name: format!("{kind}{note}"),
        seconds,
        file_bytes: engine.file_bytes(),
        heap_bytes: heap::live_bytes().saturating_sub(heap_before) as u64,
        engine,
        _directory: directory,
    })
}

/// First fit, in the given order.
fn groups(kinds: &[Kind], options: &Options<'_>) -> Vec<Vec<Kind>> {
    let count = options.set.len();
    let room = options.memory_bytes.saturating_sub(Kind::Raw.memory_estimate(count));
    let mut groups: Vec<(u64, Vec<Kind>)> = Vec::new();
    for kind in kinds {
        let bytes = kind.memory_estimate(count);
        match groups.iter_mut().find(|(used, _)| used + bytes <= room) {
            Some((used, group)) => {
                *used += bytes;
                group.push(kind.clone());
            }
            None => groups.push((bytes, vec![kind.clone()])),
        }
    }
    if groups.is_empty() {
        groups.push((0, Vec::new()));
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The answers of the raw arrays, the first of which are compared with brute force.
fn expected_answers(raw: &Built, options: &Options<'_>) -> Result<Vec<Vec<u64>>> {
    let mut search = raw.engine.searcher();
    let answer = |&query: &u64| {
        let mut matches = Vec::new();
        search(query, &mut matches);
        matches.sort_unstable();
        matches
    };
    let answers: Vec<Vec<u64>> = options.queries.iter().map(answer).collect();
    let scanner = Scanner::detect();
    let start = Instant::now();
    let mut checked = 0;
    for (&query, answer) in options.queries.iter().zip(&answers).take(CHECKED_QUERIES) {
        let mut matches = Vec::new();
        scanner.scan(keys(options.set), query, RADIUS, |key| matches.push(key));
        if matches != *answer {
            return Err(format!("raw arrays: wrong answer for {query:016x}").into());
        }
        checked += 1;
        if start.elapsed() > 2 * options.pass_limit {
            break;
        }
    }
    println!(
        "{} queries with {} matches; the raw arrays agree with brute force on the first {checked}, \
         and every engine with the raw arrays on all of its queries.\n",
        answers.len(),
        answers.iter().map(Vec::len).sum::<usize>(),
    );
    Ok(answers)
}

/// The first pass of each engine, then rounds over all engines, forwards and backwards in turn.
fn measure<'a>(
    built: &[&'a Built],
    expected: &[Vec<u64>],
    options: &Options<'_>,
) -> Result<Vec<Contestant<'a>>> {
    let mut contestants = Vec::new();
    for &built in built {
        eprintln!("first pass of {}", built.name);
        contestants.push(first_pass(built, expected, options)?);
    }
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for number in order {
            pass(&mut contestants[number], expected, options)?;
        }
    }
    Ok(contestants)
}

fn first_pass<'a>(
    built: &'a Built,
    expected: &[Vec<u64>],
    options: &Options<'_>,
) -> Result<Contestant<'a>> {
    let heap_before = heap::live_bytes();
    let mut search = built.engine.searcher();
    let mut matches = Vec::new();
    let (mut total, mut done) = (0, 0);
    for (&query, expected) in options.queries.iter().zip(expected) {
        total += latency::time(&mut search, query, &mut matches);
        compare(&built.name, query, &mut matches, expected)?;
        done += 1;
        if u128::from(total) > options.pass_limit.as_nanos() {
            break;
        }
    }
    built.engine.settle();
    let cache_bytes = heap::live_bytes().saturating_sub(heap_before);
    Ok(Contestant {
        built,
        search,
        first_pass: total as f64 / 1e3 / done as f64,
        latencies: Latencies::new(done),
        cache_bytes,
    })
}

fn pass(
    contestant: &mut Contestant<'_>,
    expected: &[Vec<u64>],
    options: &Options<'_>,
) -> Result<()> {
    let mut matches = Vec::new();
    let count = contestant.latencies.len();
    for (number, (&query, expected)) in options.queries.iter().zip(expected).take(count).enumerate()
    {
        let nanoseconds = latency::time(&mut contestant.search, query, &mut matches);
        contestant.latencies.record(number, nanoseconds);
        compare(&contestant.built.name, query, &mut matches, expected)?;
    }
    Ok(())
}

fn compare(name: &str, query: u64, matches: &mut [u64], expected: &[u64]) -> Result<()> {
    matches.sort_unstable();
    if matches != expected {
        return Err(format!(
            "{name}: {} matches for {query:016x}, the raw arrays have {}",
            matches.len(),
            expected.len()
        )
        .into());
    }
    Ok(())
}

fn print(
    contestants: &[Contestant<'_>],
    options: &Options<'_>,
    group: usize,
    csv: &mut Csv,
    json: &mut Json,
) -> Result<()> {
    let mut table = Table::new(&[
        "engine",
        "bytes per fp",
        "caches",
        "build s",
        "queries",
        "first pass us",
        "mean us",
        "p50 us",
        "p90 us",
        "p99 us",
        "bytes / raw",
        "mean / raw",
        "p50 / raw",
        "p99 / raw",
    ]);
    let raw = &contestants[0];
    let count = options.set.len() as f64;
    let bytes = |contestant: &Contestant<'_>| {
        (contestant.built.file_bytes + contestant.built.heap_bytes) as f64 / count
    };
    for contestant in contestants {
        let built = contestant.built;
        let queries = contestant.latencies.len();
        let own: Summary = contestant.latencies.summary(queries);
        let base = raw.latencies.summary(queries);
        let figures = [
            ("bytes_per_fingerprint", bytes(contestant)),
            ("cache_bytes_per_fingerprint", contestant.cache_bytes as f64 / count),
            ("build_seconds", built.seconds),
            ("queries", queries as f64),
            ("first_pass_us", contestant.first_pass),
            ("mean_us", own.mean),
            ("p50_us", own.p50),
            ("p90_us", own.p90),
            ("p99_us", own.p99),
            ("bytes_ratio", bytes(contestant) / bytes(raw)),
            ("mean_ratio", own.mean / base.mean),
            ("p50_ratio", own.p50 / base.p50),
            ("p99_ratio", own.p99 / base.p99),
        ];
        for (metric, value) in figures {
            csv.row("search", group, &built.name, metric, value)?;
        }
        // The raw arrays stand in every group.
        if group == 0 || !std::ptr::eq(contestant, raw) {
            json.engine(&built.name, group, &figures);
        }
        let cell = |(metric, value): (&str, f64)| match metric {
            "queries" => format!("{value:.0}"),
            _ => number(value),
        };
        table.row([built.name.clone()].into_iter().chain(figures.map(cell)).collect());
    }
    table.print();
    Ok(())
}
