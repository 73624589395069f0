//! Compares a query with the column of a block: byte planes of low bits (section 5.1 of the
//! specification).

/// Keys that are compared at a time.
const LANES: usize = 64;

/// Appends i + 1 for each i of the `count` entries of `column` that differs from the low bits of
/// `query` in at most `budget` bits. The column has the length of a whole number of planes.
#[inline]
pub(super) fn scan(column: &[u8], count: u32, query: u64, budget: u32, survivors: &mut Vec<u32>) {
    let count = count as usize;
    let planes = column.len().checked_div(count).unwrap_or(0);
    if planes == 0 {
        survivors.extend(1..=count as u32);
        return;
    }
    let budget = budget.min(64) as u8;
    let mut distances = [0u8; LANES];
    for start in (0..count).step_by(LANES) {
        let lanes = LANES.min(count - start);
        distances.fill(0);
        for plane in 0..planes {
            let byte = (query >> (8 * plane)) as u8;
            let entries = &column[plane * count + start..][..lanes];
            for (distance, entry) in distances.iter_mut().zip(entries) {
                *distance += (entry ^ byte).count_ones() as u8;
            }
        }
        let near = distances[..lanes].iter().filter(|&&distance| distance <= budget).count();
        if near > 0 {
            for (lane, _) in distances[..lanes].iter().enumerate().filter(|(_, d)| **d <= budget) {
                survivors.push((start + lane + 1) as u32);
            }
        }
    }
}
