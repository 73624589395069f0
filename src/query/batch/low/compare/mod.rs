//! Compares queries with the low parts of keys, byte plane by byte plane.
//!
//! The planes are shared out among a few sums. Within a sum, the differences of its planes are laid
//! over each other by *or*, and the bits that are set are counted: they are no more than the bits
//! that differ, so no entry within the budget is lost. One sum takes the fewest instructions, one
//! per plane counts exactly. With 4 planes in one sum, random entries pass a budget of 3 with a
//! probability of 5e-5.
//!
//! Where it is known that a pair is handed on from elsewhere unless it differs in the last 16 bits,
//! entries that agree with a query in their first [`FIRST`](shape::FIRST) planes do not pass. Only comparisons of
//! more planes than these, in one sum, look at that.
//!
//! Each vector kernel stands beside the scalar one, its oracle.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;
mod shape;
mod task;

use crate::simd::{Level, by_level};

pub(in crate::query::batch) use shape::Shape;
pub(super) use shape::{FIRST, MAX_PLANES};
pub(super) use task::{CHUNK, Chunk, Near, Task};
use task::{Kernel, PIECE};

/// Appends to `near` each query, by its low bits, with each entry of `planes` that passes the
/// budget. Planes have chunks of equal number.
///
/// Stops, after some queries, once there are more than the task's limit.
pub(super) fn compare(
    level: Level,
    planes: &[&[Chunk]; MAX_PLANES],
    task: &Task<'_>,
    near: &mut Vec<Near>,
) {
    match (task.shape.planes, task.shape.sums, task.shape.differs) {
        (1, ..) => compare_by::<1, 1, false>(level, planes, task, near),
        (2, 1, _) => compare_by::<2, 1, false>(level, planes, task, near),
        (2, ..) => compare_by::<2, 2, false>(level, planes, task, near),
        (3, 1, false) => compare_by::<3, 1, false>(level, planes, task, near),
        (3, 1, true) => compare_by::<3, 1, true>(level, planes, task, near),
        (3, ..) => compare_by::<3, 3, false>(level, planes, task, near),
        (4, 1, false) => compare_by::<4, 1, false>(level, planes, task, near),
        (4, 1, true) => compare_by::<4, 1, true>(level, planes, task, near),
        (4, 2, _) => compare_by::<4, 2, false>(level, planes, task, near),
        _ => compare_by::<4, 4, false>(level, planes, task, near),
    }
}

fn compare_by<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    level: Level,
    planes: &[&[Chunk]; MAX_PLANES],
    task: &Task<'_>,
    near: &mut Vec<Near>,
) {
    let planes: [&[Chunk]; PLANES] = std::array::from_fn(|plane| planes[plane]);
    let pieces = planes[0].len().div_ceil(PIECE);
    let mut ahead = task.ahead.chunks(task.ahead.len() / pieces.max(1) + 1);
    for start in (0..planes[0].len()).step_by(PIECE) {
        let piece = planes.map(|plane| &plane[start..plane.len().min(start + PIECE)]);
        let task = Task { ahead: ahead.next().unwrap_or_default(), ..*task };
        let found = near.len();
        by_level!(level, kernel => {
            kernel.compare::<PLANES, SUMS, DIFFERS>(&piece, &task, near)
        });
        let before = (start * CHUNK) as u32;
        near[found..].iter_mut().for_each(|near| near.entry += before);
        if near.len() > task.limit {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::shape::SHAPES;
    use super::shape::tests::count;
    use super::*;

    proptest! {
        #[test]
        fn every_kernel_finds_what_the_definition_gives(
            seed in any::<u64>(), chunks in prop_oneof![9 => 0usize..5, 1 => 60usize..140], asked in 0usize..11, budget in 0u8..=33,
            planes in 1usize..=MAX_PLANES, spread in 0u32..=32,
        ) {
            // Low parts that differ in the bits of a mask.
            let mask = u32::MAX.checked_shr(32 - spread).unwrap_or(0);
            let mask = mask.rotate_left(seed as u32);
            let at = |i: usize| crate::set_sum::term(seed ^ (i as u64) << 7) as u32 & mask;
            let lows: Vec<u32> = (0..chunks * CHUNK).map(at).collect();
            let queries: Vec<u32> = (5000..5000 + asked).map(at).collect();
            let plane = |plane: usize| lows.iter().map(|low| low.to_le_bytes()[plane]).collect();
            let bytes: Vec<Vec<u8>> = (0..planes).map(plane).collect();
            let chunks = |plane: usize| -> &[Chunk] {
                bytes.get(plane).map_or(&[], |bytes| bytes.as_chunks().0)
            };
            let all = std::array::from_fn(chunks);
            let shapes = SHAPES.into_iter().filter(|shape| shape.0 == planes);
            for (sums, differs) in shapes.map(|shape| (shape.1, false)).chain([(1, planes > FIRST)]) {
                let mut expected = Vec::new();
                for (entry, &low) in (0..).zip(&lows) {
                    for (number, &query) in (0..).zip(&queries) {
                        let is_other = (low ^ query) % (1 << (8 * FIRST)) != 0;
                        if count(low ^ query, planes, sums) <= u32::from(budget) && (is_other || !differs) {
                            expected.push(Near { entry, query: number });
                        }
                    }
                }
                for level in Level::all() {
                    let mut near = Vec::new();
                    let (ahead, limit) = (&bytes[0][..], usize::MAX);
                    let shape = Shape { planes, sums, budget, differs };
                    let task = Task { queries: &queries, shape, ahead, limit };
                    super::compare(level, &all, &task, &mut near);
                    near.sort_unstable();
                    prop_assert_eq!(&near, &expected, "{:?}, {} sums, {}", level, sums, differs);
                }
            }
        }

        #[test]
        fn no_entry_within_the_budget_is_lost(
            low in any::<u32>(), flips in prop::collection::vec(0u32..32, 0..9),
            planes in 1usize..=MAX_PLANES,
        ) {
            let query = flips.iter().fold(low, |query, flip| query ^ 1 << flip);
            for sums in 1..=planes {
                prop_assert!(count(low ^ query, planes, sums) <= (low ^ query).count_ones());
            }
        }
    }
}
