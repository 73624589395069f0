//! The comparisons pair by pair: the oracle of the others.

use super::kernel::Kernel;
use crate::simd::Scalar;

impl Kernel for Scalar {
    fn within(self, tile: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        for (i, one) in tile.iter().enumerate() {
            between(std::slice::from_ref(one), &tile[i + 1..], k, found);
        }
    }

    fn between(self, left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
        between(left, right, k, found);
    }
}

#[inline(always)]
fn between(left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64)) {
    for &one in left {
        for &other in right {
            if (one ^ other).count_ones() <= k {
                found(one, other);
            }
        }
    }
}
