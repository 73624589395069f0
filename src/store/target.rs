//! The place where a store is to be written: what may be replaced, the lock, leftovers; and that an
//! output is none of its inputs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use crate::error::{Error, Result};
use crate::files::{self, DirectoryHandle, parent};
use crate::format::{LOCK_NAME, MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, is_writers_name};
use crate::storage::Hold;

/// Checks that a store may be written to `path`: nothing is there, an empty directory, what a
/// stopped writer left, or, with `replace`, a store.
pub(crate) fn check(path: &Path, replace: bool) -> Result<()> {
    match DirectoryHandle::open(path) {
        Ok(directory) => check_directory(&directory, replace),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => check_parent(path),
            io::ErrorKind::NotADirectory if path.exists() => {
                let (path, entry) = (path.to_path_buf(), "a file, not a directory".to_string());
                Err(Error::Foreign { path, entry })
            }
            _ => Err(Error::io(path, "look at the output")(error)),
        },
    }
}

/// As [`check`], of a directory that is there.
fn check_directory(directory: &DirectoryHandle, replace: bool) -> Result<()> {
    let path = directory.path();
    let foreign = |entry: String| Err(Error::Foreign { path: path.to_path_buf(), entry });
    let names = directory.names().map_err(Error::io(path, "list the output"))?;
    // What a stopped writer may have left is no stranger.
    let is_ours = |name: &str| {
        [MANIFEST_NAME, LOCK_NAME].contains(&name)
            || (is_writers_name(name) && directory.has_regular(name))
    };
    let stranger = names.iter().rfind(|name| !is_ours(name));
    if names.iter().any(|name| name == MANIFEST_NAME) {
        let bytes =
            files::read_at_most_of(directory.open_regular(MANIFEST_NAME), MAX_MANIFEST_BYTES)
                .map_err(Error::io(directory.path_of(MANIFEST_NAME), "read the manifest"))?;
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
    stranger.cloned().map_or(Ok(()), foreign)
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

/// A directory that is locked for writing. Dropping it where no store came to be removes what was
/// written there, and the directory, if it was created for this: in whatever way the work ends.
pub(crate) struct Target {
    path: PathBuf,
    /// Held until the target is gone.
    hold: Arc<Hold>,
    created: bool,
    /// What was there when it was locked.
    before: Vec<String>,
    /// Whether a store is there, or came to be: then nothing is removed, whatever becomes of it.
    has_store: bool,
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
        let hold = Hold::take(path)?;
        // It may have been moved before it was locked.
        hold.check()?;
        let before = hold.directory().names().map_err(Error::io(path, "list the output"))?;
        let has_store = !hold.directory().lacks(MANIFEST_NAME);
        let path = std::path::absolute(path).map_err(Error::io(path, "look at the output"))?;
        let target = Self { path, hold: Arc::new(hold), created, before, has_store };
        if created {
            let parent = parent(&target.path);
            files::sync_directory(parent).map_err(Error::io(parent, "sync the directory"))?;
        }
        check_directory(target.hold.directory(), replace)?;
        Ok(target)
    }

    /// Says that a store is there now.
    pub(crate) fn keep(&mut self) {
        self.has_store = true;
    }

    /// The directory.
    pub(crate) fn hold(&self) -> Arc<Hold> {
        Arc::clone(&self.hold)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let directory = self.hold.directory();
        // Where nobody can tell, everything stays.
        if self.has_store || !directory.lacks(MANIFEST_NAME) || self.hold.check().is_err() {
            return;
        }
        let Ok(names) = directory.names() else { return };
        let is_new = |name: &&String| is_writers_name(name) && !self.before.contains(name);
        for name in names.iter().filter(is_new) {
            let _ = directory.remove(name);
        }
        if self.created {
            self.hold.remove_lock();
            // The directory stays, as it should, where anything else is left.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

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
        fs::write(path.join(MANIFEST_NAME), Manifest::empty(64, 3, 1).encode()).unwrap();
        drop(target);
        assert!(path.join(LOCK_NAME).exists());
        // Nothing goes because somebody took its manifest away.
        let target = Target::lock(&path, true).unwrap();
        fs::remove_file(path.join(MANIFEST_NAME)).unwrap();
        fs::write(path.join(crate::format::log_name(7)), "").unwrap();
        drop(target);
        assert!(path.join(crate::format::log_name(7)).exists());
        // A directory that was there stays, with what was in it.
        let log = |number: u64| path.join(crate::format::log_name(number));
        fs::write(log(1), "").unwrap();
        let target = Target::lock(&path, false).unwrap();
        fs::write(log(2), "").unwrap();
        drop(target);
        assert!(log(1).exists() && !log(2).exists());
    }
}
