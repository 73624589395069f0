//! The file operations that change a store, so that tests can stop at each of them and rebuild what
//! a crash would leave.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::format::TEMPORARY_PREFIX;
use crate::sort::Spill;

/// How often another name is tried for a temporary file that vanished before it was locked.
const SPILL_ATTEMPTS: usize = 10;

/// A directory in which a writer works. Names are those of files directly in it.
pub(super) trait Storage {
    /// A file being written.
    type File: Write + Send;
    /// A temporary file.
    type Spill: Spill;

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
    /// Creates a temporary file, here or elsewhere.
    fn spill(&self) -> Result<Self::Spill>;
}

/// A directory of the file system.
pub(super) struct Directory {
    path: PathBuf,
    /// Another one for temporary files.
    temporaries: Option<PathBuf>,
}

impl Directory {
    pub(super) fn new(path: &Path, temporaries: Option<&Path>) -> Self {
        Self { path: path.to_path_buf(), temporaries: temporaries.map(Path::to_path_buf) }
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

    fn spill(&self) -> Result<SpillFile> {
        let directory = self.temporaries.as_deref().unwrap_or(&self.path);
        if self.temporaries.is_some() {
            // Those in the directory of the store went before, under its lock.
            remove_dead_spills(directory)?;
        }
        SpillFile::create(directory)
    }
}

/// How the names of temporary files start.
fn spill_prefix() -> String {
    format!("{TEMPORARY_PREFIX}fpstore-")
}

/// Removes the temporary files that nobody holds locked: those of killed packs.
fn remove_dead_spills(directory: &Path) -> Result<()> {
    let failed = || Error::io(directory, "list the directory for temporary files");
    for entry in fs::read_dir(directory).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        if !entry.file_name().to_string_lossy().starts_with(&spill_prefix()) {
            continue;
        }
        // Another user's, or gone by now: not ours to remove.
        let Ok(file) = File::options().write(true).open(entry.path()) else {
            continue;
        };
        if file.try_lock().is_ok() {
            // While the lock is held: who has just created it sees that it is gone, and takes
            // another.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// A temporary file, locked as long as it is open.
pub(super) struct SpillFile {
    file: NamedTempFile,
}

impl SpillFile {
    fn create(directory: &Path) -> Result<Self> {
        for _ in 0..SPILL_ATTEMPTS {
            let file = tempfile::Builder::new()
                .prefix(&spill_prefix())
                .tempfile_in(directory)
                .map_err(Error::io(directory, "create a temporary file"))?;
            let is_ours = file.as_file().try_lock().is_ok()
                && super::target::is_file_at(file.as_file(), file.path());
            if is_ours {
                return Ok(Self { file });
            }
        }
        let gone = io::Error::other("others remove it at once");
        Err(Error::io(directory, "keep a temporary file")(gone))
    }
}

impl Spill for SpillFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        let written = positioned::write_all_at(self.file.as_file(), bytes, at);
        written.map_err(Error::io(self.file.path(), "write a temporary file"))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        let read = positioned::read_exact_at(self.file.as_file(), bytes, at);
        read.map_err(Error::io(self.file.path(), "read a temporary file"))
    }
}

/// Reads and writes at offsets, from any thread.
#[cfg(unix)]
mod positioned {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;

    pub(super) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
        file.read_exact_at(bytes, at)
    }
}

/// Reads and writes at offsets, from any thread.
#[cfg(windows)]
mod positioned {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::FileExt;

    pub(super) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match file.seek_write(bytes, at)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => (bytes, at) = (&bytes[written..], at + written as u64),
            }
        }
        Ok(())
    }

    pub(super) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match file.seek_read(bytes, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => (bytes, at) = (&mut bytes[read..], at + read as u64),
            }
        }
        Ok(())
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    // Only Unix lets a directory be opened and synced; elsewhere the file system orders renames
    // itself.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporaries_of_killed_packs_are_removed_and_those_of_running_ones_are_not() {
        let temporary = tempfile::tempdir().unwrap();
        let storage = Directory::new(Path::new("store"), Some(temporary.path()));
        let running = storage.spill().unwrap();
        running.write_at(b"mine", 0).unwrap();
        let dead = temporary.path().join(".tmp-fpstore-dead");
        fs::write(&dead, "whose?").unwrap();
        let foreign = temporary.path().join(".tmp-other");
        fs::write(&foreign, "theirs").unwrap();
        let second = storage.spill().unwrap();
        assert!(!dead.exists());
        assert!(foreign.exists());
        let mut bytes = [0; 4];
        running.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"mine");
        for spill in [running, second] {
            let path = spill.file.path().to_path_buf();
            assert!(path.exists());
            drop(spill);
            assert!(!path.exists());
        }
    }
}
