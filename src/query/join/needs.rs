//! What a join takes of memory.

use crate::execution::budget::{PROCESS_BYTES, THREAD_BYTES};

/// Bytes per fingerprint in memory: it stands there twice, and splits need some more.
pub(super) const FINGERPRINT_BYTES: u64 = 18;

/// What a join takes, by so many threads, if all of so many fingerprints are in memory.
pub(super) fn bytes_of(fingerprints: u64, threads: u64) -> u64 {
    let fixed = PROCESS_BYTES.saturating_add(THREAD_BYTES.saturating_mul(threads));
    fixed.saturating_add(fingerprints.saturating_mul(FINGERPRINT_BYTES))
}
