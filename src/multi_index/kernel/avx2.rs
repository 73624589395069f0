//! The loops with the bit instructions of CPUs that have AVX2.

#![allow(unsafe_code)]

use std::arch::x86_64::{_pdep_u64, _pext_u64};

use super::{Filled, Gather, Kernel, Pieces, Probe, Run, Select};
use crate::fingerprint::{Fingerprint, words};
use crate::multi_index::mask::KeyMask;
use crate::simd::Avx2;

impl Select for Avx2 {
    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        // SAFETY: a value of `Avx2` exists only where the CPU has BMI2.
        unsafe { _pdep_u64(1 << rank, word) }.trailing_zeros()
    }
}

impl Gather for Avx2 {
    #[inline(always)]
    fn gather<F: Fingerprint>(self, mask: &KeyMask<F>, fingerprint: F) -> u64 {
        words(fingerprint).zip(words(mask.mask)).fold(0, |key, (word, mask)| {
            // SAFETY: a value of `Avx2` exists only where the CPU has BMI2.
            key << mask.count_ones() | unsafe { _pext_u64(word, mask) }
        })
    }
}

impl Kernel for Avx2 {
    #[inline]
    fn find(
        self,
        part: Pieces<'_>,
        probes: &[Probe],
        ahead: Option<(Pieces<'_>, &[Probe])>,
        runs: &mut Filled<Run>,
    ) -> Result<usize, usize> {
        // SAFETY: a value of `Avx2` exists only where the CPU has BMI1, BMI2, LZCNT and POPCNT.
        unsafe { find(self, part, probes, ahead, runs) }
    }

    #[inline]
    fn rows<F: Fingerprint>(
        self,
        part: Pieces<'_>,
        runs: &[Run],
        base: &[u8],
        out: &mut Filled<u32>,
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has BMI1, BMI2, LZCNT and POPCNT.
        unsafe { rows::<F>(part, runs, base, out) }
    }

    #[inline]
    fn compare<F: Fingerprint>(
        self,
        base: &[u8],
        rows: &[u32],
        query: (F, u32),
        found: impl FnMut(usize, u32),
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2 and POPCNT.
        unsafe { compare(base, rows, query, found) }
    }

    #[inline]
    fn scan<F: Fingerprint>(self, base: &[u8], query: (F, u32), found: impl FnMut(usize, u32)) {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2 and POPCNT.
        unsafe { scan(base, query, found) }
    }

    #[inline]
    fn keys<F: Fingerprint>(
        self,
        mask: &KeyMask<F>,
        fingerprints: &[F],
        found: impl FnMut(usize, u64),
    ) {
        // SAFETY: a value of `Avx2` exists only where the CPU has BMI1, BMI2, LZCNT and POPCNT.
        unsafe { keys(self, mask, fingerprints, found) }
    }
}

#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn keys<F: Fingerprint>(
    bits: Avx2,
    mask: &KeyMask<F>,
    fingerprints: &[F],
    found: impl FnMut(usize, u64),
) {
    super::keys(bits, mask, fingerprints, found);
}

#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn find(
    ones: Avx2,
    part: Pieces<'_>,
    probes: &[Probe],
    ahead: Option<(Pieces<'_>, &[Probe])>,
    runs: &mut Filled<Run>,
) -> Result<usize, usize> {
    super::find(ones, part, probes, ahead, runs)
}

#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn rows<F: Fingerprint>(part: Pieces<'_>, runs: &[Run], base: &[u8], out: &mut Filled<u32>) {
    super::rows::<F>(part, runs, base, out);
}

#[target_feature(enable = "avx2,popcnt")]
fn compare<F: Fingerprint>(
    base: &[u8],
    rows: &[u32],
    query: (F, u32),
    found: impl FnMut(usize, u32),
) {
    super::compare(base, rows, query, found);
}

#[target_feature(enable = "avx2,popcnt")]
fn scan<F: Fingerprint>(base: &[u8], query: (F, u32), found: impl FnMut(usize, u32)) {
    super::scan(base, query, found);
}
