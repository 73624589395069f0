//! What a pack looks at before it takes the place of something.

use std::fs;
use std::path::{Path, PathBuf};

use fpstore::{Error, Fingerprint, width_of};

use super::Args;
use crate::apart::Used;
use crate::failure::Failure;
use crate::output::say;
use crate::width::{self, for_width};

/// Refuses an output that is an input as well, or lies in one.
pub(super) fn check_apart(args: &Args) -> Result<(), Failure> {
    let output = args.output();
    if let Ok(output) = fs::canonicalize(output) {
        let is_output = |path: &&PathBuf| fs::canonicalize(path).is_ok_and(|p| p == output);
        if let Some(path) = args.input.iter().find(is_output) {
            return Err(Failure::Usage(format!(
                "{}: is an input; give -o a new directory for the store",
                path.display()
            )));
        }
    }
    let used = Used::nothing().files(&args.input);
    used.check(output)
}

/// Refuses to replace a store that holds something by one that holds nothing.
pub(super) fn check_empty(store: &Path) -> Result<(), Failure> {
    let length = match width_of(store) {
        Ok(bits) => for_width!(bits, length(store)),
        Err(Error::NotAStore { .. }) => return Ok(()),
        Err(error) => Err(error.into()),
    };
    let held = match length {
        Ok(0) => return Ok(()),
        Ok(length) => format!("{length} fingerprints"),
        Err(_) => "a store that cannot be opened".to_string(),
    };
    Err(Failure::Usage(format!(
        "{}: holds {held}, and the inputs hold no fingerprint; check what wrote them, or \
         remove the store",
        store.display()
    )))
}

fn length<F: Fingerprint>(store: &Path) -> Result<u64, Failure> {
    Ok(width::open::<F>(store)?.len())
}

/// Warns of a store of nothing.
pub(super) fn warn_empty(store: &Path) {
    let store = store.display().to_string();
    let store = crate::failure::one_line(&store);
    say!("fpstore: warning: {store}: the inputs hold no fingerprint, and the store is empty");
}
