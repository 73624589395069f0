//! The file operations that change a store, so that tests can stop at each of them and rebuild what
//! a crash would leave.

mod directory;
mod hold;
mod unfinished;

use std::io::{self, Write};

pub(crate) use directory::Directory;
pub(crate) use hold::Hold;
pub(crate) use unfinished::Unfinished;

use crate::access::ReadFiles;
use crate::error::Result;
use crate::files::DirectoryHandle;
use crate::sort::Spill;

/// A directory in which a writer works. Names are those of files directly in it.
pub(crate) trait Storage: ReadFiles + Send + Sync {
    /// A file being written.
    type File: Write + Send;
    /// A temporary file.
    type Spill: Spill;

    /// Checks that what is written here still is the store at its path, and locked by this writer:
    /// before something is committed, acknowledged or removed.
    fn check_held(&self) -> Result<()>;
    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// The bytes of a manifest; of one that is too long only so many that this shows.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Creates a file that must not exist.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Gives a file of another directory the same name here, which must not exist.
    fn link(&self, from: &DirectoryHandle, name: &str) -> io::Result<()>;
    /// Opens a file that exists, and goes on at offset `at`. What stands there is written over.
    fn open_at(&self, name: &str, at: u64) -> io::Result<Self::File>;
    /// Writes a file that begins with these bytes once more, since the system may have failed to
    /// write them and forgotten it, and cuts it off behind them.
    fn rewrite(&self, name: &str, bytes: &[u8]) -> io::Result<Self::File>;
    /// Makes the bytes of a file durable.
    fn sync(&self, file: &mut Self::File) -> io::Result<()>;
    /// Renames a file, in place of another if there is one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes names durable: those created, renamed and removed.
    fn sync_directory(&self) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Removes what a stopped writer left under one of its names, but nothing that stands there and
    /// cannot be from one.
    fn remove_leftover(&self, name: &str) -> io::Result<()>;
    /// Creates a temporary file, here or elsewhere.
    fn spill(&self) -> Result<Self::Spill>;
}
