//! Files with names that are known beforehand, and locked.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::{
    Ownership, check_is_at, check_own, is_at, keep_permissions, open_unfollowed, parent,
    sync_directory,
};

/// How often a file is created that others remove at once.
const ATTEMPTS: usize = 10;

/// A file that is locked until this is dropped.
///
/// The lock is given up then, and not left to the closing of the file: a process that another
/// thread is starting has all files of this one open for a moment, and would keep the lock as long.
#[derive(Debug)]
pub struct LockedFile(File);

impl LockedFile {
    /// Locks `file`; `None` if another process holds it locked.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn try_lock(file: File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// A file that is locked, and still stood under its name after it was. It stays when this is
/// dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: LockedFile,
}

impl Lock {
    /// Opens the file at `path`, or creates it, and locks it; `None` if another process holds the
    /// lock, or has just taken the file away.
    ///
    /// # Errors
    ///
    /// [`Unfit`](super::Unfit) for what is no regular file of this user with one name; else those
    /// of the system.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        Self::of(open_or_create(path)?, path)
    }

    /// As [`Self::take`], of a file that is there; [`io::ErrorKind::NotFound`] if it is not.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    pub fn take_existing(path: &Path) -> io::Result<Option<Self>> {
        Self::of(open(path)?, path)
    }

    /// Locks `file`, which was opened as `path`.
    ///
    /// Whoever held the lock before may have finished meanwhile, so that what was opened as a
    /// temporary is a result by now. It has another name then, or one more: where the file system
    /// cannot rename without replacing, [`Self::persist`] makes a second name and removes the
    /// first, and a process can be killed between the two.
    fn of(file: File, path: &Path) -> io::Result<Option<Self>> {
        let file = LockedFile::try_lock(file)?.filter(|file| is_at(file, path));
        let Some(file) = file else { return Ok(None) };
        check_own(&file.metadata()?)?;
        Ok(Some(Self { path: path.to_path_buf(), file }))
    }

    /// Makes the bytes durable, then gives the file the name `path`, in the same directory, and
    /// makes that durable. What stands there is replaced only where that is wanted, and the new
    /// file has its owner and permissions as far as this user may give them.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] where something is not to be replaced, else those of the
    /// system. The file keeps its name then, unless only the last sync failed.
    pub fn persist(self, path: &Path, replace: bool) -> io::Result<()> {
        check_is_at(&self.file, &self.path)?;
        if replace {
            keep_permissions(&self.file, path, Ownership::Given)?;
        }
        self.file.sync_all()?;
        if replace {
            fs::rename(&self.path, path)?;
        } else {
            let mut name = TempPath::try_from_path(&self.path)?;
            name.disable_cleanup(true);
            name.persist_noclobber(path).map_err(|error| error.error)?;
        }
        sync_directory(parent(path))
    }

    /// Removes the file, if it still has its name.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn remove(self) -> io::Result<()> {
        check_is_at(&self.file, &self.path)?;
        fs::remove_file(&self.path)
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens the file at `path`, or creates it.
fn open_or_create(path: &Path) -> io::Result<File> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for _ in 0..ATTEMPTS {
        match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
        result = open(path);
        match &result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => return result,
        }
    }
    result
}

fn open(path: &Path) -> io::Result<File> {
    let file = open_unfollowed(path)?;
    check_own(&file.metadata()?)?;
    Ok(file)
}

/// Whether some process holds the file at `path` locked.
pub fn is_locked(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
        && is_file_locked(open_unfollowed(path))
}

/// As [`is_locked`], of a file that was opened.
pub fn is_file_locked(file: io::Result<File>) -> bool {
    file.and_then(LockedFile::try_lock).is_ok_and(|locked| locked.is_none())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A directory, and in it a file "part" that one process holds and another one has opened, but
    /// not locked yet.
    fn opened_twice() -> (TempDir, PathBuf, Lock, File) {
        let directory = tempfile::tempdir().unwrap();
        let part = directory.path().join("part");
        let first = Lock::take(&part).unwrap().unwrap();
        let second = open_or_create(&part).unwrap();
        assert!(Lock::take(&part).unwrap().is_none(), "it is locked");
        (directory, part, first, second)
    }

    #[test]
    fn a_file_that_became_a_result_before_it_was_locked_is_not_taken() {
        let (directory, part, first, second) = opened_twice();
        let whole = directory.path().join("whole");
        let take = || Lock::of(second.try_clone().unwrap(), &part).unwrap();
        first.persist(&whole, false).unwrap();
        assert!(take().is_none());
        // Nor where another file has come under the name, or that is a link to the result.
        File::create(&part).unwrap();
        assert!(take().is_none());
        #[cfg(unix)]
        {
            fs::remove_file(&part).unwrap();
            std::os::unix::fs::symlink(&whole, &part).unwrap();
            assert!(take().is_none());
            fs::remove_file(&part).unwrap();
            File::create(&part).unwrap();
        }
        assert!(Lock::take(&part).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_got_a_second_name_before_it_was_locked_is_not_taken() {
        let (directory, part, first, second) = opened_twice();
        // Killed between the two steps that a rename takes where there is none that replaces
        // nothing.
        fs::hard_link(&part, directory.path().join("whole")).unwrap();
        drop(first);
        let error = Lock::of(second, &part).unwrap_err();
        assert!(error.to_string().contains("a second name"), "{error}");
    }

    #[test]
    fn a_lock_ends_with_its_owner_though_a_starting_process_has_the_file_open() {
        let (_directory, part, first, _second) = opened_twice();
        let inherited = first.file().try_clone().unwrap();
        drop(first);
        assert!(!is_locked(&part));
        let next = Lock::take(&part).unwrap().unwrap();
        drop(inherited);
        assert!(is_locked(&part), "the next one has it");
        next.remove().unwrap();
    }

    #[test]
    fn only_the_file_that_was_locked_is_removed() {
        let (_directory, part, first, _second) = opened_twice();
        fs::remove_file(&part).unwrap();
        File::create(&part).unwrap();
        first.remove().unwrap_err();
        Lock::take(&part).unwrap().unwrap().remove().unwrap();
        assert!(!part.exists());
    }
}
