//! How much of a column is compared first.

use super::compare::MAX_PLANES;

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
