//! Compares a query with the column of a block: byte planes of low bits (section 5.1 of the
//! specification).
//!
//! The number of differing bits is a sum of byte population counts over the planes, so that one
//! vector instruction serves as many keys as a register has bytes. A group of keys is given up as
//! soon as every key has passed the budget: at small budgets the third plane decides, and the
//! fourth is not even read.
//!
//! Each kernel stands beside [`scalar`], its oracle. The fastest that the CPU has is chosen when a
//! table is opened.

use super::lanes::{LANES, Lane, Streams};

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Planes that are always read. A budget that lets a random key through two of them lets most
/// groups through, and the test after each plane costs more than it saves.
const FIRST_PLANES: usize = 3;

/// How columns are compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Kernel {
    /// The fastest kernel that the CPU has.
    pub(super) fn best() -> Self {
        Self::all().pop().unwrap_or(Self::Scalar)
    }

    /// Every kernel that the CPU has, the fastest last.
    pub(super) fn all() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut kernels = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(x86::Avx2::new().map(Self::Avx2));
            kernels.extend(x86::Avx512::new().map(Self::Avx512));
        }
        kernels
    }

    /// Appends i + 1 for each i of the `count` entries of `column` that differs from the low bits
    /// of `query` in at most `budget` bits. The column has `count` bytes for each of its planes, at
    /// most 4.
    #[inline]
    pub(super) fn scan(
        self,
        column: &[u8],
        count: u32,
        query: u64,
        budget: u32,
        survivors: &mut Vec<u32>,
    ) {
        let planes = column.len().checked_div(count as usize).unwrap_or(0);
        if planes == 0 {
            survivors.extend(1..=count);
            return;
        }
        let budget = budget.min(64) as u8;
        let column = Column { bytes: column, count: count as usize, planes };
        match self {
            Self::Scalar => scalar::scan(column, query, budget, survivors),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernel) => kernel.scan(column, query, budget, survivors),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernel) => kernel.scan(column, query, budget, survivors),
        }
    }
}

impl Kernel {
    /// Decodes some blocks at once; see [`Streams::decode`].
    pub(super) fn decode(self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        match self {
            Self::Scalar => streams.decode(lanes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernel) => kernel.decode(streams, lanes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernel) => kernel.avx2().decode(streams, lanes),
        }
    }
}

/// A column: `planes` planes of `count` bytes each.
#[derive(Clone, Copy)]
struct Column<'a> {
    bytes: &'a [u8],
    count: usize,
    planes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: an entry survives if its planes differ from the query in few enough bits.
    fn expected(planes: &[Vec<u8>], query: u64, budget: u32) -> Vec<u32> {
        let distance = |i: usize| -> u32 {
            let bytes = planes.iter().enumerate();
            bytes.map(|(plane, bytes)| (bytes[i] ^ (query >> (8 * plane)) as u8).count_ones()).sum()
        };
        (0..planes[0].len()).filter(|&i| distance(i) <= budget).map(|i| i as u32 + 1).collect()
    }

    fn check(planes: &[Vec<u8>], offset: usize, query: u64, budget: u32) {
        let count = planes[0].len();
        // Every alignment: the column starts anywhere in its buffer, and other bytes follow it.
        let mut buffer = vec![0xA5; offset];
        planes.iter().for_each(|plane| buffer.extend(plane));
        let end = buffer.len();
        buffer.extend([query as u8; 70]);
        for kernel in Kernel::all() {
            let mut survivors = vec![7];
            kernel.scan(&buffer[offset..end], count as u32, query, budget, &mut survivors);
            assert_eq!(survivors.remove(0), 7, "earlier entries stay");
            assert_eq!(survivors, expected(planes, query, budget), "{kernel:?}, {count} entries");
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

    #[test]
    fn without_planes_every_entry_survives() {
        let mut survivors = Vec::new();
        Kernel::best().scan(&[], 3, 0, 0, &mut survivors);
        assert_eq!(survivors, [1, 2, 3]);
    }
}
