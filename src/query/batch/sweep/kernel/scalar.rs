//! The steps without vector instructions of their own: the oracle of the others.

use super::{Entries, Kernel, Near, Room, Within};
use crate::simd::Scalar;

impl Kernel for Scalar {
    fn sift<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        within: Within,
        room: &mut Room<'_>,
    ) -> usize {
        let mut count = 0;
        for (&upper, &lower) in entries.upper.iter().zip(entries.lower) {
            let query = u64::from(upper) << 32 | u64::from(lower);
            // Written in any case: most often nothing is known of the next one.
            (room.upper[count], room.lower[count]) = (upper, lower);
            let is_within = ((query ^ within.key) & within.mask).count_ones() <= within.most;
            count += usize::from(is_within);
        }
        count
    }

    fn compare<const UPPER: bool>(
        self,
        entries: Entries<'_>,
        keys: &[u64],
        k: u32,
        near: &mut Vec<Near>,
    ) {
        for (number, &key) in (0..).zip(keys) {
            let word = (if UPPER { key >> 32 } else { key }) as u32;
            let words = if UPPER { entries.upper } else { entries.lower };
            for (at, query) in words.iter().enumerate() {
                if (query ^ word).count_ones() <= k && (entries.get(at) ^ key).count_ones() <= k {
                    near.push(Near { entry: at as u32, key: number });
                }
            }
        }
    }
}
