//! The scan without vector instructions: the oracle of the others.

use super::super::near_keys::NearKeys;
use super::super::survivor::Survivor;
use super::compare::{Compare, MAX_PLANES, Planes, bytes_of};
use super::run::{self, RunSieve, SiftRuns};
use super::sieve::Sieve;
use super::sift::{Sift, run};
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

    #[inline(always)]
    fn compare_unless<const PLANES: usize>(
        self,
        planes: Planes<'_, PLANES>,
        query: u64,
        budget: u8,
        unless: &[[u8; MAX_PLANES]],
        mut near: impl FnMut(usize, u64),
    ) {
        let query = bytes_of(query);
        let (mut start, mut within) = (0, 0);
        self.compare(planes, &query, budget, |entry| {
            let mut differs = [0; MAX_PLANES];
            for (plane, differs) in differs.iter_mut().enumerate().take(planes.all) {
                *differs = planes.plane(plane)[entry] ^ query[plane];
            }
            let distance = differs.iter().map(|bits| bits.count_ones()).sum::<u32>();
            let is_equal = |bits: &[u8; MAX_PLANES]| {
                differs.iter().zip(bits).all(|(differs, bits)| differs & bits == 0)
            };
            if distance > u32::from(budget) || unless.iter().any(is_equal) {
                return;
            }
            if within != 0 && entry >= start + LANES {
                near(start, std::mem::take(&mut within));
            }
            if within == 0 {
                start = entry;
            }
            within |= 1 << (entry - start);
        });
        if within != 0 {
            near(start, within);
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

impl SiftRuns for Scalar {
    fn sift_runs<'a>(
        self,
        runs: impl Iterator<Item = RunSieve<'a>>,
        near: &mut Vec<NearKeys>,
    ) -> Result<(), (usize, Corruption)> {
        run::run(self, runs, near)
    }
}
