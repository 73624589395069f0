//! What comes before a segment is appended to a store.

use std::path::Path;

use fpstore::Fingerprint;

use crate::append::flush_log;
use crate::failure::Failure;
use crate::width;

/// Gets a store ready for records with ids or without: what stands in its log becomes a segment.
pub(super) fn prepare<F: Fingerprint>(store: &Path, with_ids: bool) -> Result<(), Failure> {
    let opened = width::open::<F>(store)?;
    let what = match (opened.has_ids(), with_ids) {
        (true, false) => "has ids; give --ids line or --id-column NAME",
        (false, true) => "has no ids; leave --ids and --id-column out",
        _ => "",
    };
    if !what.is_empty() {
        return Err(Failure::Usage(format!("{}: {what}", store.display())));
    }
    flush_log(store, &opened)
}

/// There is nothing to append.
pub(super) fn nothing(store: &Path) -> Failure {
    Failure::Usage(format!(
        "{}: stays as it was: the inputs hold no fingerprint; check what wrote them",
        store.display()
    ))
}
