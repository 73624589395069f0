//! The scan without vector instructions: the oracle of the others.

use super::super::view::Survivor;
use super::compare::{Compare, MAX_PLANES, Planes, bytes_of};
use super::sift::{Sieve, Sift, run};
use crate::error::Corruption;
use crate::simd::Scalar;

/// Keys that are compared at a time.
const LANES: usize = 64;

impl Compare for Scalar {
    type Query = [u8; MAX_PLANES];

    #[inline(always)]
    fn prepare(self, query: u64) -> Self::Query {
        bytes_of(query)
    }

    #[inline(always)]
    fn compare<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        mut near: impl FnMut(usize),
    ) {
        let mut distances = [0u8; LANES];
        for start in (0..planes.count).step_by(LANES) {
            let lanes = LANES.min(planes.count - start);
            distances.fill(0);
            for (plane, byte) in query.iter().enumerate().take(PLANES) {
                let entries = &planes.plane(plane)[start..][..lanes];
                for (distance, entry) in distances.iter_mut().zip(entries) {
                    *distance += (entry ^ byte).count_ones() as u8;
                }
            }
            for (lane, &distance) in distances[..lanes].iter().enumerate() {
                if distance <= budget {
                    near(start + lane);
                }
            }
        }
    }
}

impl Sift for Scalar {
    fn sift<'a>(
        self,
        sieves: impl Iterator<Item = Sieve<'a>>,
        ahead: impl Iterator<Item = Sieve<'a>>,
        survivors: &mut Vec<Survivor>,
    ) -> Result<(), (usize, Corruption)> {
        run(self, sieves, ahead, survivors)
    }
}
