//! The place where a store is to be written: what may be replaced, the lock, leftovers.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::storage::sync_directory;
use crate::error::{Error, Result};
use crate::format::{LOCK_NAME, MANIFEST_NAME, Manifest, is_writers_name};

/// Checks that a store may be written to `path`: nothing is there, an empty directory, what a
/// stopped pack left, or, with `replace`, a store.
pub(super) fn check(path: &Path, replace: bool) -> Result<()> {
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
        } else if name != LOCK_NAME && !is_writers_name(&name) {
            stranger = Some(name);
        }
    }
    if has_manifest {
        let manifest = path.join(MANIFEST_NAME);
        let bytes = fs::read(&manifest).map_err(Error::io(&manifest, "read the manifest"))?;
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

/// The directory that `path` is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A directory that is locked for writing.
pub(super) struct Target {
    path: PathBuf,
    /// Held until the target is dropped.
    _lock: File,
    created: bool,
}

impl Target {
    /// Creates the directory `path` if it does not exist, locks it, and checks again, under the
    /// lock, that a store may be written there.
    pub(super) fn lock(path: &Path, replace: bool) -> Result<Self> {
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
        let open = File::options().write(true).create(true).truncate(false).open(&lock_path);
        let lock = open.map_err(Error::io(&lock_path, "create the lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.to_path_buf() }),
            Err(TryLockError::Error(error)) => {
                return Err(Error::io(&lock_path, "take the lock")(error));
            }
        }
        // A writer that gave up may have removed the file between its opening here and the lock.
        if !is_file_at(&lock, &lock_path) {
            return Err(Error::Busy { path: path.to_path_buf() });
        }
        let target = Self { path: path.to_path_buf(), _lock: lock, created };
        let durable = || -> Result<()> {
            if created {
                let parent = parent(path);
                sync_directory(parent).map_err(Error::io(parent, "sync the directory"))?;
            }
            check(path, replace)
        };
        match durable() {
            Ok(()) => Ok(target),
            Err(error) => {
                target.abandon();
                Err(error)
            }
        }
    }

    /// Removes the directory, if this target created it and no store came to be in it.
    pub(super) fn abandon(self) {
        if self.created && !self.path.join(MANIFEST_NAME).exists() {
            // The directory stays, as it should, where anything else is left.
            let _ = fs::remove_file(self.path.join(LOCK_NAME));
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Whether `file` is what stands at `path`.
#[cfg(unix)]
pub(super) fn is_file_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => identity(file) == identity(there),
        _ => false,
    }
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
pub(super) fn is_file_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_file_was_removed_is_not_taken_for_one() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("lock");
        let opened = File::create(&path).unwrap();
        assert!(is_file_at(&opened, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_file_at(&opened, &path));
        File::create(&path).unwrap();
        assert!(!is_file_at(&opened, &path), "another file of the same name");
    }

    #[test]
    fn a_target_that_is_given_up_leaves_nothing_unless_there_is_a_store() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("store");
        Target::lock(&path, false).unwrap().abandon();
        assert!(!path.exists());
        let target = Target::lock(&path, false).unwrap();
        fs::write(path.join(MANIFEST_NAME), "").unwrap();
        target.abandon();
        assert!(path.join(LOCK_NAME).exists());
    }
}
