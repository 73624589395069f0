//! The scan without vector instructions: the oracle of the others.

use super::Column;

/// Keys that are compared at a time.
const LANES: usize = 64;

/// Appends the numbers, from 1 on, of all entries that differ from `query` in at most `budget`
/// bits.
pub(super) fn scan(column: Column<'_>, query: u64, budget: u8, survivors: &mut Vec<u32>) {
    scan_from(column, 0, query, budget, survivors);
}

/// As [`scan`], for the entries from `first` on.
pub(super) fn scan_from(
    column: Column<'_>,
    first: usize,
    query: u64,
    budget: u8,
    survivors: &mut Vec<u32>,
) {
    let Column { bytes, count, planes } = column;
    let mut distances = [0u8; LANES];
    for start in (first..count).step_by(LANES) {
        let lanes = LANES.min(count - start);
        distances.fill(0);
        for plane in 0..planes {
            let byte = (query >> (8 * plane)) as u8;
            let entries = &bytes[plane * count + start..][..lanes];
            for (distance, entry) in distances.iter_mut().zip(entries) {
                *distance += (entry ^ byte).count_ones() as u8;
            }
        }
        for (lane, &distance) in distances[..lanes].iter().enumerate() {
            if distance <= budget {
                survivors.push((start + lane + 1) as u32);
            }
        }
    }
}
