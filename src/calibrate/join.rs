//! Measures the steps of joins and batches.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use super::uniform::{self, fingerprint};
use crate::costs::{Costs, JoinCosts};
use crate::design::Design;
use crate::error::Result;
use crate::execution::Execution;
use crate::query::batch;
use crate::query::join::{self, Message, Output};
use crate::simd::Level;
use crate::store::{Packer, Store};

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
pub(super) fn measure(directory: &Path, costs: &mut Costs) -> Result<()> {
    for level in Level::all() {
        *costs.join.pair_ns_mut(level) = pair_ns(level)?;
        *costs.sweep.vector_ns_mut(level) = batch::vector_ns(level, |work| fastest(work))?;
    }
    let design: Design = "single".parse()?;
    let (store, _) = uniform::store(directory, Packer::new().design(design), COUNT)?;
    let decoded = fastest(|| {
        let all = store.iter().try_fold(0, |all, fingerprint| fingerprint.map(|one| all ^ one))?;
        black_box(all);
        Ok(())
    })?;
    costs.sweep.read_ns = decoded / COUNT as f64;
    // A single query is compared with each fingerprint that is read.
    let read = fastest(|| join_stream(&store, &[fingerprint(COUNT)], costs))? / COUNT as f64;
    costs.join.read_ns = (read - costs.join.pair_ns(Level::best())).max(0.1);
    // Of the time of many queries the passes are what is not known yet.
    let queries: Vec<u64> = (COUNT..COUNT + QUERIES).map(fingerprint).collect();
    let streamed = fastest(|| join_stream(&store, &queries, costs))?;
    let predicted = |pass_ns: f64| {
        let costs = JoinCosts { pass_ns, ..costs.join };
        join::stream_ns::<u64>(QUERIES, COUNT, COUNT, K, &costs)
    };
    costs.join.pass_ns = solve(predicted, streamed, costs.join.pass_ns);
    Ok(())
}

/// The nanoseconds of a comparison of two fingerprints in small groups.
fn pair_ns(level: Level) -> Result<f64> {
    let fingerprints: Vec<u64> = (0..2 * GROUP).map(fingerprint).collect();
    let (left, right) = fingerprints.split_at(GROUP as usize);
    let round = fastest(|| {
        for _ in 0..COMPARED {
            let mut found = 0u32;
            join::between(level, black_box(left), black_box(right), K, |_, _| found += 1);
            black_box(found);
        }
        Ok(())
    })?;
    Ok(round / (COMPARED * GROUP * GROUP) as f64)
}

/// Joins queries with a store as it is read.
fn join_stream(store: &Store, queries: &[u64], costs: &Costs) -> Result<()> {
    let execution = Execution::new().threads(1);
    let snapshot = store.snapshot();
    let work = |output: &Output| {
        join::stream(output, queries.to_vec(), &snapshot, K, COUNT as usize, &costs.join)
    };
    Output::run(&*execution.start_pool()?, execution.stop(), work, |message| {
        if let Message::Pairs(pairs) = message {
            black_box(pairs);
        }
        ControlFlow::Continue(())
    })
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
