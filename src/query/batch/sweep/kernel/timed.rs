//! How long a kernel takes, for who calibrates.

use std::hint::black_box;

use super::{Entries, Kernel, LANES};
use crate::error::Result;
use crate::set_sum::term;
use crate::simd::{Level, by_level};

/// Keys and queries of a comparison that is timed.
const TIMED: u64 = 256;

/// Nanoseconds of a comparison of a key with [`LANES`] queries at a level, in the first cache.
/// `time` tells how long some work takes.
pub(crate) fn vector_ns(
    level: Level,
    time: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<f64>,
) -> Result<f64> {
    let keys: Vec<u64> = (0..TIMED).map(|i| term(i) as u64).collect();
    let words: Vec<u32> = (TIMED..2 * TIMED).map(|i| term(i) as u32).collect();
    let mut near = Vec::new();
    let ns = time(&mut || {
        let entries = Entries::new(black_box(&words), &words);
        by_level!(level, kernel => kernel.compare::<false>(entries, black_box(&keys), 3, &mut near));
        black_box(&mut near).clear();
        Ok(())
    })?;
    Ok(ns / (TIMED * TIMED / LANES as u64) as f64)
}
