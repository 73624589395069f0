//! The place where a store is to be written: what may be replaced, the lock, leftovers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::{self, Lock, Owner, parent};
use crate::format::{LOCK_NAME, MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, is_writers_name};

/// Checks that a store may be written to `path`: nothing is there, an empty directory, what a
/// stopped pack left, or, with `replace`, a store.
pub(crate) fn check(path: &Path, replace: bool) -> Result<()> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return check_parent(path),
        Err(error) => return Err(Error::io(path, "look at the output")(error)),
    };
    let foreign = |entry: String| Err(Error::Foreign { path: path.to_path_buf(), entry });
    if !metadata.is_dir() {
        return foreign("a file, not a directory".to_string());
    }
    let mut stranger = None;
    let mut has_manifest = false;
    for entry in fs::read_dir(path).map_err(Error::io(path, "list the output"))? {
        let entry = entry.map_err(Error::io(path, "list the output"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == MANIFEST_NAME {
            has_manifest = true;
        } else if name != LOCK_NAME && !is_leftover(&name, &entry) {
            stranger = Some(name);
        }
    }
    if has_manifest {
        let manifest = path.join(MANIFEST_NAME);
        let bytes = files::read_at_most(&manifest, MAX_MANIFEST_BYTES)
            .map_err(Error::io(&manifest, "read the manifest"))?;
        // A damaged store may be replaced, if nothing but a store can be meant.
        if Manifest::decode(&bytes).is_err() && (stranger.is_some() || !Manifest::has_magic(&bytes))
        {
            return foreign(MANIFEST_NAME.to_string());
        }
        if !replace {
            return Err(Error::Exists { path: path.to_path_buf() });
        }
        return Ok(());
    }
    stranger.map_or(Ok(()), foreign)
}

/// Whether a stopped writer may have left this.
fn is_leftover(name: &str, entry: &fs::DirEntry) -> bool {
    is_writers_name(name) && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// Checks that `path`, where nothing is, could be created.
fn check_parent(path: &Path) -> Result<()> {
    let parent = parent(path);
    let action = "create a store in this directory";
    let metadata = fs::metadata(parent).map_err(Error::io(parent, action))?;
    if metadata.is_dir() {
        Ok(())
    } else {
        Err(Error::io(parent, action)(io::ErrorKind::NotADirectory.into()))
    }
}

/// A directory that is locked for writing. Dropping it removes the directory, if it was created for
/// this and no store came to be in it: in whatever way the pack ends.
pub(crate) struct Target {
    path: PathBuf,
    /// Held until the target is gone.
    _lock: Lock,
    created: bool,
}

impl Target {
    /// Creates the directory `path` if it does not exist, locks it, and checks again, under the
    /// lock, that a store may be written there.
    pub(crate) fn lock(path: &Path, replace: bool) -> Result<Self> {
        check(path, replace)?;
        let created = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(Error::io(path, "create the directory of the store")(error)),
        };
        let result = Self::lock_directory(path, replace, created);
        if created && result.is_err() {
            // It fails, as it should, where another writer came first.
            let _ = fs::remove_dir(path);
        }
        result
    }

    fn lock_directory(path: &Path, replace: bool, created: bool) -> Result<Self> {
        let lock_path = path.join(LOCK_NAME);
        let lock = Lock::take(&lock_path, Owner::Anybody);
        // `None` also where a writer that gave up has just removed the file.
        let lock = lock.map_err(Error::io(&lock_path, "take the lock"))?;
        let lock = lock.ok_or_else(|| Error::Busy { path: path.to_path_buf() })?;
        let target = Self { path: path.to_path_buf(), _lock: lock, created };
        if created {
            let parent = parent(path);
            files::sync_directory(parent).map_err(Error::io(parent, "sync the directory"))?;
        }
        check(path, replace)?;
        Ok(target)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.created && !self.path.join(MANIFEST_NAME).exists() {
            // The directory stays, as it should, where anything else is left.
            let _ = fs::remove_file(self.path.join(LOCK_NAME));
            let _ = fs::remove_dir(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_given_up_leaves_nothing_unless_there_is_a_store() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("store");
        drop(Target::lock(&path, false).unwrap());
        assert!(!path.exists());
        let target = Target::lock(&path, false).unwrap();
        fs::write(path.join(MANIFEST_NAME), "").unwrap();
        drop(target);
        assert!(path.join(LOCK_NAME).exists());
    }
}
