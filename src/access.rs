//! How the files of a store are read: mapped, into memory, or from memory.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::files::DirectoryHandle;
use crate::mapped::Bytes;

/// Where the files of a store are read from.
pub(crate) trait ReadFiles {
    /// The bytes of a file, which does not change.
    fn bytes(&self, name: &str) -> io::Result<Bytes>;
    /// The bytes of a file that may grow, from `start` on; none if it is shorter.
    fn bytes_from(&self, name: &str, start: u64) -> io::Result<Vec<u8>>;
    /// What messages call a file.
    fn path(&self, name: &str) -> PathBuf;
}

/// How the files of a store are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Mapped,
    InMemory,
}

/// The files in a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InDirectory<'a> {
    pub(crate) directory: &'a DirectoryHandle,
    pub(crate) access: Access,
}

impl ReadFiles for InDirectory<'_> {
    fn bytes(&self, name: &str) -> io::Result<Bytes> {
        let file = self.directory.open_regular(name)?;
        match self.access {
            Access::Mapped => Bytes::map(&file),
            Access::InMemory => Bytes::read(&file),
        }
    }

    fn bytes_from(&self, name: &str, start: u64) -> io::Result<Vec<u8>> {
        let mut file = self.directory.open_regular(name)?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path_of(name)
    }
}

/// Files in memory. Each is given away once.
#[derive(Default)]
pub(crate) struct InMemory {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl InMemory {
    /// Adds a file.
    pub(crate) fn insert(&self, name: String, bytes: Vec<u8>) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(name, bytes);
    }
}

impl ReadFiles for InMemory {
    fn bytes(&self, name: &str) -> io::Result<Bytes> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = files.remove(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Bytes::Owned(bytes))
    }

    fn bytes_from(&self, _name: &str, _start: u64) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("memory").join(name)
    }
}
