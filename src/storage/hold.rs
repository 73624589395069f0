//! A directory that is locked for writing.
//!
//! A writer holds the directory, not its path: its files go there whatever the path leads to by
//! now. Before something is committed, acknowledged or deleted, [`Hold::check`] finds out whether
//! the directory still is the store that its user means, and still locked by this writer. Two locks
//! keep other writers out: that of the file `lock`, and where the file system has them that of the
//! directory itself, which holds even while somebody removes the file.
//!
//! A directory that is moved in the moment between a check and the write behind it takes that write
//! along: it never reaches another store.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Displacement, Error, Result};
use crate::files::{DirectoryHandle, LockedFile};
use crate::format::{LOCK_NAME, LOCK_TEXT};

/// How often the lock is created while others remove it at once.
const ATTEMPTS: usize = 10;

/// A directory that this process has locked for writing, until it is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    directory: LockedDirectory,
    lock: LockedFile,
}

/// Gives up the lock of the directory as [`LockedFile`] does that of a file.
#[derive(Debug)]
struct LockedDirectory(DirectoryHandle);

impl Drop for LockedDirectory {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl Hold {
    /// Locks the directory at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] while another process holds it; [`Error::Io`].
    pub(crate) fn take(path: &Path) -> Result<Self> {
        let directory = DirectoryHandle::open(path);
        let directory = directory.map_err(Error::io(path, "open the directory"))?;
        let busy = || Error::Busy { path: path.to_path_buf() };
        if !directory.try_lock() {
            return Err(busy());
        }
        let directory = LockedDirectory(directory);
        let path = || directory.0.path_of(LOCK_NAME);
        let lock = open_or_create(&directory.0).and_then(LockedFile::try_lock);
        let Some(lock) = lock.map_err(Error::io(path(), "take the lock"))? else {
            return Err(busy());
        };
        // A writer that gave up may have removed the file just now.
        match directory.0.has(LOCK_NAME, &lock) {
            Ok(true) => Ok(Self { directory, lock }),
            Ok(false) => Err(busy()),
            Err(error) => Err(Error::io(path(), "look at the lock")(error)),
        }
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &DirectoryHandle {
        &self.directory.0
    }

    /// Checks that its path still leads to the directory, and that the lock is still its lock.
    /// Takes two or three system calls.
    ///
    /// # Errors
    ///
    /// [`Error::Displaced`]; [`Error::Io`] where the system does not tell.
    pub(crate) fn check(&self) -> Result<()> {
        let directory = self.directory();
        let path = directory.path();
        let displaced = |by| Err(Error::Displaced { path: path.to_path_buf(), by });
        match directory.is_at_path() {
            Ok(true) => {}
            Ok(false) if directory.is_path_taken() => {
                return displaced(Displacement::Replaced);
            }
            Ok(false) => return displaced(Displacement::Moved),
            Err(error) => return Err(Error::io(path, "look at the directory")(error)),
        }
        match directory.has(LOCK_NAME, &self.lock) {
            Ok(true) => Ok(()),
            Ok(false) => displaced(Displacement::Unlocked),
            Err(error) => Err(Error::io(directory.path_of(LOCK_NAME), "look at the lock")(error)),
        }
    }

    /// Removes the file `lock`, for who leaves the directory as it found it.
    pub(crate) fn remove_lock(&self) {
        let directory = self.directory();
        if directory.has(LOCK_NAME, &self.lock).is_ok_and(|has| has) {
            let _ = directory.remove(LOCK_NAME);
        }
    }
}

/// Opens the lock, or creates it.
fn open_or_create(directory: &DirectoryHandle) -> io::Result<File> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for _ in 0..ATTEMPTS {
        match directory.create_new(LOCK_NAME) {
            Ok(mut file) => {
                // For who reads it and wonders. It is a lock without these words as well.
                let _ = file.write_all(LOCK_TEXT.as_bytes());
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        result = directory.open_unfollowed(LOCK_NAME);
        match &result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => return result,
        }
    }
    result
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    fn displacement(hold: &Hold) -> Option<Displacement> {
        match hold.check() {
            Ok(()) => None,
            Err(Error::Displaced { by, .. }) => Some(by),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn who_holds_a_directory_notices_what_happens_to_its_path_and_to_its_lock() {
        let root = tempfile::tempdir().unwrap();
        let [path, away] = ["store", "away"].map(|name| root.path().join(name));
        fs::create_dir(&path).unwrap();
        let hold = Hold::take(&path).unwrap();
        assert_eq!(displacement(&hold), None);
        fs::rename(&path, &away).unwrap();
        assert_eq!(displacement(&hold), Some(Displacement::Moved));
        fs::create_dir(&path).unwrap();
        assert_eq!(displacement(&hold), Some(Displacement::Replaced));
        fs::remove_dir(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        assert_eq!(displacement(&hold), None, "it is back");
        fs::remove_file(path.join(LOCK_NAME)).unwrap();
        assert_eq!(displacement(&hold), Some(Displacement::Unlocked));
        // Another writer that makes a lock of its own is kept out by the directory.
        fs::write(path.join(LOCK_NAME), "").unwrap();
        assert_eq!(displacement(&hold), Some(Displacement::Unlocked));
        assert!(matches!(Hold::take(&path), Err(Error::Busy { .. })));
        drop(hold);
        assert_eq!(displacement(&Hold::take(&path).unwrap()), None);
    }

    #[test]
    fn a_directory_is_free_with_its_writer_though_a_starting_process_has_its_lock_open() {
        let root = tempfile::tempdir().unwrap();
        let hold = Hold::take(root.path()).unwrap();
        let _inherited = hold.lock.try_clone().unwrap();
        drop(hold);
        let _next = Hold::take(root.path()).unwrap();
        assert!(matches!(Hold::take(root.path()), Err(Error::Busy { .. })));
    }

    #[test]
    fn the_file_alone_keeps_others_out_where_directories_have_no_locks() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(LOCK_NAME), "").unwrap();
        let lock = File::open(root.path().join(LOCK_NAME)).unwrap();
        lock.try_lock().unwrap();
        assert!(matches!(Hold::take(root.path()), Err(Error::Busy { .. })));
        let text = fs::read_to_string(root.path().join(LOCK_NAME)).unwrap();
        assert_eq!(text, "", "what is there is not written over");
        drop(lock);
        Hold::take(root.path()).unwrap();
    }
}
