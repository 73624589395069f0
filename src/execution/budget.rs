//! How limits of memory are divided: what every piece of work takes that is held to one.

use crate::error::{Error, Result};

/// The least memory that work can be held to.
pub(crate) const LEAST_MEMORY: u64 = 16 << 20;
/// Bytes of the process itself.
pub(crate) const PROCESS_BYTES: u64 = 10 << 20;
/// Bytes of the buffers of each thread.
pub(crate) const THREAD_BYTES: u64 = 1 << 20;

/// Refuses a limit under [`LEAST_MEMORY`].
///
/// # Errors
///
/// [`Error::MemoryLimit`]; `what` names what needs more, with its verb.
pub(crate) fn check(limit: Option<u64>, what: &str) -> Result<()> {
    match limit.filter(|&limit| limit < LEAST_MEMORY) {
        Some(limit) => {
            Err(Error::MemoryLimit { what: what.to_string(), limit, needed: LEAST_MEMORY })
        }
        None => Ok(()),
    }
}
