//! The loops without any instructions that not every CPU has: the oracle of the others.

use super::{Filled, Gather, Kernel, Pieces, Probe, Run, Select};
use crate::fingerprint::Fingerprint;
use crate::multi_index::mask::KeyMask;
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

impl Gather for Scalar {
    #[inline(always)]
    fn gather<F: Fingerprint>(self, mask: &KeyMask<F>, fingerprint: F) -> u64 {
        let bytes = fingerprint.to_be_bytes();
        let bytes = bytes.as_ref();
        mask.bytes.iter().fold(0, |key, byte| {
            key << byte.bits | u64::from(byte.values[usize::from(bytes[byte.number])])
        })
    }
}

impl Kernel for Scalar {
    fn find(
        self,
        part: Pieces<'_>,
        probes: &[Probe],
        ahead: Option<(Pieces<'_>, &[Probe])>,
        runs: &mut Filled<Run>,
    ) -> Result<usize, usize> {
        super::find(self, part, probes, ahead, runs)
    }

    fn rows<F: Fingerprint>(
        self,
        part: Pieces<'_>,
        runs: &[Run],
        base: &[u8],
        rows: &mut Filled<u32>,
    ) {
        super::rows::<F>(part, runs, base, rows);
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

    fn keys<F: Fingerprint>(
        self,
        mask: &KeyMask<F>,
        fingerprints: &[F],
        found: impl FnMut(usize, u64),
    ) {
        super::keys(self, mask, fingerprints, found);
    }
}
