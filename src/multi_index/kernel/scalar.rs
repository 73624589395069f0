//! The loops without any instructions that not every CPU has: the oracle of the others.

use super::{Kernel, Run, Select, Span};
use crate::fingerprint::Fingerprint;
use crate::simd::Scalar;

impl Select for Scalar {
    #[inline]
    fn select(self, mut word: u64, mut rank: u32) -> u32 {
        let mut place = 0;
        loop {
            let ones = (word & 0xFF).count_ones();
            if rank < ones {
                break;
            }
            rank -= ones;
            word >>= 8;
            place += 8;
        }
        for _ in 0..rank {
            word &= word - 1;
        }
        place + word.trailing_zeros()
    }
}

impl Kernel for Scalar {
    fn find(self, marks: &[[u8; 8]], span: Span, wanted: u64, runs: &mut Vec<Run>) -> bool {
        super::find(self, marks, span, wanted, runs).is_some()
    }

    fn compare<F: Fingerprint>(
        self,
        base: &[u8],
        rows: &[u32],
        query: (F, u32),
        found: impl FnMut(usize, u32),
    ) {
        super::compare(base, rows, query, found);
    }

    fn scan<F: Fingerprint>(self, base: &[u8], query: (F, u32), found: impl FnMut(usize, u32)) {
        super::scan(base, query, found);
    }
}
