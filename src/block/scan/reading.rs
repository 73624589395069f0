//! How much of a column is compared first.

/// The number of planes that lets at most 1 in 300 random keys through at this budget, or all of
/// them.
#[inline]
fn first_planes(budget: u32) -> usize {
    match budget {
        0..=2 => 2,
        3..=5 => 3,
        _ => 4,
    }
}

/// How the blocks of a table are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Some of them.
    Parts,
    /// All of them, in order. The CPU brings what lies ahead by itself, as long as little of it is
    /// skipped, and loses track where two planes are read and two are not. So nothing is asked for
    /// ahead.
    ///
    /// Milliseconds of a scan of 2^24 uniform fingerprints with L = 32, least of 16, by bytes of a
    /// block, k = 1 and k = 3:
    ///
    /// | | 256 | 512 | 1024 | 2048 | 4096 |
    /// | --- | --- | --- | --- | --- | --- |
    /// | as for some blocks | 6.1, 5.8 | 5.2, 4.2 | 7.3, 5.1 | 5.6, 8.1 | 5.0, 6.1 |
    /// | three planes or more | 5.8, 5.9 | 4.4, 4.2 | 5.4, 5.1 | 6.7, 8.0 | 5.8, 6.1 |
    /// | and not asked for ahead | 3.8, 4.1 | 3.4, 3.6 | 3.8, 4.0 | 7.5, 7.9 | 5.4, 5.9 |
    /// | four planes, not asked for ahead | 5.6, 5.5 | 4.0, 4.0 | 3.4, 3.4 | 5.1, 5.0 | 8.2, 8.2 |
    ///
    /// The same at 2048 bytes on another machine: 4.8 with four planes, 9.0 and 9.8 with three.
    Whole,
}

impl Reading {
    /// The number of planes that are compared first with a budget, if the column has as many, in
    /// blocks of this size.
    #[inline]
    pub(crate) fn first_planes(self, budget: u32, block_bytes: u32) -> usize {
        match (self, block_bytes) {
            (Self::Parts, _) => first_planes(budget),
            (Self::Whole, 2048) => 4,
            (Self::Whole, _) => first_planes(budget).max(3),
        }
    }
}
