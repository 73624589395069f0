//! Files that belong to no store yet.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::storage::Storage;

/// The files of a segment that is coming to be, or of several. Dropping them before they are
/// [kept](Self::keep) removes them, as far as the file system lets it.
pub(crate) struct NewFiles<S: Storage> {
    path: PathBuf,
    storage: Arc<S>,
    /// Names of files that do not belong to a store yet.
    created: Vec<String>,
}

impl<S: Storage> NewFiles<S> {
    /// None so far, in the directory `path`.
    pub(crate) fn new(path: &Path, storage: Arc<S>) -> Self {
        Self { path: path.to_path_buf(), storage, created: Vec::new() }
    }

    /// Where they are.
    pub(crate) fn storage(&self) -> &S {
        &self.storage
    }

    /// Creates a file that must not exist.
    pub(crate) fn create(&mut self, name: &str) -> Result<S::File> {
        let file = self.storage.create(name).map_err(self.error(name, "create the file"))?;
        self.created.push(name.to_string());
        Ok(file)
    }

    /// Removes unless [kept](Self::keep) also a file that somebody else has created.
    pub(crate) fn add(&mut self, name: &str) {
        self.created.push(name.to_string());
    }

    /// Makes the bytes of a file durable.
    pub(crate) fn sync(&self, file: &mut S::File, name: &str, action: &'static str) -> Result<()> {
        self.storage.sync(file).map_err(self.error(name, action))
    }

    /// Makes the names durable.
    pub(crate) fn sync_names(&self) -> Result<()> {
        self.storage.sync_directory().map_err(self.error("", "sync the directory of"))
    }

    /// The files belong to a store now.
    pub(crate) fn keep(&mut self) {
        self.created.clear();
    }

    /// Removes files, as far as the file system lets it.
    pub(crate) fn remove(&self, names: &[String]) {
        for name in names {
            let _ = self.storage.remove(name);
        }
    }

    /// Wraps an I/O error on a file.
    pub(crate) fn error(
        &self,
        name: &str,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Error + use<S> {
        Error::io(self.path.join(name), action)
    }
}

impl<S: Storage> Drop for NewFiles<S> {
    fn drop(&mut self) {
        self.remove(&self.created);
    }
}
