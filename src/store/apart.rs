//! Outputs that are not what they are made of.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::DirectoryHandle;
use crate::storage::Hold;

/// Refuses an output that is the store which is read, or lies in it, as far as paths and links
/// tell. Messages call it `output`.
pub(crate) fn check_apart(from: &Path, to: &Path, output: &'static str) -> Result<()> {
    let looked = || -> io::Result<(PathBuf, PathBuf)> {
        let mut there = std::path::absolute(to)?;
        let mut rest = Vec::new();
        // The output need not exist, and links before it count.
        while !there.exists() {
            rest.extend(there.file_name().map(ToOwned::to_owned));
            if !there.pop() {
                break;
            }
        }
        let mut there = there.canonicalize()?;
        there.extend(rest.into_iter().rev());
        Ok((from.canonicalize()?, there))
    };
    let (store, there) = looked().map_err(Error::io(to, "look at the output"))?;
    match there.starts_with(&store) {
        false => Ok(()),
        true if there == store => {
            Err(refused(to, output, "it is the store itself; choose another place"))
        }
        true => Err(refused(to, output, "it lies in the store; choose a place outside")),
    }
}

/// Refuses an output that is the store which is read, whatever their paths.
pub(crate) fn check_other(from: &DirectoryHandle, to: &Hold, output: &'static str) -> Result<()> {
    let to = to.directory();
    let ids = [from, to].map(|at| at.id().map_err(Error::io(at.path(), "look at the directory")));
    let [from, there] = ids;
    match from? == there? {
        true => Err(refused(to.path(), output, "it is the store itself; choose another place")),
        false => Ok(()),
    }
}

fn refused(to: &Path, option: &'static str, expected: &str) -> Error {
    let (value, expected) = (to.display().to_string(), expected.to_string());
    Error::InvalidOption { option, value, expected }
}
