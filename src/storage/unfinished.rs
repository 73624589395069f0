//! A store that is not to be seen before all of it is there.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::Storage;
use crate::access::ReadFiles;
use crate::error::{Displacement, Error, Result};
use crate::files::DirectoryHandle;
use crate::format::{MANIFEST_NAME, MANIFEST_UNFINISHED};
use crate::mapped::Bytes;

/// A directory whose manifest has a name under which nobody opens it, until it is
/// [finished](Self::finish): for who writes a store in several commits that mean nothing alone.
pub(crate) struct Unfinished<S>(Arc<S>);

impl<S> Clone for Unfinished<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Storage> Unfinished<S> {
    pub(crate) fn new(storage: Arc<S>) -> Self {
        Self(storage)
    }

    /// Gives the manifest its name, durably. After an error it may have it.
    ///
    /// # Errors
    ///
    /// [`Error::Displaced`], [`Error::Io`].
    pub(crate) fn finish(self) -> Result<()> {
        let Self(storage) = self;
        storage.check_held()?;
        if !matches!(storage.read(MANIFEST_NAME), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            let path = storage.path("");
            return Err(Error::Displaced { path, by: Displacement::Rewritten });
        }
        let error = |action| Error::io(storage.path(MANIFEST_NAME), action);
        let renamed = storage.rename(MANIFEST_UNFINISHED, MANIFEST_NAME);
        renamed.map_err(error("name the manifest"))?;
        storage.sync_directory().map_err(error("sync the directory of"))
    }
}

/// The name that a file has in the directory.
fn inside(name: &str) -> &str {
    if name == MANIFEST_NAME { MANIFEST_UNFINISHED } else { name }
}

impl<S: Storage> ReadFiles for Unfinished<S> {
    fn bytes(&self, name: &str) -> io::Result<Bytes> {
        self.0.bytes(inside(name))
    }

    fn bytes_from(&self, name: &str, start: u64) -> io::Result<Vec<u8>> {
        self.0.bytes_from(inside(name), start)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(inside(name))
    }
}

impl<S: Storage> Storage for Unfinished<S> {
    type File = S::File;
    type Spill = S::Spill;

    fn check_held(&self) -> Result<()> {
        self.0.check_held()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let outside = |name: String| match &*name {
            MANIFEST_UNFINISHED => MANIFEST_NAME.to_string(),
            _ => name,
        };
        Ok(self.0.names()?.into_iter().map(outside).collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.0.read(inside(name))
    }

    fn create(&self, name: &str) -> io::Result<S::File> {
        self.0.create(inside(name))
    }

    fn link(&self, from: &DirectoryHandle, name: &str) -> io::Result<()> {
        self.0.link(from, name)
    }

    fn open_at(&self, name: &str, at: u64) -> io::Result<S::File> {
        self.0.open_at(inside(name), at)
    }

    fn rewrite(&self, name: &str, bytes: &[u8]) -> io::Result<S::File> {
        self.0.rewrite(inside(name), bytes)
    }

    fn sync(&self, file: &mut S::File) -> io::Result<()> {
        self.0.sync(file)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(inside(from), inside(to))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(inside(name))
    }

    fn remove_leftover(&self, name: &str) -> io::Result<()> {
        self.0.remove_leftover(inside(name))
    }

    fn spill(&self) -> Result<S::Spill> {
        self.0.spill()
    }
}
