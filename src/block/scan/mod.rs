//! Compares a query with the column of a block: byte planes of low bits (section 6.4 of the
//! specification).
//!
//! The number of differing bits is a sum of byte population counts over the planes, so that one
//! vector instruction serves as many keys as a register has bytes. Only as many planes are compared
//! as are needed to reject all but a few in a thousand random keys, at most four; what is left is
//! compared with the other planes key by key. Most of the time of a search goes into bringing cache
//! lines from memory, and at small budgets this spares half of them.
//!
//! Each kernel compiles the whole loop over the blocks of a table for its instructions
//! ([`mod@sift`]), and stands beside [`scalar`], its oracle.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod compare;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod share;
mod sift;

pub(crate) use compare::{KeyRow, runs_within, within};
pub(crate) use share::{decodes_from, share_within};
pub(crate) use sift::{Reading, Sieve, sift};

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::super::view::OVERHANG;
    use super::compare::{Compare, KeyRow, MAX_PLANES, Planes};
    use super::runs_within;
    use crate::simd::{Level, by_level};

    /// The definition: an entry survives if its planes differ from the query in few enough bits.
    fn expected(planes: &[Vec<u8>], query: u64, budget: u32) -> Vec<usize> {
        let distance = |i: usize| -> u32 {
            let bytes = planes.iter().enumerate();
            bytes.map(|(plane, bytes)| (bytes[i] ^ (query >> (8 * plane)) as u8).count_ones()).sum()
        };
        (0..planes[0].len()).filter(|&i| distance(i) <= budget).collect()
    }

    fn near_by_level<const PLANES: usize>(
        level: Level,
        column: &[u8],
        count: usize,
        query: u64,
        budget: u32,
    ) -> Vec<usize> {
        let all = (column.len() - OVERHANG).checked_div(count).unwrap_or(PLANES);
        let (planes, budget) = (Planes::<PLANES>::new(column, (count, all)), budget as u8);
        by_level!(level, kernel => near_by(kernel, planes, query, budget))
    }

    fn near_by<const PLANES: usize>(
        kernel: impl Compare,
        planes: Planes<'_, PLANES>,
        query: u64,
        budget: u8,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        kernel.compare(planes, &kernel.prepare(query), budget, |i| found.push(i));
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
        let column = &buffer[offset..end + OVERHANG];
        let near = expected(planes, query, budget);
        for first in 1..=planes.len() {
            let expected = expected(&planes[..first], query, budget);
            for level in Level::all() {
                let found = match first {
                    1 => near_by_level::<1>(level, column, count, query, budget),
                    2 => near_by_level::<2>(level, column, count, query, budget),
                    3 => near_by_level::<3>(level, column, count, query, budget),
                    4 => near_by_level::<4>(level, column, count, query, budget),
                    5 => near_by_level::<5>(level, column, count, query, budget),
                    _ => near_by_level::<MAX_PLANES>(level, column, count, query, budget),
                };
                let place = format!("{level:?}, {count} entries, {first} planes");
                // Where many in a vector are near by the first planes, those may be left out that
                // all planes reject.
                let lanes = match level {
                    Level::Scalar(_) => 1,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2(_) => 32,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512(_) => 64,
                    #[cfg(target_arch = "aarch64")]
                    Level::Neon(_) => 16,
                };
                let is_many = |i: &usize| {
                    expected.iter().filter(|other| *other / lanes == i / lanes).count() >= 5
                };
                let is_found = |i: &&usize| near.contains(i) || !is_many(i);
                assert!(found.iter().all(|i| expected.contains(i)), "{place}");
                let missed = expected.iter().filter(is_found).find(|i| !found.contains(i));
                assert_eq!(missed, None, "{place}");
                assert!(found.is_sorted_by(|a, b| a < b), "{place}");
            }
        }
    }

    #[test]
    fn keys_of_runs_are_near_as_they_are_counted() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed ^ seed >> 29
        };
        for count in 0..100usize {
            let query = random();
            let keys: Vec<u64> =
                (0..count).map(|_| query ^ (random() & random() & random() & random())).collect();
            // Some before all keys, and all from one on, in lines of 8 and in four of these.
            let starts = [0, 1, 7, 8, 9, 31, 32, 33, 70].map(|start| count.min(start));
            let ends = [count, count.saturating_sub(1), count / 2];
            let runs = ends.iter().flat_map(|&end| starts.map(|start| start.min(end)..end));
            let runs: Vec<_> = runs.zip(0..).collect();
            for k in [0, 3, 4, 64] {
                // Every other run has a query of its own.
                let query = |table: usize| query ^ (table as u64 & 1);
                let near = |&(table, number): &(usize, usize)| {
                    (keys[number] ^ query(table)).count_ones() <= k
                };
                let of_run = |(numbers, table): &(Range<usize>, usize)| {
                    let (numbers, table) = (numbers.clone(), *table);
                    numbers.clone().chain(numbers).map(move |number| (table, number))
                };
                let expected: Vec<_> = runs.iter().flat_map(of_run).filter(near).collect();
                for level in Level::all() {
                    let mut found = Vec::new();
                    let rows = runs.iter().map(|(numbers, table)| {
                        let row = KeyRow { keys: &keys, query: query(*table), table: *table };
                        (row, [numbers.clone(), count..count, numbers.clone()].into_iter())
                    });
                    runs_within(level, rows, k, |row, number| found.push((row.table, number)));
                    assert_eq!(found, expected, "{level:?}, {count}");
                }
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
        for planes in 1..=MAX_PLANES {
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
            entries in prop::collection::vec(any::<[u64; 4]>(), 1..300),
            planes in 1..=MAX_PLANES, offset in 0usize..80, query in any::<u64>(), budget in 0u32..12,
        ) {
            let near: Vec<u64> = entries.iter().map(|[a, b, c, d]| query ^ (a & b & c & d)).collect();
            let plane = |plane: usize| near.iter().map(|low| (low >> (8 * plane)) as u8).collect();
            let planes: Vec<Vec<u8>> = (0..planes).map(plane).collect();
            check(&planes, offset, query, budget);
        }

    }
}
