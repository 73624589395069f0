//! The file operations that change a store, so that tests can stop at each of them and rebuild what
//! a crash would leave.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::access::{Access, InDirectory, ReadFiles};
use crate::error::{Error, Result};
use crate::files::{self, Temporary, Visible};
use crate::format::MAX_MANIFEST_BYTES;
use crate::mapped::Bytes;
use crate::sort::Spill;

/// A directory in which a writer works. Names are those of files directly in it.
pub(crate) trait Storage: ReadFiles + Send + Sync {
    /// A file being written.
    type File: Write + Send;
    /// A temporary file.
    type Spill: Spill;

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// The bytes of a manifest; of one that is too long only so many that this shows.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Creates a file that must not exist.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Opens a file that exists, and goes on at offset `at`. What stands there is written over.
    fn open_at(&self, name: &str, at: u64) -> io::Result<Self::File>;
    /// Writes a file that begins with these bytes once more, since the system may have failed to write them and forgotten
    /// it, and cuts it off behind them.
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

/// A directory of the file system.
pub(crate) struct Directory {
    path: PathBuf,
    /// Another one for temporary files.
    temporaries: Option<PathBuf>,
}

impl Directory {
    pub(crate) fn new(path: &Path, temporaries: Option<&Path>) -> Self {
        Self { path: path.to_path_buf(), temporaries: temporaries.map(Path::to_path_buf) }
    }
}

impl Directory {
    fn files(&self) -> InDirectory<'_> {
        InDirectory { path: &self.path, access: Access::Mapped }
    }
}

impl ReadFiles for Directory {
    fn bytes(&self, name: &str) -> io::Result<Bytes> {
        self.files().bytes(name)
    }

    fn bytes_from(&self, name: &str, start: u64) -> io::Result<Vec<u8>> {
        self.files().bytes_from(name, start)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files().path(name)
    }
}

impl Storage for Directory {
    type File = File;
    type Spill = SpillFile;

    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        files::read_at_most(&self.path.join(name), MAX_MANIFEST_BYTES)
    }

    fn create(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    fn open_at(&self, name: &str, at: u64) -> io::Result<File> {
        let mut file = OpenOptions::new().write(true).open(self.path.join(name))?;
        file.seek(SeekFrom::Start(at))?;
        Ok(file)
    }

    fn rewrite(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        let mut file = self.open_at(name, 0)?;
        // The same bytes: whatever happens in between, they are there.
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        Ok(file)
    }

    fn sync(&self, file: &mut File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn sync_directory(&self) -> io::Result<()> {
        files::sync_directory(&self.path)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn remove_leftover(&self, name: &str) -> io::Result<()> {
        let path = self.path.join(name);
        // A temporary file may be that of a process whose store is elsewhere, and may have gone by now.
        let is_file = fs::symlink_metadata(&path).is_ok_and(|data| data.is_file());
        if !is_file || files::is_locked(&path) {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn spill(&self) -> Result<SpillFile> {
        let directory = self.temporaries.as_deref().unwrap_or(&self.path);
        if self.temporaries.is_some() {
            // Those in the directory of the store went before, under its lock.
            files::remove_dead(directory);
        }
        let created = Temporary::create(directory, Visible::ToMe);
        created.map(SpillFile).map_err(Error::io(directory, "create a temporary file"))
    }
}

/// A temporary file.
pub(crate) struct SpillFile(Temporary);

impl Spill for SpillFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        let written = files::write_all_at(self.0.file(), bytes, at);
        written.map_err(Error::io(self.0.path(), "write a temporary file"))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        let read = files::read_exact_at(self.0.file(), bytes, at);
        read.map_err(Error::io(self.0.path(), "read a temporary file"))
    }
}
