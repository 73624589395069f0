//! Compares whole keys with a query.

use std::iter::once;
use std::ops::Range;

use super::compare::{Compare, KeyRow};
use crate::simd::{Level, by_level};

/// Calls `near` with the number of each of the `keys` that is within `k` of `query`.
#[inline(always)]
pub(crate) fn within(
    level: Level,
    keys: &[u64],
    (query, k): (u64, u32),
    mut near: impl FnMut(usize),
) {
    let row = KeyRow { keys, query, table: 0 };
    runs_within(level, once((row, once(0..keys.len()))), k, |_, number| near(number));
}

/// Calls `near` with the number of each key in some runs of rows that is within `k` of the query of
/// the row.
#[inline(always)]
pub(crate) fn runs_within<'a>(
    level: Level,
    rows: impl Iterator<Item = (KeyRow<'a>, impl Iterator<Item = Range<usize>>)>,
    k: u32,
    near: impl FnMut(&KeyRow<'a>, usize),
) {
    by_level!(level, kernel => kernel.words(rows, k, near));
}
