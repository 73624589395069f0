//! Compares entry by entry: all of them without vector instructions, and what is left of them behind
//! whole registers.

use super::compare::{MAX_PLANES, Planes};

/// Keys that are compared at a time.
const LANES: usize = 64;

/// As [`Compare::compare`], for the entries from `first` on.
#[inline(always)]
pub(super) fn compare_from<const PLANES: usize>(
    planes: Planes<'_, PLANES>,
    first: usize,
    query: &[u8; MAX_PLANES],
    budget: u8,
    mut near: impl FnMut(usize),
) {
    let Planes { planes, count } = planes;
    let mut distances = [0u8; LANES];
    for start in (first..count).step_by(LANES) {
        let lanes = LANES.min(count - start);
        distances.fill(0);
        for (plane, byte) in planes.iter().zip(query) {
            for (distance, entry) in distances.iter_mut().zip(&plane[start..][..lanes]) {
                *distance += (entry ^ byte).count_ones() as u8;
            }
        }
        for (lane, &distance) in distances[..lanes].iter().enumerate() {
            if distance <= budget {
                near(start + lane);
            }
        }
    }
}
