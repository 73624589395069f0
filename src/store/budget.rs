//! How much memory a pack takes, and how many fingerprints that leaves room for.
//!
//! Counted is what grows with the set, what each thread takes, and a fixed part for the process.
//! What readers of inputs buffer is no matter of this crate: who reads large pieces allows that
//! much less.

use crate::execution::budget::{PROCESS_BYTES, THREAD_BYTES};
use crate::sort;

/// Bytes that a pack takes beside records: the process itself, and buffers for blocks.
const FIXED_BYTES: u64 = PROCESS_BYTES + (2 << 20);

/// Fingerprints that are in memory twice in any case: with a thousand threads in little memory more
/// is taken than is allowed, lest nothing go on.
const LEAST_CAPACITY: usize = 1 << 14;

/// The fingerprints that may be in memory twice, where so many further bytes are needed.
pub(super) fn capacity(memory: Option<u64>, threads: usize, further: u64) -> usize {
    let Some(memory) = memory else {
        return usize::MAX;
    };
    let fixed = (FIXED_BYTES + THREAD_BYTES * threads as u64).min(memory / 2);
    let records = memory.saturating_sub(fixed).saturating_sub(further) / 16;
    // What a sort takes beside, and what else grows with the set.
    let scratch = sort::scratch_records(records as usize, threads) as u64 / 2;
    ((records.saturating_sub(scratch) as f64 * 0.98) as usize).max(LEAST_CAPACITY)
}

/// Of the words that may be in memory twice, those that may be there three times: where
/// fingerprints of one word get part tables, the entries of a part stand beside the set, in order
/// and not.
pub(super) fn capacity_with_parts(capacity: usize) -> usize {
    match capacity {
        usize::MAX => capacity,
        limited => (limited / 3 * 2).max(LEAST_CAPACITY),
    }
}

/// The bytes that a pack of so many fingerprints takes where all is in memory.
pub(super) fn in_memory_bytes(count: u64, threads: usize) -> u64 {
    let scratch = 8 * sort::scratch_records(count as usize, threads) as u64;
    let fixed = FIXED_BYTES + THREAD_BYTES * threads as u64;
    count.saturating_mul(16).saturating_add(count / 4).saturating_add(scratch + fixed)
}

/// The same of so many pairs of a fingerprint and an id: pairs are sorted, and then apart.
pub(super) fn in_memory_bytes_with_ids(pairs: u64, threads: usize) -> u64 {
    let scratch = 16 * sort::scratch_records(pairs as usize, threads) as u64;
    let fixed = FIXED_BYTES + THREAD_BYTES * threads as u64;
    pairs.saturating_mul(32).saturating_add(pairs / 4).saturating_add(scratch + fixed)
}
