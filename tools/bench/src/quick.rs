//! The quick recommendation: from a hundredth of the set, and the planner alone.

use std::any::Any;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use fpstore::plan::Planner;
use fpstore::{Fingerprint, Prefer};
use fpstore_cli::failure::Failure;

use super::front::{self, Point};
use super::grid::{Configuration, Forecast, Prediction};
use super::queries::MATCHING;
use super::results::Recommended;

/// One of so many distinct fingerprints is kept alone, and as many in runs: a hundredth in all.
const ONE_OF: u64 = 200;
/// Sets of no more fingerprints are kept whole.
const SMALL: usize = 100_000;
/// A run is everything that begins with the same bits, so many.
const RUN_BITS: u32 = 13;

/// A sample of the distinct fingerprints of a set that is too large to look at whole. Single ones
/// tell how they are spread, whole runs of the sorted set how they are coded.
#[derive(Default)]
pub struct Sampler<F> {
    single: Vec<F>,
    runs: Vec<F>,
    /// The first fingerprints, for sets so small that they need no sample.
    first: Vec<F>,
    read: u64,
}

/// What a sampler has kept: ascending, without repeats.
#[derive(Debug, PartialEq)]
pub struct Kept<F> {
    pub single: Vec<F>,
    pub runs: Vec<F>,
    /// About how many distinct fingerprints there are.
    pub count: u64,
}

impl<F: Fingerprint> Sampler<F> {
    /// Looks at some fingerprints. Whether one is kept depends on its value alone, so that copies
    /// of it do not count.
    pub fn take(&mut self, fingerprints: &[F]) {
        self.read += fingerprints.len() as u64;
        let room = SMALL.saturating_sub(self.first.len());
        self.first.extend(&fingerprints[..room.min(fingerprints.len())]);
        self.single.extend(fingerprints.iter().filter(|&&fingerprint| is_kept(fingerprint)));
        self.runs.extend(fingerprints.iter().filter(|&&fingerprint| is_kept(run_of(fingerprint))));
    }

    /// What was kept.
    pub fn finish(self) -> Kept<F> {
        let distinct = |mut list: Vec<F>| {
            list.sort_unstable();
            list.dedup();
            list
        };
        if self.first.len() as u64 == self.read {
            let single = distinct(self.first);
            let count = single.len() as u64;
            return Kept { runs: single.clone(), single, count };
        }
        let (single, runs) = (distinct(self.single), distinct(self.runs));
        let count = (single.len() as u64 * ONE_OF).min(self.read);
        Kept { single, runs, count }
    }
}

impl<F: Fingerprint> Kept<F> {
    /// How many distinct fingerprints were kept; some are in both lists.
    pub fn seen(&self) -> u64 {
        let in_runs = |fingerprint: &&F| self.runs.binary_search(fingerprint).is_ok();
        let twice = self.single.iter().filter(in_runs).count();
        (self.single.len() + self.runs.len() - twice) as u64
    }

    /// Tells a planner of it, who knows tables only.
    pub fn tell(&self, planner: Planner) -> Planner {
        let (Some(single), Some(runs)) = (keys_of(&self.single), keys_of(&self.runs)) else {
            return planner;
        };
        let runs = runs.chunk_by(|&a, &b| run_of(a) == run_of(b));
        planner.sample(&single).runs(runs).matches(MATCHING)
    }
}

/// Fingerprints as a planner of tables takes them, narrow ones in the upper half; `None` of those
/// that have no tables.
#[expect(clippy::ptr_arg, reason = "a slice is not `Any`")]
pub fn keys_of<F: Fingerprint>(fingerprints: &Vec<F>) -> Option<Cow<'_, [u64]>> {
    if F::BITS > u64::BITS {
        return None;
    }
    let any: &dyn Any = fingerprints;
    if let Some(keys) = any.downcast_ref::<Vec<u64>>() {
        return Some(Cow::Borrowed(keys));
    }
    let key = |one: &F| one.bits(0, F::BITS) << (u64::BITS - F::BITS);
    Some(Cow::Owned(fingerprints.iter().map(key).collect()))
}

fn run_of<F: Fingerprint>(fingerprint: F) -> u64 {
    fingerprint.bits(0, RUN_BITS)
}

fn is_kept(value: impl Hash) -> bool {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() < u64::MAX / ONE_OF
}

/// The configurations that are worth having, as far as the planner knows.
pub fn recommend(
    forecast: &Forecast,
    configurations: &[Configuration],
    input: &str,
    radius: u32,
) -> Result<Vec<Recommended>, Failure> {
    let mut planned: Vec<(&Configuration, Prediction)> = Vec::new();
    for configuration in configurations.iter().filter(|one| one.can_be_packed()) {
        if let Some(plan) = configuration.plan(forecast)? {
            planned.push((configuration, plan));
        }
    }
    let point = |plan: &Prediction| Point {
        bytes: plan.of_search.bytes_per_fingerprint,
        latency: plan.search_ns,
    };
    let points: Vec<Point> = planned.iter().map(|(_, plan)| point(plan)).collect();
    let recommended = |(prefer, number): (Vec<Prefer>, usize)| {
        let (configuration, plan) = &planned[number];
        Recommended {
            prefer: names(&prefer),
            id: configuration.id(),
            bytes_per_fingerprint: plan.of_search.bytes_per_fingerprint,
            p50_ns: plan.of_search.warm_ns,
            command: configuration.command(input, radius),
        }
    };
    let raw_bytes = f64::from(forecast.bits) / 8.0;
    Ok(front::recommend(&points, raw_bytes, 0.0).into_iter().map(recommended).collect())
}

/// What `--prefer` takes, as it is shown.
pub fn names(prefer: &[Prefer]) -> String {
    let names: Vec<String> = prefer.iter().map(Prefer::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Model;

    #[test]
    fn copies_do_not_count_and_the_size_is_estimated() {
        let set = Model::Uniform.draw::<u64>(300_000);
        let mut sampler = Sampler::default();
        for piece in set.chunks(1000) {
            sampler.take(piece);
            // Every other piece comes three times.
            if piece[0] % 2 == 0 {
                sampler.take(piece);
                sampler.take(piece);
            }
        }
        let kept = sampler.finish();
        assert!(kept.single.len().abs_diff(1500) < 200, "{}", kept.single.len());
        assert_eq!(kept.count, ONE_OF * kept.single.len() as u64);
        for list in [&kept.single, &kept.runs] {
            assert!(list.is_sorted_by(|a, b| a < b) && list.iter().all(|f| set.contains(f)));
        }
        // Runs are whole.
        let runs: Vec<u64> = kept.runs.iter().map(|&f| run_of(f)).collect();
        let mut of_runs: Vec<u64> =
            set.iter().copied().filter(|&f| runs.binary_search(&run_of(f)).is_ok()).collect();
        of_runs.sort_unstable();
        assert_eq!(kept.runs, of_runs);
        assert!((500..3000).contains(&of_runs.len()), "{}", of_runs.len());
        let mut all = [&kept.single[..], &kept.runs].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(kept.seen(), all.len() as u64);
    }

    #[test]
    fn a_small_set_is_its_own_sample() {
        let mut sampler = Sampler::default();
        sampler.take(&[5u64, 3, 5]);
        sampler.take(&[3]);
        let kept = sampler.finish();
        assert_eq!(kept.seen(), 2);
        assert_eq!(kept, Kept { single: vec![3, 5], runs: vec![3, 5], count: 2 });
    }
}
