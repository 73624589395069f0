//! Whether two paths are one file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use fpstore_records::is_stdin;

use crate::error::Error;

/// Refuses inputs of which one comes twice, by whatever names: each of its records would be a
/// duplicate of itself.
pub fn check_once(inputs: &[&Path]) -> Result<(), Error> {
    let mut seen = HashMap::new();
    let mut has_stdin = false;
    for &input in inputs {
        if is_stdin(input) {
            if std::mem::replace(&mut has_stdin, true) {
                let message = "standard input: can be read only once; give `-` once";
                return Err(Error::Setting(message.to_string()));
            }
            continue;
        }
        let Some(first) = id(input).and_then(|id| seen.insert(id, input)) else { continue };
        let (first, name) = (first.display().to_string(), input.display().to_string());
        return Err(Error::Setting(match first == name {
            true => format!("{name}: is given twice; give it once"),
            false => format!("{name}: is the same file as {first}; give one of them"),
        }));
    }
    Ok(())
}

/// Device and inode.
#[cfg(unix)]
fn id(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let data = fs::metadata(path).ok()?;
    Some((data.dev(), data.ino()))
}

/// Elsewhere it is the path without links.
#[cfg(not(unix))]
fn id(path: &Path) -> Option<std::path::PathBuf> {
    fs::canonicalize(path).ok()
}
