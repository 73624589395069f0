//! Measures the steps of joins and batches.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use fpstore::internals::{Costs, Instructions, join_as_read, join_as_read_ns};
use fpstore::{Design, Layout, Packer, Result};
use fpstore_cli::failure::Failure;

use super::uniform::{self, fingerprint};

/// Repetitions of which the fastest counts.
const ROUNDS: usize = 8;
/// Fingerprints of a group that is compared with another, and how often they are in a round.
const GROUP: u64 = 64;
const COMPARED: u64 = 256;
/// Fingerprints of the store that is read.
const COUNT: u64 = 1 << 21;
/// Queries that are joined with it as it is read.
const QUERIES: u64 = 1 << 17;
const K: u32 = 3;

/// Measures comparisons at all levels of vector instructions that the CPU has, reading, and the
/// passes of a split, with a store in `directory`, which is removed again.
pub(super) fn measure(directory: &Path, costs: &mut Costs) -> Result<(), Failure> {
    let mut best_pair_ns = 0.0;
    for level in Instructions::all() {
        let (pair, vector) = (pair_ns(level)?, level.vector_ns(|work| fastest(work))?);
        level.keep(costs, pair, vector);
        best_pair_ns = pair;
    }
    let design: Design = "single".parse()?;
    let (store, _) =
        uniform::store(directory, Packer::new().layout(Layout::new().design(design)), COUNT)?;
    let decoded = fastest(|| {
        let all = store.iter().try_fold(0, |all, fingerprint| fingerprint.map(|one| all ^ one))?;
        black_box(all);
        Ok(())
    })?;
    costs.sweep.read_ns = decoded / COUNT as f64;
    // A single query is compared with each fingerprint that is read.
    let read =
        fastest(|| join_as_read(&store, &[fingerprint(COUNT)], K, &costs.join))? / COUNT as f64;
    costs.join.read_ns = (read - best_pair_ns).max(0.1);
    // Of the time of many queries the passes are what is not known yet.
    let queries: Vec<u64> = (COUNT..COUNT + QUERIES).map(fingerprint).collect();
    let streamed = fastest(|| join_as_read(&store, &queries, K, &costs.join))?;
    let predicted = |pass_ns: f64| {
        let mut costs = costs.join;
        costs.pass_ns = pass_ns;
        join_as_read_ns(QUERIES, COUNT, K, &costs)
    };
    costs.join.pass_ns = solve(predicted, streamed, costs.join.pass_ns);
    Ok(())
}

/// The nanoseconds of a comparison of two fingerprints in small groups.
fn pair_ns(level: Instructions) -> Result<f64> {
    let fingerprints: Vec<u64> = (0..2 * GROUP).map(fingerprint).collect();
    let (left, right) = fingerprints.split_at(GROUP as usize);
    let round = fastest(|| {
        for _ in 0..COMPARED {
            black_box(level.compare(black_box(left), black_box(right), K));
        }
        Ok(())
    })?;
    Ok(round / (COMPARED * GROUP * GROUP) as f64)
}

/// Nanoseconds of the fastest of some repetitions.
fn fastest(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        least = least.min(start.elapsed().as_nanos() as f64);
    }
    Ok(least)
}

/// The constant for which `predicted`, which grows with it, gives what was measured; one from a
/// fourth to four times what is `expected`.
fn solve(predicted: impl Fn(f64) -> f64, measured: f64, expected: f64) -> f64 {
    let (mut low, mut high) = (expected / 4.0, expected * 4.0);
    for _ in 0..30 {
        let middle = (low + high) / 2.0;
        if predicted(middle) < measured { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::solve;

    #[test]
    fn a_constant_is_found_where_the_prediction_is_what_was_measured() {
        let predicted = |x: f64| 5.0 + 2.0 * x;
        assert!((solve(predicted, 13.0, 3.0) - 4.0).abs() < 1e-6);
        // What does not fit at all is not believed.
        assert!((solve(predicted, 1e9, 3.0) - 12.0).abs() < 1e-6);
        assert!((solve(predicted, 1.0, 3.0) - 0.75).abs() < 1e-6);
    }
}
