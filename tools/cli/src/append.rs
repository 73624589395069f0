//! What comes before a segment is appended to a store.

use std::path::Path;

use fpstore::{Fingerprint, Store, WriterOptions};

use crate::failure::Failure;

/// Makes a segment of what stands in the log of the store at `path`, since nothing can be appended
/// before.
pub fn flush_log<F: Fingerprint>(path: &Path, opened: &Store<F>) -> Result<(), Failure> {
    let living = opened.stats()?.living;
    if living.is_none_or(|living| living.log_operations == 0) {
        return Ok(());
    }
    let writer = WriterOptions::new().width::<F>().background(false).open(path)?;
    writer.flush()?;
    Ok(writer.close()?)
}
