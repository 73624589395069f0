//! A directory of the file system.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::{Hold, Storage};
use crate::access::{Access, InDirectory, ReadFiles};
use crate::error::{Error, Result};
use crate::files::{self, DirectoryHandle};
use crate::format::MAX_MANIFEST_BYTES;
use crate::mapped::Bytes;
use crate::sort::Spill;

/// A directory of the file system that is locked for writing.
pub(crate) struct Directory {
    /// For messages.
    path: PathBuf,
    hold: OnceLock<Arc<Hold>>,
    /// Another one for temporary files.
    temporaries: Option<PathBuf>,
}

impl Directory {
    /// The directory at `path`, for who [enters](Self::enter) it later.
    pub(crate) fn new(path: &Path, temporaries: Option<&Path>) -> Self {
        Self {
            path: path.to_path_buf(),
            hold: OnceLock::new(),
            temporaries: temporaries.map(Path::to_path_buf),
        }
    }

    /// A directory that is held.
    pub(crate) fn held(hold: Arc<Hold>, temporaries: Option<&Path>) -> Self {
        let path = hold.directory().path().to_path_buf();
        Self { path, hold: OnceLock::from(hold), temporaries: temporaries.map(Path::to_path_buf) }
    }

    /// Works in a directory that is locked, from now on.
    pub(crate) fn enter(&self, hold: Arc<Hold>) {
        // Whoever works in one already stays there.
        let _ = self.hold.set(hold);
    }

    fn directory(&self) -> io::Result<&DirectoryHandle> {
        let hold = self.hold.get();
        hold.map(|hold| hold.directory()).ok_or_else(|| io::Error::other("it is not locked"))
    }

    fn files(&self) -> io::Result<InDirectory<'_>> {
        Ok(InDirectory { directory: self.directory()?, access: Access::Mapped })
    }
}

impl ReadFiles for Directory {
    fn bytes(&self, name: &str) -> io::Result<Bytes> {
        self.files()?.bytes(name)
    }

    fn bytes_from(&self, name: &str, start: u64) -> io::Result<Vec<u8>> {
        self.files()?.bytes_from(name, start)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Storage for Directory {
    type File = File;
    type Spill = SpillFile;

    fn check_held(&self) -> Result<()> {
        match self.hold.get() {
            Some(hold) => hold.check(),
            None => Ok(()),
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.directory()?.names()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = self.directory()?.open_regular(name);
        files::read_at_most_of(file, MAX_MANIFEST_BYTES)
    }

    fn create(&self, name: &str) -> io::Result<File> {
        self.directory()?.create_new(name)
    }

    fn link(&self, from: &DirectoryHandle, name: &str) -> io::Result<()> {
        self.directory()?.link(from, name)
    }

    fn open_at(&self, name: &str, at: u64) -> io::Result<File> {
        let mut file = self.directory()?.open_unfollowed(name)?;
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
        self.directory()?.rename(from, to)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory()?.sync()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.directory()?.remove(name)
    }

    fn remove_leftover(&self, name: &str) -> io::Result<()> {
        let directory = self.directory()?;
        // A temporary file may be that of a process whose store is elsewhere, and may have gone by
        // now.
        if !directory.has_regular(name) || files::is_file_locked(directory.open_unfollowed(name)) {
            return Ok(());
        }
        match directory.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn spill(&self) -> Result<SpillFile> {
        let (path, file) = match &self.temporaries {
            Some(path) => (path, files::nameless(path)),
            None => (&self.path, self.directory().and_then(DirectoryHandle::nameless)),
        };
        let file = file.map_err(Error::io(path, "create a temporary file"))?;
        Ok(SpillFile { file, directory: path.clone() })
    }
}

/// A temporary file without a name: however the process ends, it goes.
pub(crate) struct SpillFile {
    file: File,
    /// For messages.
    directory: PathBuf,
}

impl Spill for SpillFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        let written = files::write_all_at(&self.file, bytes, at);
        written.map_err(Error::io(&self.directory, "write a temporary file"))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        let read = files::read_exact_at(&self.file, bytes, at);
        read.map_err(Error::io(&self.directory, "read a temporary file"))
    }
}
