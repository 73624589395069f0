//! Queries: read from a file, or a mix of stored, near and random fingerprints.

use fpstore::Fingerprint;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use super::data::{Random, flip, uniform};

/// The seed of the mix.
const SEED: u64 = 3;
/// The most flips of a near query of 64 bits.
const MOST_FLIPS: u32 = 3;

/// The share of the mix that matches something.
pub const MATCHING: f64 = 0.75;

/// Queries and what they are.
pub struct Queries<F> {
    pub list: Vec<F>,
    pub origin: Origin,
}

/// Where queries come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// A file name, or what the mix is.
    pub name: String,
    /// Number of queries.
    pub count: u64,
}

impl<F: Fingerprint> Queries<F> {
    /// `count` queries for a set that is not empty: of every four one is stored, two are stored
    /// ones with 0 to 3 bits flipped, and one is uniform. So every prefix is such a mix. Of other
    /// widths it is up to as many flips as matches may have.
    pub fn mix(set: &[F], count: usize, radius: u32) -> Self {
        let mut random = Random::seed_from_u64(SEED);
        let most_flips = if F::BITS == u64::BITS { MOST_FLIPS } else { radius };
        let query = |i: usize| {
            let stored = match set.len() {
                0 => F::default(),
                len => set[random.random_range(0..len)],
            };
            match i % 4 {
                0 => stored,
                1 | 2 => {
                    let flips = random.random_range(0..=most_flips);
                    flip(stored, flips, &mut random)
                }
                _ => uniform(&mut random),
            }
        };
        let list = (0..count).map(query).collect();
        let name =
            format!("a quarter stored, half with up to {most_flips} flips, a quarter random");
        Self { list, origin: Origin { name, count: count as u64 } }
    }

    /// Queries that were read, in their order, `count` at most.
    pub fn given(mut list: Vec<F>, name: String, count: usize) -> Self {
        list.truncate(count);
        let count = list.len() as u64;
        Self { list, origin: Origin { name, count } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Model;

    #[test]
    fn every_prefix_of_the_mix_has_its_shares() {
        let mut set = Model::Uniform.draw::<u64>(5000);
        set.sort_unstable();
        let queries = Queries::mix(&set, 4000, 9).list;
        let distance = |query: &u64| set.iter().map(|s| (s ^ query).count_ones()).min().unwrap();
        for (number, query) in queries.iter().enumerate().take(400) {
            match (number % 4, distance(query)) {
                (0, 0) | (1 | 2, 0..=3) | (3, 4..) => {}
                other => panic!("query {number}: {other:?}"),
            }
        }
        let flips = |n| queries.chunks(4).filter(|four| distance(&four[1]) == n).count();
        for n in 0..=3 {
            assert!(flips(n).abs_diff(250) < 5 * 16, "{n} flips: {}", flips(n));
        }
        assert_eq!(queries, Queries::mix(&set, 4000, 9).list);
    }
}
