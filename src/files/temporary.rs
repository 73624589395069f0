//! Temporary files, which become results or go.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use super::{
    DirectoryHandle, Ownership, check_is_at, is_at, keep_permissions, open_own, parent,
    sync_directory,
};

/// How the names of temporary files start.
pub const TEMPORARY_PREFIX: &str = ".tmp-fpstore-";
/// Random letters and digits that follow.
const RANDOM_CHARS: usize = 6;
/// How often another name is tried for a file that vanished before it was locked.
const ATTEMPTS: usize = 10;

/// Whether `name` is one that a temporary file gets: `.tmp-fpstore-` and six letters or digits of
/// ASCII.
pub fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX).is_some_and(|random| {
        random.len() == RANDOM_CHARS && random.bytes().all(|c| c.is_ascii_alphanumeric())
    })
}

/// A file under a name that nobody could foresee, locked as long as it is open, and removed when it
/// is dropped.
#[derive(Debug)]
pub struct Temporary {
    file: NamedTempFile,
}

impl Temporary {
    /// Creates one in `directory`.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn create(directory: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let mut builder = tempfile::Builder::new();
            builder.prefix(TEMPORARY_PREFIX).rand_bytes(RANDOM_CHARS);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                // The system takes away what the user's mask says.
                builder.permissions(fs::Permissions::from_mode(0o666));
            }
            let file = builder.tempfile_in(directory)?;
            match file.as_file().try_lock() {
                // Between its creation and the lock it may have been taken for one that a killed
                // process left.
                Ok(()) if is_at(file.as_file(), file.path()) => return Ok(Self { file }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("others remove it at once"))
    }

    /// The file.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Makes the bytes durable, then gives the file the name `path`, in the same directory, and
    /// makes that durable. What stands there is replaced only where that is wanted, and the new
    /// file has its owner and permissions as far as this user may give them.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] where something is not to be replaced, else those of the
    /// system. The file is gone then, unless only the last sync failed.
    pub fn persist(self, path: &Path, replace: bool) -> io::Result<()> {
        check_is_at(self.file(), self.path())?;
        if replace {
            keep_permissions(self.file(), path, Ownership::Given)?;
        }
        self.file().sync_all()?;
        let persisted = match replace {
            true => self.file.persist(path),
            false => self.file.persist_noclobber(path),
        };
        persisted.map_err(|error| error.error)?;
        sync_directory(parent(path))
    }
}

/// A temporary file in `directory` that has no name, so that it goes with the process however that
/// ends.
///
/// # Errors
///
/// Those of the system.
pub fn nameless(directory: &Path) -> io::Result<File> {
    tempfile::tempfile_in(directory)
}

impl DirectoryHandle {
    /// A temporary file in the directory that loses its name at once, so that it goes with the
    /// process however that ends.
    ///
    /// # Errors
    ///
    /// Those of the system.
    #[cfg(not(unix))]
    pub fn nameless(&self) -> io::Result<File> {
        // A file that is open keeps its name here, and goes when it is closed.
        nameless(self.path())
    }

    /// A temporary file in the directory that loses its name at once, so that it goes with the
    /// process however that ends.
    ///
    /// # Errors
    ///
    /// Those of the system.
    #[cfg(unix)]
    pub fn nameless(&self) -> io::Result<File> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX).rand_bytes(RANDOM_CHARS);
        let mut name = String::new();
        let made = builder.make_in(self.path(), |path| {
            name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.create_private(&name)
        })?;
        let (file, mut path) = made.into_parts();
        // The name is to be removed from this directory, not from the one at its path.
        path.disable_cleanup(true);
        self.remove(&name)?;
        Ok(file)
    }
}

/// Removes the temporary files in `directory` that killed processes of this user left. Those that
/// somebody holds locked stay, and so does all that cannot be judged.
pub fn remove_dead(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_temporary_name) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = open_own(&path) else { continue };
        if file.try_lock().is_ok() && is_at(&file, &path) {
            // While the lock is held: who has just created it sees that it is gone, and takes
            // another.
            let _ = fs::remove_file(&path);
        }
    }
}
