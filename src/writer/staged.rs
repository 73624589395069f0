//! A new store that is written in several commits, and seen when all of it is there.

use std::path::Path;
use std::sync::Arc;

use super::core::{Core, StoredId};
use super::create::create;
use super::options::StoreOptions;
use crate::error::Result;
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;
use crate::format::{Change, Operation};
use crate::id::AsId;
use crate::storage::{Storage, Unfinished};

/// A store that takes records of any window. Dropping it before it is [finished](Self::finish)
/// leaves files that are no store.
pub(crate) struct StagedStore<F: Fingerprint, S: Storage> {
    core: Core<F, Unfinished<S>>,
    storage: Unfinished<S>,
}

impl<F: Fingerprint, S: Storage> StagedStore<F, S> {
    /// Creates an empty store in a directory that is locked, and in which there is none.
    ///
    /// # Errors
    ///
    /// As [`StoreOptions::create`].
    pub(crate) fn create(
        options: &StoreOptions<F>,
        path: &Path,
        storage: Arc<S>,
        execution: Execution,
    ) -> Result<Self> {
        options.check()?;
        let storage = Unfinished::new(storage);
        let (settings, of_store, shape) = options.empty_store()?;
        create(path, &Arc::new(storage.clone()), &settings, of_store, shape)?;
        let core = Core::open(path, storage.clone(), options.writer.most_in_memory(), execution)?;
        Ok(Self { core, storage })
    }

    /// Inserts records into a window: fingerprints, with ids where the store has them.
    ///
    /// # Errors
    ///
    /// As [`Writer::insert`](crate::Writer::insert).
    pub(crate) fn insert(&self, records: &[(F, impl AsId)], window: u64) -> Result<()> {
        let ids: Vec<_> = records.iter().map(|(_, id)| StoredId::new(id.as_id())).collect();
        let insertion = |(&(fingerprint, _), id)| {
            let id = self.core.logged(id)?;
            Ok(Operation { change: Change::Insert, fingerprint, id, window })
        };
        let operations = records.iter().zip(&ids).map(insertion).collect::<Result<Vec<_>>>()?;
        self.core.write(&operations)
    }

    /// Makes one segment of each window, and the store visible.
    ///
    /// # Errors
    ///
    /// As [`Writer::merge_all`](crate::Writer::merge_all);
    /// [`Error::Displaced`](crate::Error::Displaced).
    pub(crate) fn finish(self) -> Result<()> {
        self.core.flush()?;
        self.core.merge_all()?;
        self.storage.finish()
    }
}
