//! What a join gives.

use std::ops::RangeInclusive;

/// Two fingerprints near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair<F = u64> {
    /// The smaller fingerprint; in a join of two stores that of the first.
    pub a: F,
    /// The greater fingerprint; in a join of two stores that of the second.
    pub b: F,
    /// Their Hamming distance, in bits.
    pub distance: u32,
}

/// What a join hands on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinEvent<'a, F = u64> {
    /// Some pairs, at least one, in any order.
    Pairs(&'a [Pair<F>]),
    /// All pairs whose [`a`](Pair::a) lies in this range have been handed on.
    Range(RangeInclusive<F>),
}

/// What a join has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinSummary {
    /// Pairs handed on.
    pub pairs: u64,
    /// Ranges done.
    pub ranges: u64,
    /// Distinct fingerprints of these ranges.
    pub fingerprints: u64,
    /// Fingerprints read from the stores; those that several ranges need count for each.
    pub read: u64,
    /// Whether the caller has stopped it.
    pub stopped: bool,
}
