//! Compares a query with the column of a block: byte planes of low bits (section 5.1 of the
//! specification).
//!
//! The number of differing bits is a sum of byte population counts over the planes, so that one
//! vector instruction serves as many keys as a register has bytes. Only as many planes are compared
//! as are needed to reject all but a few in a thousand random keys; what is left is compared with
//! the other planes key by key. Most of the time of a search goes into bringing cache lines from
//! memory, and at small budgets this spares half of them.
//!
//! Each kernel compiles the whole loop over the blocks of a table for its instructions, and stands
//! beside [`scalar`], its oracle. The fastest that the CPU has is chosen when a table is opened.

use super::join::Bytewise;
use super::lanes::{self, LANES, Lane, Place, Streams};
use crate::error::Corruption;
use crate::simd::Level;

mod scalar;
mod sieve;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
pub(super) use crate::simd::{Avx2, Avx512};
pub(super) use sieve::Sieve;

/// The number of planes that lets at most 1 in 300 random keys through at this budget, or all of
/// them.
#[inline]
fn first_planes(budget: u32) -> usize {
    match budget {
        0..=2 => 2,
        3..=5 => 3,
        _ => MAX_PLANES,
    }
}

/// How the blocks of a table are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Some of them.
    Parts,
    /// All of them, in order. The CPU brings what lies ahead by itself, as long as little of it is
    /// skipped, and loses track where two planes are read and two are not.
    ///
    /// Milliseconds of a scan of 2^24 uniform fingerprints with L = 32, least of 8, by bytes of a
    /// block, k = 1 and k = 3; brute force at one POPCNT per fingerprint takes 10.7:
    ///
    /// | | 256 | 512 | 1024 | 2048 | 4096 |
    /// | --- | --- | --- | --- | --- | --- |
    /// | as for some blocks | 6.9, 6.6 | 6.6, 4.9 | 6.9, 4.8 | 4.8, 7.6 | 5.0, 6.9 |
    /// | three planes or more | 6.6, 6.9 | 5.0, 5.1 | 5.2, 4.8 | 6.7, 7.2 | 5.6, 6.1 |
    /// | and not asked for ahead | 5.1, 5.4 | 3.5, 3.8 | 3.0, 3.5 | 9.0, 9.8 | 6.8, 6.8 |
    /// | four planes, not asked for ahead | 7.1, 7.1 | 4.4, 4.5 | 3.7, 3.7 | 4.8, 4.8 | 7.5, 7.6 |
    Whole,
}

impl Reading {
    /// The number of planes that are compared first with a budget, if the column has as many, in
    /// blocks of this size.
    #[inline]
    pub(crate) fn first_planes(self, budget: u32, block_bytes: u32) -> usize {
        match (self, block_bytes) {
            (Self::Parts, _) => first_planes(budget),
            (Self::Whole, 2048) => MAX_PLANES,
            (Self::Whole, _) => first_planes(budget).max(3),
        }
    }

    /// Whether to ask for blocks of this size ahead.
    pub(crate) fn asks_ahead(self, block_bytes: u32) -> bool {
        self == Self::Parts || block_bytes > 2048
    }
}

/// Planes of the widest column.
const MAX_PLANES: usize = 4;

/// How columns are compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Kernel {
    /// The fastest kernel that the CPU has.
    pub(super) fn best() -> Self {
        Self::of(Level::best())
    }

    /// Every kernel that the CPU has, the fastest last.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        Level::all().map(Self::of).collect()
    }

    fn of(level: Level) -> Self {
        match level {
            Level::Scalar(_) => Self::Scalar,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(kernel) => Self::Avx2(kernel),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(kernel) => Self::Avx512(kernel),
        }
    }

    /// Runs a sieve; see [`Sieve::run`].
    #[inline]
    pub(super) fn sift(
        self,
        sieve: &Sieve<'_>,
        ahead: impl FnMut(),
        survived: impl FnMut(usize, u32),
    ) -> Result<(), Corruption> {
        match self {
            Self::Scalar => sieve.run(scalar::Scalar, ahead, survived),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernel) => kernel.sift(sieve, ahead, survived),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernel) => kernel.sift(sieve, ahead, survived),
        }
    }

    /// Whether the kernel can decode by runs.
    pub(super) fn has_runs(self) -> bool {
        !matches!(self, Self::Scalar)
    }

    /// Whether the kernel can decode by narrow runs.
    pub(super) fn has_narrow_runs(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self, Self::Avx512(_));
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// Moves on in a stream; see [`lanes::skip`].
    pub(super) fn skip(self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
        match self {
            Self::Scalar => lanes::skip(streams, place, keys),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernel) => kernel.skip(streams, place, keys),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernel) => kernel.skip(streams, place, keys),
        }
    }

    /// Decodes some blocks at once; see [`lanes::decode`].
    pub(super) fn decode(self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        match self {
            Self::Scalar => lanes::decode(streams, Bytewise, lanes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernel) => kernel.decode(streams, lanes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernel) => kernel.decode(streams, lanes),
        }
    }

    /// Decodes one block; see [`lanes::decode_one`].
    pub(super) fn decode_one(self, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
        match self {
            Self::Scalar => lanes::decode_one(streams, Bytewise, lane),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernel) => kernel.decode_one(streams, lane),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernel) => kernel.avx2().decode_one(streams, lane),
        }
    }
}

/// Compares a query with all entries of a column.
trait Compare: Copy {
    /// A query, as this kernel likes it.
    type Query;

    /// Prepares the query for the comparisons with all blocks.
    fn prepare(self, query: u64) -> Self::Query;

    /// Calls `near` with the number, from 0 on, of each entry that differs from the low bits of
    /// the query in at most `budget` bits.
    fn compare<const PLANES: usize>(
        self,
        column: Column<'_, PLANES>,
        query: &Self::Query,
        budget: u8,
        near: impl FnMut(usize),
    );
}

/// The first planes of a column, each of `count` bytes.
#[derive(Clone, Copy)]
struct Column<'a, const PLANES: usize> {
    planes: [&'a [u8]; PLANES],
    count: usize,
}

impl<'a, const PLANES: usize> Column<'a, PLANES> {
    /// `bytes` holds the planes one after the other.
    #[inline(always)]
    fn new(bytes: &'a [u8], count: usize) -> Self {
        Self { planes: std::array::from_fn(|plane| &bytes[plane * count..][..count]), count }
    }
}

/// For each plane the byte of `query` that belongs to it.
#[inline(always)]
fn bytes_of(query: u64) -> [u8; MAX_PLANES] {
    std::array::from_fn(|plane| (query >> (8 * plane)) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: an entry survives if its planes differ from the query in few enough bits.
    fn expected(planes: &[Vec<u8>], query: u64, budget: u32) -> Vec<usize> {
        let distance = |i: usize| -> u32 {
            let bytes = planes.iter().enumerate();
            bytes.map(|(plane, bytes)| (bytes[i] ^ (query >> (8 * plane)) as u8).count_ones()).sum()
        };
        (0..planes[0].len()).filter(|&i| distance(i) <= budget).collect()
    }

    fn near<const PLANES: usize>(
        kernel: Kernel,
        column: &[u8],
        count: usize,
        query: u64,
        budget: u32,
    ) -> Vec<usize> {
        let (column, budget) = (Column::<PLANES>::new(column, count), budget as u8);
        match kernel {
            Kernel::Scalar => near_by(scalar::Scalar, column, query, budget),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(kernel) => near_by(kernel, column, query, budget),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(kernel) => near_by(kernel, column, query, budget),
        }
    }

    fn near_by<const PLANES: usize>(
        kernel: impl Compare,
        column: Column<'_, PLANES>,
        query: u64,
        budget: u8,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        kernel.compare(column, &kernel.prepare(query), budget, |i| found.push(i));
        found
    }

    /// Compares with the definition on every number of first planes.
    fn check(planes: &[Vec<u8>], offset: usize, query: u64, budget: u32) {
        let count = planes[0].len();
        // Every alignment: the column starts anywhere in its buffer, and other bytes follow it.
        let mut buffer = vec![0xA5; offset];
        planes.iter().for_each(|plane| buffer.extend(plane));
        let end = buffer.len();
        buffer.extend([query as u8; 70]);
        let column = &buffer[offset..end];
        for first in 1..=planes.len() {
            let expected = expected(&planes[..first], query, budget);
            for kernel in Kernel::all() {
                let found = match first {
                    1 => near::<1>(kernel, column, count, query, budget),
                    2 => near::<2>(kernel, column, count, query, budget),
                    3 => near::<3>(kernel, column, count, query, budget),
                    _ => near::<4>(kernel, column, count, query, budget),
                };
                assert_eq!(found, expected, "{kernel:?}, {count} entries, {first} planes");
            }
        }
    }

    #[test]
    fn every_tail_and_alignment_gives_what_the_definition_gives() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as u8
        };
        for planes in 1..=4 {
            for count in (0..=200).chain([255, 256, 257, 1000]) {
                let bytes: Vec<Vec<u8>> =
                    (0..planes).map(|_| (0..count).map(|_| random()).collect()).collect();
                let query = u64::from_le_bytes([0; 8].map(|_| random()));
                for budget in [0, 3, 8, 12, 64] {
                    check(&bytes, count % 67, query, budget);
                }
            }
        }
    }

    proptest! {
        /// Entries near the query, which random ones hardly ever are.
        #[test]
        fn near_entries_are_found(
            entries in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>()), 1..300),
            planes in 1usize..=4, offset in 0usize..80, query in any::<u64>(), budget in 0u32..12,
        ) {
            let near: Vec<u32> = entries.iter().map(|(a, b, c)| query as u32 ^ (a & b & c)).collect();
            let plane = |plane: usize| near.iter().map(|low| (low >> (8 * plane)) as u8).collect();
            let planes: Vec<Vec<u8>> = (0..planes).map(plane).collect();
            check(&planes, offset, query, budget);
        }
    }
}
