//! Other radii: the search of every design, its scan of one table, and brute force.

use std::time::{Duration, Instant};

use fpstore::stats::SearchWork;
use fpstore::{Match, Searcher};

use crate::Result;
use crate::latency::{Latencies, Summary};
use crate::report::{Csv, Table, number};
use crate::scan::{Scanner, keys};
use crate::stores::Packed;

/// The fewest queries per radius, however long brute force takes for them.
const LEAST_QUERIES: usize = 8;

/// The most queries per radius, however fast brute force is.
const MOST_QUERIES: usize = 2000;

/// What is asked, and how.
pub struct Options<'a> {
    pub set: &'a [u64],
    pub queries: &'a [u64],
    pub radii: &'a [u32],
    pub rounds: usize,
    /// How long one pass may take; brute force and every way of searching take a prefix of the
    /// queries.
    pub pass_limit: Duration,
}

/// How a store is asked.
type Ask = for<'a> fn(&'a mut Searcher, u64, u32) -> fpstore::Result<&'a [Match]>;

/// The mean work of a query.
#[derive(Default)]
struct MeanWork {
    scanned: f64,
    decoded: f64,
    full_scans: f64,
}

/// Prints a table per radius. All answers are compared with those of brute force.
pub fn run(stores: &[Packed], options: &Options<'_>, csv: &mut Csv) -> Result<()> {
    for &k in options.radii {
        eprintln!("radius {k}");
        let answers = brute_force(k, options);
        println!("## k = {k}: {} queries\n", answers.len());
        measure(stores, k, &answers, options, csv)?;
    }
    Ok(())
}

/// The answers for as many queries as the limit allows, each ordered.
fn brute_force(k: u32, options: &Options<'_>) -> Vec<Vec<u64>> {
    let scanner = Scanner::detect();
    let start = Instant::now();
    let mut answers = Vec::new();
    for &query in options.queries.iter().take(MOST_QUERIES) {
        let mut matches = Vec::new();
        scanner.scan(keys(options.set), query, k, |key| matches.push(key));
        answers.push(matches);
        if answers.len() >= LEAST_QUERIES && start.elapsed() > options.pass_limit {
            break;
        }
    }
    answers
}

/// What one way of asking a store took and did.
struct Measured {
    latencies: Latencies,
    work: MeanWork,
}

/// Every way of asking a store.
const WAYS: [(&str, Ask); 2] = [
    ("search", |searcher, query, k| searcher.search(query, k)),
    ("scan", |searcher, query, k| searcher.search_by_scan(query, k)),
];

/// Rounds over brute force and every way of asking every store.
fn measure(
    stores: &[Packed],
    k: u32,
    answers: &[Vec<u64>],
    options: &Options<'_>,
    csv: &mut Csv,
) -> Result<()> {
    let queries = &options.queries[..answers.len()];
    let scanner = Scanner::detect();
    let mut brute = Latencies::new(queries.len());
    let unmeasured =
        || Measured { latencies: Latencies::new(queries.len()), work: MeanWork::default() };
    let mut measured: Vec<[Measured; WAYS.len()]> =
        stores.iter().map(|_| std::array::from_fn(|_| unmeasured())).collect();
    for _ in 0..options.rounds {
        let mut matches = Vec::new();
        for (number, &query) in queries.iter().enumerate() {
            let start = Instant::now();
            matches.clear();
            scanner.scan(keys(options.set), query, k, |key| matches.push(key));
            brute.record(number, start.elapsed().as_nanos() as u64);
        }
        for (packed, measured) in stores.iter().zip(&mut measured) {
            for ((name, ask), measured) in WAYS.iter().zip(measured) {
                measured.work = pass(packed, *ask, k, queries, answers, &mut measured.latencies)
                    .map_err(|error| format!("{}, {name}, k = {k}: {error}", packed.name))?;
            }
        }
    }
    print(stores, k, &brute, &measured, csv)
}

fn print(
    stores: &[Packed],
    k: u32,
    brute: &Latencies,
    measured: &[[Measured; WAYS.len()]],
    csv: &mut Csv,
) -> Result<()> {
    let mut table = Table::new(&[
        "engine",
        "mean us",
        "p50 us",
        "p99 us",
        "mean / brute",
        "mean / own scan",
        "blocks scanned",
        "blocks decoded",
        "scanned whole",
    ]);
    let base = brute.summary(brute.len());
    let mut row = |name: String, own: Summary, scan: Option<Summary>, work: Option<&MeanWork>| {
        let figures = [
            ("mean_us", Some(own.mean)),
            ("p50_us", Some(own.p50)),
            ("p99_us", Some(own.p99)),
            ("mean_to_brute", Some(own.mean / base.mean)),
            ("mean_to_scan", scan.map(|scan| own.mean / scan.mean)),
            ("blocks_scanned", work.map(|work| work.scanned)),
            ("blocks_decoded", work.map(|work| work.decoded)),
            ("scanned_whole", work.map(|work| work.full_scans)),
        ];
        let cells = figures.map(|(_, value)| value.map_or(String::new(), number));
        table.row([name.clone()].into_iter().chain(cells).collect());
        for (metric, value) in figures {
            if let Some(value) = value {
                csv.row("radius", k as usize, &name, metric, value)?;
            }
        }
        Result::<()>::Ok(())
    };
    row("brute force".to_string(), base, None, None)?;
    for (packed, measured) in stores.iter().zip(measured) {
        let scan = measured[1].latencies.summary(brute.len());
        for ((name, _), measured) in WAYS.iter().zip(measured) {
            let own = measured.latencies.summary(brute.len());
            row(format!("{}, {name}", packed.name), own, Some(scan), Some(&measured.work))?;
        }
    }
    table.print();
    Ok(())
}

/// All queries once, with their mean work.
fn pass(
    packed: &Packed,
    ask: Ask,
    k: u32,
    queries: &[u64],
    answers: &[Vec<u64>],
    latencies: &mut Latencies,
) -> Result<MeanWork> {
    let mut searcher = packed.store.searcher();
    let mut total = MeanWork::default();
    for (number, (&query, expected)) in queries.iter().zip(answers).enumerate() {
        let start = Instant::now();
        let found = ask(&mut searcher, query, k)?;
        let nanoseconds = start.elapsed().as_nanos() as u64;
        let mut matches: Vec<u64> = found.iter().map(|found| found.fingerprint).collect();
        matches.sort_unstable();
        if matches != *expected {
            return Err(format!("the answer for {query:016x} is not that of brute force").into());
        }
        latencies.record(number, nanoseconds);
        let work: SearchWork = searcher.work();
        total.scanned += work.blocks_scanned as f64 / queries.len() as f64;
        total.decoded += work.blocks_decoded as f64 / queries.len() as f64;
        total.full_scans += work.full_scans as f64 / queries.len() as f64;
    }
    Ok(total)
}
