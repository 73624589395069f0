//! Thresholds that were found once serve all tables of about as many blocks, in all stores.
//!
//! To find them takes milliseconds, and a store that lives gets a new segment every now and then.
//! The best thresholds change with the number of blocks only where two choices touch about as many,
//! so tables are put into *classes of size*: numbers of blocks with the same [`DIGITS`] leading
//! digits share thresholds. For the named designs and k up to 10, those of a class touch at most 1%
//! more blocks than those of the exact number, or as much as the expectation is uncertain by, a
//! seventh of a block.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::descent::DescentModel;
use super::solver::{self, SCAN_RADIUS, Thresholds};
use crate::design::Design;

/// Binary digits of a number of blocks that tell its class.
const DIGITS: u32 = 6;
/// Classes that are remembered, those that were asked for last.
const REMEMBERED: usize = 256;

/// The thresholds of a design in tables of one class of size.
pub(crate) struct Solved {
    design: Design,
    /// The number of blocks that stands for the class.
    blocks: u64,
    /// For each radius the thresholds, once they were asked for; `None` means to scan.
    by_radius: Vec<OnceLock<Option<Thresholds>>>,
}

static SOLVED: Mutex<Vec<Arc<Solved>>> = Mutex::new(Vec::new());

impl Solved {
    /// The thresholds of tables of about `blocks` blocks. Solves nothing yet.
    pub(crate) fn of(design: &Design, blocks: u64) -> Arc<Self> {
        let blocks = class(blocks);
        let mut solved = SOLVED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = solved.iter().position(|one| one.blocks == blocks && one.design == *design);
        let one = match known {
            Some(at) => solved.remove(at),
            None => Arc::new(Self {
                design: design.clone(),
                blocks,
                by_radius: (0..SCAN_RADIUS).map(|_| OnceLock::new()).collect(),
            }),
        };
        if solved.len() == REMEMBERED {
            solved.remove(0);
        }
        solved.push(Arc::clone(&one));
        one
    }

    /// How many bits may differ in the top of each table for a search within `k`; `None` where a
    /// scan of one table is less work.
    ///
    /// Takes some milliseconds where nobody has asked before.
    pub(crate) fn thresholds(&self, k: u32) -> Option<&Thresholds> {
        let solve = || {
            let solution = solver::solve(&self.design, k, &DescentModel::new(self.blocks));
            solution.map(|(thresholds, _)| thresholds)
        };
        self.by_radius.get(k as usize)?.get_or_init(solve).as_ref()
    }
}

/// The number of blocks that stands for those of about as many: the nearest with no more than
/// [`DIGITS`] binary digits before its zeros.
pub(crate) fn class(blocks: u64) -> u64 {
    let zeros = (u64::BITS - blocks.leading_zeros()).saturating_sub(DIGITS);
    let half = (1 << zeros) >> 1;
    blocks.saturating_add(half) >> zeros << zeros
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_the_numbers_next_to_it() {
        for blocks in 0..=64 {
            assert_eq!(class(blocks), blocks);
        }
        assert_eq!([class(65), class(127), class(1 << 40)], [66, 128, 1 << 40]);
        for blocks in
            (0..63).flat_map(|bits| [1 << bits, 3 << bits, (1 << bits) + (1 << bits >> 3)])
        {
            let class = class(blocks);
            assert!(class.abs_diff(blocks) as f64 <= blocks as f64 / 64.0, "{blocks}: {class}");
            assert!(class >> class.trailing_zeros().min(63) < 64, "{blocks}: {class}");
        }
        class(u64::MAX);
    }

    #[test]
    fn stores_of_a_class_share_what_was_solved() {
        let design: Design = "25,20,19".parse().unwrap();
        let one = Solved::of(&design, 10_000);
        assert!(Arc::ptr_eq(&one, &Solved::of(&design, 10_050)));
        assert!(!Arc::ptr_eq(&one, &Solved::of(&design, 11_000)));
        assert!(!Arc::ptr_eq(&one, &Solved::of(&"26,20,18".parse().unwrap(), 10_000)));
        assert_eq!(one.thresholds(3).cloned(), design.thresholds(3, class(10_000)));
        assert_eq!(one.thresholds(SCAN_RADIUS), None);
        // What nobody asked for lately is forgotten, and no more is remembered than that.
        (0..REMEMBERED as u64).for_each(|i| drop(Solved::of(&design, 1 << 20 | i << 15)));
        assert!(SOLVED.lock().unwrap().len() <= REMEMBERED);
    }

    #[test]
    fn thresholds_of_a_class_touch_hardly_more_blocks_than_those_of_the_exact_number() {
        let (mut ratios, mut worst) = (Vec::new(), (1.0, String::new()));
        let sizes = [40, 40, 40, 40, 25, 15, 9, 7, 7];
        assert_eq!(sizes.len(), Design::NAMES.len());
        for (name, sizes) in Design::NAMES.iter().zip(sizes) {
            let design = Design::named(name).unwrap();
            let bits = |top: &[crate::format::BitRange]| {
                top.iter().map(|range| u32::from(range.bits)).sum()
            };
            for size in 0..sizes {
                // From 2^3 to 2^25 blocks, at all places of a class.
                let blocks = (3.0 + 22.0 * f64::from(size) / f64::from(sizes)).exp2() as u64;
                let exact = DescentModel::new(blocks);
                for k in 0..=10 {
                    let work = |thresholds: Option<&Thresholds>| match thresholds {
                        None => blocks as f64,
                        Some(thresholds) => (thresholds.iter().zip(design.tops()))
                            .filter_map(|(tau, top)| {
                                Some(exact.expected_blocks(bits(top), (*tau)?, k))
                            })
                            .sum(),
                    };
                    let solved = solver::solve(&design, k, &exact);
                    let least = work(solved.as_ref().map(|(thresholds, _)| thresholds));
                    let of_class = work(Solved::of(&design, blocks).thresholds(k));
                    // What is expected is a mean of 48 descents for each table, and so uncertain.
                    let case = format!("{name}, {blocks} blocks, k={k}: {of_class}, not {least}");
                    assert!(of_class <= 1.01 * least + 0.15, "{case}");
                    ratios.push(of_class / least);
                    if of_class / least > worst.0 {
                        worst = (of_class / least, case);
                    }
                }
            }
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let over = ratios.iter().filter(|&&ratio| ratio > 1.01).count();
        println!("{} searches, {mean:.5} on average, {over} over 1%: {worst:?}", ratios.len());
        assert!(mean < 1.001 && over * 100 < ratios.len(), "{mean}, {over}");
    }
}
