//! The scan without vector instructions: the oracle of the others.

use super::{Column, Compare, MAX_PLANES, bytes_of};

/// Keys that are compared at a time.
const LANES: usize = 64;

/// Compares with the instructions that every CPU has.
#[derive(Clone, Copy)]
pub(super) struct Scalar;

impl Compare for Scalar {
    type Query = [u8; MAX_PLANES];

    #[inline(always)]
    fn prepare(self, query: u64) -> Self::Query {
        bytes_of(query)
    }

    #[inline(always)]
    fn compare<const PLANES: usize>(
        self,
        column: Column<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    ) {
        compare_from(column, 0, query, budget, near);
    }
}

/// As [`Compare::compare`], for the entries from `first` on.
#[inline(always)]
pub(super) fn compare_from<const PLANES: usize>(
    column: Column<'_, PLANES>,
    first: usize,
    query: &[u8; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    let Column { planes, count } = column;
    let mut distances = [0u8; LANES];
    for start in (first..count).step_by(LANES) {
        let lanes = LANES.min(count - start);
        distances.fill(0);
        for (plane, byte) in planes.iter().zip(query) {
            for (distance, entry) in distances.iter_mut().zip(&plane[start..][..lanes]) {
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
