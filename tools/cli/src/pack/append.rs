//! What comes before a segment is appended to a store.

use std::path::Path;

use fpstore::Fingerprint;

use super::ids::IdMode;
use crate::append::flush_log;
use crate::failure::Failure;
use crate::width;

/// Gets a store ready for records with ids or without: what stands in its log becomes a segment.
/// Gives the first number that records of it never had.
pub(super) fn prepare<F: Fingerprint>(store: &Path, mode: &IdMode) -> Result<u64, Failure> {
    let opened = width::open::<F>(store)?;
    let what = match (opened.has_ids(), mode.is_some()) {
        (true, false) => "has ids; give --ids line or --id-column NAME",
        (false, true) => "has no ids; leave --ids and --id-column out",
        _ => "",
    };
    let refused = |what: &str| Err(Failure::Usage(format!("{}: {what}", store.display())));
    if !what.is_empty() {
        return refused(what);
    }
    let first = match mode {
        IdMode::Line => opened.snapshot().next_id(),
        _ => Some(0),
    };
    let Some(first) = first else {
        return refused("no number is left behind its greatest id; give ids in a column");
    };
    flush_log(store, &opened)?;
    Ok(first)
}

/// There is nothing to append.
pub(super) fn nothing(store: &Path) -> Failure {
    Failure::Usage(format!(
        "{}: stays as it was: the inputs hold no fingerprint; check what wrote them",
        store.display()
    ))
}
