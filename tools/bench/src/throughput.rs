//! Searches per second of several threads that share a store.

use std::hint::black_box;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fpstore::{Fingerprint, Store};
use fpstore_cli::failure::Failure;
use fpstore_cli::threads;

use super::results::Throughput;

/// Searches between two looks at the clock.
const PIECE: usize = 16;

/// Each of `count` threads searches with a searcher of its own for at least `time`, over all
/// queries, beginning at different ones. The result is the sum of their rates.
pub fn measure<F: Fingerprint>(
    store: &Store<F>,
    queries: &[F],
    radius: u32,
    count: usize,
    time: Duration,
) -> Result<Throughput, Failure> {
    // Closed until all threads are there.
    let gate = Mutex::new(());
    let rate = |number: usize| -> Result<f64, fpstore::Error> {
        let mut searcher = store.searcher();
        let mut next = queries.iter().cycle().skip(number * queries.len() / count);
        drop(gate.lock());
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
        return Ok(Throughput { threads: count, queries_per_second: 0.0 });
    }
    let rates = thread::scope(|scope| {
        let rate = &rate;
        let closed = gate.lock();
        let running: Result<Vec<_>, Failure> =
            (0..count).map(|number| threads::spawn_scoped(scope, move || rate(number))).collect();
        drop(closed);
        Ok::<_, Failure>(running?.into_iter().map(|thread| thread.join()).collect::<Vec<_>>())
    })?;
    let mut sum = 0.0;
    for rate in rates {
        sum += rate.map_err(|_| Failure::System("a searching thread stopped".to_string()))??;
    }
    Ok(Throughput { threads: count, queries_per_second: sum.round() })
}
