//! The loops with NEON, which counts the bits of each byte of a vector in one instruction; all else
//! is a matter of single words, and done as without.

#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::{Filled, Kernel, Pieces, Probe, Run, Select};
use crate::fingerprint::Fingerprint;
use crate::multi_index::mask::KeyMask;
use crate::simd::Scalar;
use crate::simd::neon::{LOW_BITS, Neon};

impl Select for Neon {
    /// By the sums of the bits of all bytes up to each: as many bytes come before the one that is
    /// looked for as have a sum of at most `rank`.
    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        // SAFETY: a value of `Neon` exists only where the CPU has NEON.
        let counts = unsafe { counts(word) };
        let sums = counts.wrapping_mul(LOW_BITS);
        let high = LOW_BITS << 7;
        let before = (u64::from(rank) * LOW_BITS | high).wrapping_sub(sums) & high;
        let place = 8 * before.count_ones() % 64;
        let rank = rank.wrapping_sub((sums << 8 >> place) as u32 & 0xFF);
        let mut byte = word >> place & 0xFF;
        for _ in 0..rank.min(7) {
            byte &= byte.wrapping_sub(1);
        }
        place + byte.trailing_zeros()
    }
}

/// The number of bits that are set in each byte.
#[inline]
#[target_feature(enable = "neon")]
fn counts(word: u64) -> u64 {
    vget_lane_u64::<0>(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(word))))
}

impl Kernel for Neon {
    #[inline]
    fn find(
        self,
        part: Pieces<'_>,
        probes: &[Probe],
        ahead: Option<(Pieces<'_>, &[Probe])>,
        runs: &mut Filled<Run>,
    ) -> Result<usize, usize> {
        super::find(self, part, probes, ahead, runs)
    }

    #[inline]
    fn rows<F: Fingerprint>(
        self,
        part: Pieces<'_>,
        runs: &[Run],
        base: &[u8],
        rows: &mut Filled<u32>,
    ) {
        super::rows::<F>(part, runs, base, rows);
    }

    #[inline]
    fn compare<F: Fingerprint>(
        self,
        base: &[u8],
        rows: &[u32],
        query: (F, u32),
        found: impl FnMut(usize, u32),
    ) {
        super::compare(base, rows, query, found);
    }

    #[inline]
    fn scan<F: Fingerprint>(self, base: &[u8], query: (F, u32), found: impl FnMut(usize, u32)) {
        super::scan(base, query, found);
    }

    #[inline]
    fn keys<F: Fingerprint>(
        self,
        mask: &KeyMask<F>,
        fingerprints: &[F],
        found: impl FnMut(usize, u64),
    ) {
        super::keys(Scalar, mask, fingerprints, found);
    }
}
