//! Latencies: samples, and what is said of them.

use std::hint::black_box;
use std::time::Instant;

use fpstore::{Fingerprint, Searcher};
use fpstore_cli::failure::Failure;

use super::results::{Round, Warm};

/// Fewer samples say nothing about one in a thousand.
const LEAST_FOR_P999: usize = 10_000;

/// What the two readings of the clock around a search take, in nanoseconds: the least of many.
pub fn clock_ns() -> u64 {
    let once = || {
        let start = Instant::now();
        black_box(start.elapsed().as_nanos() as u64)
    };
    (0..10_000).map(|_| once()).min().unwrap_or(0)
}

/// Searches once for each query, and gives the nanoseconds of each.
pub fn time_each<F: Fingerprint>(
    searcher: &mut Searcher<F>,
    queries: &[F],
    k: u32,
    clock_ns: u64,
) -> Result<Vec<u32>, Failure> {
    let mut samples = Vec::with_capacity(queries.len());
    for &query in queries {
        let start = Instant::now();
        black_box(searcher.search(query, k)?);
        let ns = (start.elapsed().as_nanos() as u64).saturating_sub(clock_ns).max(1);
        samples.push(u32::try_from(ns).unwrap_or(u32::MAX));
    }
    Ok(samples)
}

/// A piece of work that has nothing to do with stores, and suffers from what else a machine does as
/// a search does: compares 32 fingerprints at each of a thousand places.
pub struct Reference<'a, F> {
    set: &'a [F],
}

impl<'a, F: Fingerprint> Reference<'a, F> {
    /// Over the first 4 MiB of a set.
    pub fn new(set: &'a [F]) -> Self {
        Self { set: &set[..set.len().min((1 << 22) / size_of::<F>())] }
    }

    /// Nanoseconds of the work: the least of three times, after one that is not timed.
    pub fn time(&self) -> f64 {
        self.once(0);
        (1..4).map(|seed| self.once(seed)).fold(f64::INFINITY, f64::min)
    }

    fn once(&self, seed: u64) -> f64 {
        let start = Instant::now();
        let first = |fingerprint: F| fingerprint.bits(0, F::BITS.min(64));
        let (mut state, mut near) = (seed, 0);
        let places = self.set.len().saturating_sub(32).max(1) as u128;
        for _ in 0..1000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let at = ((u128::from(state) * places) >> 64) as usize;
            let found =
                self.set[at..].iter().take(32).filter(|f| (first(**f) ^ state).count_ones() <= 16);
            near += found.count();
        }
        black_box(near);
        start.elapsed().as_nanos() as f64
    }
}

/// The samples of all rounds of a configuration.
#[derive(Default)]
pub struct Samples {
    rounds: Vec<Vec<u32>>,
    references: Vec<f64>,
}

impl Samples {
    /// Adds a round, in any order, and what the reference took beside it.
    pub fn push(&mut self, mut samples: Vec<u32>, reference_ns: f64) {
        samples.sort_unstable();
        self.rounds.push(samples);
        self.references.push(reference_ns);
    }

    /// What is said of them.
    pub fn warm(&self) -> Warm {
        let rounds = self.rounds.iter().zip(&self.references);
        let rounds: Vec<Round> = rounds.map(|(samples, &ns)| Round::new(samples, ns)).collect();
        let median_of = |value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
        let mut all: Vec<u32> = self.rounds.concat();
        all.sort_unstable();
        Warm {
            queries: self.rounds.first().map_or(0, Vec::len),
            samples: all.len(),
            mean_ns: median_of(|round| round.mean_ns),
            p50_ns: median_of(|round| round.p50_ns),
            p90_ns: median_of(|round| round.p90_ns),
            p99_ns: median_of(|round| round.p99_ns),
            p999_ns: (all.len() >= LEAST_FOR_P999).then(|| percentile(&all, 0.999)),
            rounds,
        }
    }
}

impl Round {
    /// Of ascending samples.
    fn new(samples: &[u32], reference_ns: f64) -> Self {
        let sum: f64 = samples.iter().map(|&ns| f64::from(ns)).sum();
        Self {
            mean_ns: (sum / samples.len().max(1) as f64).round(),
            p50_ns: percentile(samples, 0.5),
            p90_ns: percentile(samples, 0.9),
            p99_ns: percentile(samples, 0.99),
            reference_ns,
        }
    }
}

/// The least sample that at least this share of the ascending samples does not exceed (nearest
/// rank); 0 if there is none.
pub fn percentile(samples: &[u32], share: f64) -> f64 {
    let rank = (share * samples.len() as f64).ceil() as usize;
    samples.get(rank.max(1) - 1).map_or(0.0, |&ns| f64::from(ns))
}

/// The middle value, or the mean of the two in the middle; 0 if there is none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => f64::midpoint(values[(n - 1) / 2], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let samples: Vec<u32> = (1..=1000).collect();
        for (share, expected) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (0.999, 999.0)] {
            assert_eq!(percentile(&samples, share), expected);
        }
        assert_eq!((percentile(&[7], 0.5), percentile(&[7], 0.99)), (7.0, 7.0));
        assert_eq!(percentile(&[], 0.5), 0.0);
        assert_eq!(
            (median(vec![3.0, 1.0]), median(vec![5.0, 1.0, 2.0]), median(vec![])),
            (2.0, 2.0, 0.0)
        );
    }

    #[test]
    fn one_in_a_thousand_is_told_from_10000_samples_on() {
        let mut samples = Samples::default();
        samples.push((0..5000).rev().collect(), 1.0);
        assert_eq!(samples.warm().p999_ns, None);
        samples.push((0..4999).collect(), 1.0);
        assert_eq!(samples.warm().p999_ns, None);
        samples.push(vec![9000], 2.0);
        let warm = samples.warm();
        assert_eq!((warm.samples, warm.p999_ns), (10_000, Some(4994.0)));
        // Each figure is the median of the rounds, which one slow round does not move.
        assert_eq!((warm.p50_ns, warm.rounds[2].p50_ns), (2499.0, 9000.0));
    }
}
