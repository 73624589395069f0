//! The scan without vector instructions: the oracle of the others.

use super::compare::{Compare, MAX_PLANES, Planes, bytes_of};
use super::sieve::{Sieve, Sift};
use super::tail::compare_from;
use crate::error::Corruption;
use crate::simd::Scalar;

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
        near: impl FnMut(usize),
    ) {
        compare_from(planes, 0, query, budget, near);
    }
}

impl Sift for Scalar {
    fn sift(
        self,
        sieve: &Sieve<'_>,
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        sieve.run(self, ahead, survived)
    }
}
