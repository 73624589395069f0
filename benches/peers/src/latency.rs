//! Times of single queries.

use std::time::Instant;

use crate::engines::Search;

/// The least time that each query took in any round, in nanoseconds.
pub struct Latencies(Vec<u64>);

/// What is printed of the times, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
}

impl Latencies {
    /// No times yet, for this many queries.
    pub fn new(queries: usize) -> Self {
        Self(vec![u64::MAX; queries])
    }

    /// Keeps the time of a query if it is less than those of earlier rounds.
    pub fn record(&mut self, query: usize, nanoseconds: u64) {
        self.0[query] = self.0[query].min(nanoseconds);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Mean and percentiles of the first `queries` queries.
    pub fn summary(&self, queries: usize) -> Summary {
        let mut times = self.0[..queries].to_vec();
        times.sort_unstable();
        let percentile =
            |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1] as f64 / 1e3;
        let mean = times.iter().sum::<u64>() as f64 / 1e3 / times.len() as f64;
        Summary { mean, p50: percentile(50), p90: percentile(90), p99: percentile(99) }
    }
}

/// Runs one query; its time in nanoseconds.
#[inline]
pub fn time(search: &mut Search<'_>, query: u64, matches: &mut Vec<u64>) -> u64 {
    let start = Instant::now();
    search(query, matches);
    start.elapsed().as_nanos() as u64
}

/// What reading the clock adds to every time, in nanoseconds: the median of many empty ones.
pub fn clock_nanoseconds() -> u64 {
    let mut empty: Vec<u64> = (0..10_001)
        .map(|_| {
            let start = Instant::now();
            start.elapsed().as_nanos() as u64
        })
        .collect();
    empty.sort_unstable();
    empty[empty.len() / 2]
}
