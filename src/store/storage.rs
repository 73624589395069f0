//! The file operations that change a store, so that tests can stop at each of them and rebuild what
//! a crash would leave.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A directory in which a writer works. Names are those of files directly in it.
pub(super) trait Storage {
    /// A file being written.
    type File: Write;

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// The bytes of a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Creates a file that must not exist.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Makes the bytes of a file durable.
    fn sync(&self, file: &mut Self::File) -> io::Result<()>;
    /// Renames a file, in place of another if there is one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes names durable: those created, renamed and removed.
    fn sync_directory(&self) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A directory of the file system.
pub(super) struct Directory {
    path: PathBuf,
}

impl Directory {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }
}

impl Storage for Directory {
    type File = File;

    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path.join(name))
    }

    fn create(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    fn sync(&self, file: &mut File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_directory(&self.path)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    // Only Unix lets a directory be opened and synced; elsewhere the file system orders renames
    // itself.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
