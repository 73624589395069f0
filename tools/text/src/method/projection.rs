//! Random projection of the vector of weights, each bit the side of a hyperplane on which it lies
//! (Charikar 2002; Henzinger, SIGIR 2006).
//!
//! The hyperplane of bit i has for each feature the coordinate `ones(word i of the feature) - 32`:
//! binomial, of mean 0 and variance 16, which is as good as normal and a whole number. The bit is
//! one if the sum of weight times coordinate is positive.

use std::sync::Arc;

use super::Sketch;
use super::tally::Tally;
use crate::fingerprint::{Fingerprint, Width};
use crate::hash::Stream;
use crate::recipe::Weight;
use crate::signature::Signature;
use crate::table::Table;

/// Random projection.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    width: Width,
    tally: Tally,
    sums: Vec<i64>,
}

impl Projection {
    pub(crate) fn new(width: Width, weight: Weight, table: Option<Arc<Table>>) -> Projection {
        Projection { width, tally: Tally::new(weight, table), sums: vec![0; width.bits() as usize] }
    }

    pub(crate) fn finish(&mut self) -> Option<Signature<'static>> {
        self.sums.fill(0);
        for (feature, weight) in self.tally.weighed() {
            let mut stream = Stream::new(feature);
            for sum in &mut self.sums {
                *sum += weight as i64 * (i64::from(stream.next().count_ones()) - 32);
            }
        }
        let limb =
            |sums: &[i64]| sums.iter().rev().fold(0, |bits, sum| bits << 1 | u64::from(*sum > 0));
        let limbs: Vec<u64> = self.sums.chunks(64).map(limb).collect();
        debug_assert_eq!(limbs.len(), self.width.limbs());
        Fingerprint::from_limbs(&limbs).map(Signature::Bits)
    }
}

impl Sketch for Projection {
    fn clear(&mut self) {
        self.tally.clear();
    }

    #[inline]
    fn add(&mut self, feature: u64) {
        self.tally.add(feature);
    }
}
