//! What a join takes of memory.

use crate::execution::budget::{PROCESS_BYTES, THREAD_BYTES};
use crate::fingerprint::{Fingerprint, bytes_of};

/// Bytes per fingerprint in memory: it stands there twice, and splits need some more.
pub(crate) const fn fingerprint_bytes<F: Fingerprint>() -> u64 {
    2 * bytes_of::<F>() as u64 + 2
}

/// What a join takes, by so many threads, if all of so many fingerprints are in memory.
pub(super) fn needed_bytes<F: Fingerprint>(fingerprints: u64, threads: u64) -> u64 {
    let fixed = PROCESS_BYTES.saturating_add(THREAD_BYTES.saturating_mul(threads));
    fixed.saturating_add(fingerprints.saturating_mul(fingerprint_bytes::<F>()))
}
