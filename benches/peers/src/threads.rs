//! Readers that share one store.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use fpstore::Store;

use crate::Result;
use crate::engines::RADIUS;
use crate::report::{Csv, Table, number};
use crate::stores::Packed;

/// How long the readers run for one figure.
const RUN: Duration = Duration::from_millis(700);

/// Queries between two looks at the clock.
const BATCH: usize = 32;

/// Queries per second with each number of threads: the best of the rounds, in which the numbers
/// alternate.
pub fn run(
    stores: &[Packed],
    queries: &[u64],
    threads: &[usize],
    rounds: usize,
    csv: &mut Csv,
) -> Result<()> {
    let cores = thread::available_parallelism()?;
    println!("## Reader threads sharing one store, k = {RADIUS}, {cores} cores\n");
    let header: Vec<String> = threads
        .iter()
        .flat_map(|threads| [format!("{threads} thr, queries/s"), "scaling".to_string()])
        .collect();
    let header: Vec<&str> =
        ["store"].into_iter().chain(header.iter().map(String::as_str)).collect();
    let mut table = Table::new(&header);
    for packed in stores {
        eprintln!("reader threads on {}", packed.name);
        // The counts of one thread are what all others must find.
        let counts = match_counts(&packed.store, queries)?;
        let mut best = vec![0f64; threads.len()];
        let mut alone = 0f64;
        for _ in 0..rounds {
            alone = alone.max(rate(&packed.store, queries, &counts, 1)?);
            for (&threads, best) in threads.iter().zip(&mut best) {
                if threads > 1 {
                    *best = best.max(rate(&packed.store, queries, &counts, threads)?);
                }
            }
        }
        let mut row = vec![packed.name.clone()];
        for (&threads, &best) in threads.iter().zip(&best) {
            let rate = if threads == 1 { alone } else { best };
            csv.row("threads", threads, &packed.name, "queries_per_second", rate)?;
            csv.row("threads", threads, &packed.name, "scaling", rate / alone)?;
            row.extend([number(rate), number(rate / alone)]);
        }
        table.row(row);
    }
    table.print();
    Ok(())
}

/// The number of matches of every query that one thread answers in [`RUN`], at least a batch.
fn match_counts(store: &Store, queries: &[u64]) -> Result<Vec<usize>> {
    let mut searcher = store.searcher();
    let mut counts = Vec::new();
    let start = Instant::now();
    for batch in queries.chunks(BATCH) {
        for &query in batch {
            counts.push(searcher.search(query, RADIUS)?.len());
        }
        if start.elapsed() > RUN {
            break;
        }
    }
    Ok(counts)
}

/// Queries per second of all threads together, each of which begins at another query.
fn rate(store: &Store, queries: &[u64], counts: &[usize], threads: usize) -> Result<f64> {
    let queries = &queries[..counts.len()];
    let barrier = Barrier::new(threads);
    let reader = |number: usize| -> Result<f64, String> {
        let mut searcher = store.searcher();
        let mut order = (0..queries.len()).cycle().skip(number * queries.len() / threads);
        barrier.wait();
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < RUN {
            for number in order.by_ref().take(BATCH) {
                let found = searcher.search(queries[number], RADIUS);
                let found = found.map_err(|error| error.to_string())?.len();
                if found != counts[number] {
                    return Err(format!("{found} matches instead of {}", counts[number]));
                }
            }
            done += BATCH;
        }
        Ok(done as f64 / start.elapsed().as_secs_f64())
    };
    let reader = &reader;
    thread::scope(|scope| {
        let readers: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || reader(number))).collect();
        let rates = readers.into_iter().map(|reader| reader.join().expect("a reader panicked"));
        Ok(rates.sum::<Result<f64, String>>()?)
    })
}
