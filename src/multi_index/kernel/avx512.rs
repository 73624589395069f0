//! Rows are compared with AVX-512, which counts the bits of a vector in one instruction; all else
//! is a matter of single words, and done as with AVX2.

#![allow(unsafe_code)]

use super::{Filled, Kernel, Pieces, Probe, Run};
use crate::fingerprint::Fingerprint;
use crate::multi_index::mask::KeyMask;
use crate::simd::Avx512;

impl Kernel for Avx512 {
    #[inline]
    fn find(
        self,
        part: Pieces<'_>,
        probes: &[Probe],
        ahead: Option<(Pieces<'_>, &[Probe])>,
        runs: &mut Filled<Run>,
    ) -> Result<usize, usize> {
        self.avx2().find(part, probes, ahead, runs)
    }

    #[inline]
    fn rows<F: Fingerprint>(
        self,
        part: Pieces<'_>,
        runs: &[Run],
        base: &[u8],
        rows: &mut Filled<u32>,
    ) {
        self.avx2().rows::<F>(part, runs, base, rows);
    }

    #[inline]
    fn compare<F: Fingerprint>(
        self,
        base: &[u8],
        rows: &[u32],
        query: (F, u32),
        found: impl FnMut(usize, u32),
    ) {
        // SAFETY: as in `scan`.
        unsafe { compare(base, rows, query, found) }
    }

    #[inline]
    fn scan<F: Fingerprint>(self, base: &[u8], query: (F, u32), found: impl FnMut(usize, u32)) {
        // SAFETY: a value of `Avx512` exists only where the CPU has AVX-512 F, BW, VL and
        // VPOPCNTDQ.
        unsafe { scan(base, query, found) }
    }

    #[inline]
    fn keys<F: Fingerprint>(
        self,
        mask: &KeyMask<F>,
        fingerprints: &[F],
        found: impl FnMut(usize, u64),
    ) {
        self.avx2().keys(mask, fingerprints, found);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")]
fn compare<F: Fingerprint>(
    base: &[u8],
    rows: &[u32],
    query: (F, u32),
    found: impl FnMut(usize, u32),
) {
    super::compare(base, rows, query, found);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")]
fn scan<F: Fingerprint>(base: &[u8], query: (F, u32), found: impl FnMut(usize, u32)) {
    super::scan(base, query, found);
}
