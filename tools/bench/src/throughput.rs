//! Searches per second of several threads that share a store.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use fpstore::{Fingerprint, Store};
use fpstore_cli::failure::Failure;

use super::results::Throughput;

/// Searches between two looks at the clock.
const PIECE: usize = 16;

/// Each of `threads` threads searches with a searcher of its own for at least `time`, over all
/// queries, beginning at different ones. The result is the sum of their rates.
pub fn measure<F: Fingerprint>(
    store: &Store<F>,
    queries: &[F],
    radius: u32,
    threads: usize,
    time: Duration,
) -> Result<Throughput, Failure> {
    let barrier = Barrier::new(threads);
    let rate = |number: usize| -> Result<f64, fpstore::Error> {
        let mut searcher = store.searcher();
        let mut next = queries.iter().cycle().skip(number * queries.len() / threads);
        barrier.wait();
        let start = Instant::now();
        let mut done = 0;
        while start.elapsed() < time {
            for &query in next.by_ref().take(PIECE) {
                black_box(searcher.search(query, radius)?);
            }
            done += PIECE;
        }
        Ok(done as f64 / start.elapsed().as_secs_f64())
    };
    if queries.is_empty() {
        return Ok(Throughput { threads, queries_per_second: 0.0 });
    }
    let rates = thread::scope(|scope| {
        let rate = &rate;
        let running: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || rate(number))).collect();
        running.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let mut sum = 0.0;
    for rate in rates {
        sum += rate.map_err(|_| Failure::System("a searching thread stopped".to_string()))??;
    }
    Ok(Throughput { threads, queries_per_second: sum.round() })
}
