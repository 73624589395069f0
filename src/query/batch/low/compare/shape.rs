//! How the planes are shared out among sums: what that takes, and what passes by chance.

use crate::costs::BatchCosts;
use crate::simd::Level;

/// Planes that are compared at most.
pub(in crate::query::batch::low) const MAX_PLANES: usize = 4;
/// Planes in which pairs may have to differ.
pub(in crate::query::batch::low) const FIRST: usize = 2;
/// The planes and sums for which there are kernels. Two sums of 4 planes win 4% of a batch at k = 4, where
/// they are chosen; 3 never are, and 2 of 3 planes win nothing over 3.
pub(super) const SHAPES: [(usize, usize); 8] =
    [(1, 1), (2, 1), (2, 2), (3, 1), (3, 3), (4, 1), (4, 2), (4, 4)];
/// The probability with which random entries may pass the comparison: then it takes more time to
/// compare them better than to look at those that pass.
const MAX_PASSED: f64 = 3e-4;

/// How entries are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query::batch) struct Shape {
    /// Planes that are compared, from the least significant on.
    pub(super) planes: usize,
    /// The sums that they are shared out among.
    pub(super) sums: usize,
    /// The most bits that may be set in the sums.
    pub(super) budget: u8,
    /// Whether entries that agree in the [`FIRST`] planes do not pass.
    pub(super) differs: bool,
}

impl Shape {
    /// With as few instructions as let hardly any random entry pass, of up to so many planes. Pairs
    /// that count differ in no more than `most(n)` bits of the first n planes, and if `differs` in
    /// some bit of the first [`FIRST`].
    pub(in crate::query::batch::low) fn new(
        planes: usize,
        most: impl Fn(usize) -> u32,
        differs: bool,
    ) -> Self {
        let with = |planes, sums| {
            let budget = most(planes).min(u32::from(u8::MAX)) as u8;
            Self { planes, sums, budget, differs: differs && planes > FIRST && sums == 1 }
        };
        let all = SHAPES.into_iter().filter(|shape| shape.0 <= planes);
        let mut all: Vec<Self> = all.map(|(planes, sums)| with(planes, sums)).collect();
        all.sort_by_key(|shape| shape.instructions());
        let mut enough = all.into_iter().filter(|shape| shape.passed() < MAX_PASSED);
        enough.next().unwrap_or(with(planes, planes))
    }

    /// Nanoseconds per pair that is compared.
    pub(in crate::query::batch::low) fn pair_ns(self, level: Level, costs: &BatchCosts) -> f64 {
        costs.low_ns(level) * self.instructions() as f64 + costs.passed_ns * self.passed()
    }

    /// Instructions for a comparison: those of a plane, and those of a sum.
    pub(in crate::query::batch::low) fn instructions(self) -> usize {
        self.planes + 2 * self.sums
    }

    /// The probability that a random entry passes.
    pub(super) fn passed(self) -> f64 {
        passed(self.planes, self.sums, self.budget.into())
    }
}

/// The probability that a random entry passes.
fn passed(planes: usize, sums: usize, budget: u32) -> f64 {
    // The distribution of the number of bits that are set.
    let mut set = [0.0; 8 * MAX_PLANES + 1];
    set[0] = 1.0;
    for sum in 0..sums {
        let unset = 0.5f64.powi(planes_of(sum, planes, sums) as i32);
        for _bit in 0..8 {
            for count in (0..set.len()).rev() {
                let fewer = if count > 0 { set[count - 1] } else { 0.0 };
                set[count] = set[count] * unset + fewer * (1.0 - unset);
            }
        }
    }
    set.iter().take(budget as usize + 1).sum()
}

/// How many of the planes belong to a sum: plane i to sum i modulo the number of sums.
fn planes_of(sum: usize, planes: usize, sums: usize) -> usize {
    (planes + sums - 1 - sum) / sums
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What the planes that belong together differ in.
    pub(in super::super) fn count(low: u32, planes: usize, sums: usize) -> u32 {
        let bytes = low.to_le_bytes();
        let laid_over = |sum: usize| bytes[..planes].iter().skip(sum).step_by(sums);
        (0..sums).map(|sum| laid_over(sum).fold(0, |all, byte| all | byte).count_ones()).sum()
    }

    #[test]
    fn random_entries_pass_as_predicted() {
        let lows: Vec<u32> = (0..1 << 16).map(|i| crate::set_sum::term(i) as u32).collect();
        for planes in 1..=MAX_PLANES {
            for sums in 1..=planes {
                for budget in [0, 3, 5, 8] {
                    let within = lows.iter().filter(|&&low| count(low, planes, sums) <= budget);
                    let (found, predicted) = (within.count() as f64, passed(planes, sums, budget));
                    let predicted = predicted * lows.len() as f64;
                    let spread = 6.0 * predicted.sqrt() + 3.0;
                    assert!((found - predicted).abs() < spread, "{found}, {predicted}");
                }
            }
        }
        let shape = |planes, most: fn(usize) -> u32| {
            let shape = Shape::new(planes, most, true);
            (shape.planes, shape.sums, shape.differs)
        };
        assert_eq!(shape(4, |_| 3), (4, 1, true));
        assert_eq!(shape(3, |_| 3), (3, 3, false));
        assert_eq!(shape(4, |_| 4), (4, 2, false));
        assert_eq!(shape(4, |_| 64), (4, 4, false));
        assert_eq!(shape(4, |planes| if planes < 3 { 1 } else { 2 }), (3, 1, true));
    }
}
