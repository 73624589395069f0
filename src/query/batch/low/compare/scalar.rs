//! The comparison without vector instructions of its own: the oracle of the others.

use super::shape::FIRST;
use super::task::{CHUNK, Chunk, Kernel, Near, PIECE, Task};
use crate::simd::Scalar;

impl Kernel for Scalar {
    fn compare<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
        self,
        planes: &[&[Chunk]; PLANES],
        task: &Task<'_>,
        near: &mut Vec<Near>,
    ) {
        let chunks = planes.iter().fold(PIECE, |count, plane| count.min(plane.len()));
        for (first, rows) in task.rows() {
            for (query, row) in (first as u32..).zip(rows) {
                for number in 0..chunks {
                    let counts = counts::<PLANES, SUMS, DIFFERS>(planes, number, *row);
                    if counts.iter().fold(u8::MAX, |least, &count| least.min(count))
                        > task.shape.budget
                    {
                        continue;
                    }
                    let passed =
                        counts.iter().enumerate().filter(|&(_, &count)| count <= task.shape.budget);
                    for (at, _) in passed {
                        near.push(Near { entry: (number * CHUNK + at) as u32, query });
                    }
                }
            }
            if near.len() > task.limit {
                break;
            }
        }
    }
}

/// For each entry of a chunk, the number of bits that are set in the sums, or 255 if it agrees where it
/// has to differ. Of these loops a compiler makes what vector instructions there are.
fn counts<const PLANES: usize, const SUMS: usize, const DIFFERS: bool>(
    planes: &[&[Chunk]; PLANES],
    number: usize,
    row: u32,
) -> Chunk {
    let bytes = row.to_le_bytes();
    let mut counts = [0; CHUNK];
    for sum in 0..SUMS {
        let mut laid_over = [0; CHUNK];
        for plane in (sum..PLANES).step_by(SUMS) {
            for (all, bits) in laid_over.iter_mut().zip(&planes[plane][number]) {
                *all |= bits ^ bytes[plane];
            }
            if DIFFERS && plane + 1 == FIRST {
                for (count, all) in counts.iter_mut().zip(laid_over) {
                    *count = if all == 0 { u8::MAX } else { 0 };
                }
            }
        }
        for (count, all) in counts.iter_mut().zip(laid_over) {
            *count = count.saturating_add(all.count_ones() as u8);
        }
    }
    counts
}
