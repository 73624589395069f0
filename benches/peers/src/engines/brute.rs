//! Brute force: the sorted fingerprints in memory, all compared with every query.

use super::{Engine, RADIUS, Search};
use crate::scan::{Scanner, keys};

/// The fingerprints.
pub struct BruteForce {
    fingerprints: Vec<u64>,
    scanner: Scanner,
}

impl BruteForce {
    pub fn build(set: &[u64]) -> Self {
        Self { fingerprints: set.to_vec(), scanner: Scanner::detect() }
    }
}

impl Engine for BruteForce {
    fn searcher(&self) -> Search<'_> {
        Box::new(|query, matches| {
            matches.clear();
            let fingerprints = keys(&self.fingerprints);
            self.scanner.scan(fingerprints, query, RADIUS, |key| matches.push(key));
        })
    }

    fn file_bytes(&self) -> u64 {
        0
    }
}
