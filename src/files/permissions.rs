//! Who may read and write a file that takes the place of another one.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Whether a file gets the owner of the one whose place it will take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It gets owner and group, as far as this user may give them.
    Given,
    /// It stays what it is, and its owner can write it: a later process of this user goes on with
    /// it, or removes it.
    Kept,
}

/// Gives `file` the permissions of the regular file at `path`, if there is one. Where its group
/// cannot be kept, the other group may do no more than everybody.
///
/// # Errors
///
/// Those of the system.
#[cfg(unix)]
pub fn keep_permissions(file: &File, path: &Path, ownership: Ownership) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    if !there.is_file() {
        return Ok(());
    }
    let (owner, group) = (there.uid(), there.gid());
    let own = file.metadata()?;
    if ownership == Ownership::Given && (own.uid(), own.gid()) != (owner, group) {
        // Only root gives files away; a group is given by its members. Nobody else has to.
        let _ = fchown(file, Some(owner), Some(group)).or_else(|_| fchown(file, None, Some(group)));
    }
    // No bits but these: a result is no program.
    let mut mode = there.mode() & 0o777;
    if ownership == Ownership::Kept {
        mode |= 0o600;
    }
    let own = file.metadata()?;
    if own.gid() != group {
        mode &= !0o070 | (mode & 0o007) << 3;
    }
    // Some file systems refuse every change, and give all files the same bits.
    match own.mode() & 0o777 == mode {
        true => Ok(()),
        false => file.set_permissions(fs::Permissions::from_mode(mode)),
    }
}

/// Elsewhere files have no such bits.
///
/// # Errors
///
/// None.
#[cfg(not(unix))]
pub fn keep_permissions(_file: &File, _path: &Path, _ownership: Ownership) -> io::Result<()> {
    Ok(())
}
