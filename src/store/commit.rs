//! What stood in a directory before a pack, and the files of the store that takes its place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::progress::{Meter, Metered, PackTimes, Phase};
use super::storage::Storage;
use crate::error::{Error, Result};
use crate::files::{self, Lock, Owner};
use crate::format::{
    self, IdMapTag, IdsEntry, LOCK_NAME, MANIFEST_NAME, MANIFEST_TEMPORARY, MAX_MANIFEST_BYTES,
    Manifest,
};
use crate::ids::{IdSource, IdsOptions, write_ids};
use crate::table::{TableOptions, TableWriter, WriteError, Written};

/// What is in the directory before a pack.
pub(super) struct OldStore {
    pub(super) next_segment: u64,
    /// What the manifest says of the store, if there is one: its id and generation.
    pub(super) identity: Option<(u128, u64)>,
    /// Files of the store that stands there.
    pub(super) in_use: Vec<String>,
    /// Files that a stopped writer left.
    leftovers: Vec<String>,
}

impl OldStore {
    pub(super) fn read<S: Storage>(path: &Path, storage: &S) -> Result<Self> {
        let names = storage.names().map_err(Error::io(path, "list the directory"))?;
        let manifest = if names.iter().any(|name| name == MANIFEST_NAME) {
            let bytes = storage.read(MANIFEST_NAME);
            let bytes = bytes.map_err(Error::io(&path.join(MANIFEST_NAME), "read the manifest"))?;
            Manifest::decode(&bytes).ok()
        } else {
            None
        };
        let named = |name: &String| {
            manifest.iter().flat_map(|manifest| &manifest.segments).any(|segment| {
                (0..segment.tables.len())
                    .any(|table| format::table_name(segment.number, table) == *name)
                    || (segment.ids.is_some() && format::ids_name(segment.number) == *name)
            })
        };
        let damaged = manifest.is_none() && names.iter().any(|name| name == MANIFEST_NAME);
        let (mut in_use, mut leftovers) = (Vec::new(), Vec::new());
        let mut next_segment = manifest.as_ref().map_or(1, |manifest| manifest.next_segment.max(1));
        for name in names.into_iter().filter(|name| name != LOCK_NAME) {
            if let Some(after) = format::segment_number(&name).and_then(|n| n.checked_add(1)) {
                next_segment = next_segment.max(after);
            }
            // The files of a damaged store stay until the new one stands.
            if name == MANIFEST_NAME || named(&name) || (damaged && format::is_writers_name(&name))
            {
                in_use.push(name);
            } else if format::is_writers_name(&name) {
                leftovers.push(name);
            }
        }
        let identity = manifest.map(|manifest| (manifest.store_id, manifest.generation));
        Ok(Self { next_segment, identity, in_use, leftovers })
    }

    pub(super) fn remove_leftovers<S: Storage>(&self, path: &Path, storage: &S) -> Result<()> {
        self.leftovers.iter().try_for_each(|name| {
            storage
                .remove_leftover(name)
                .map_err(Error::io(&path.join(name), "remove what a stopped pack left"))
        })
    }
}

/// The files of a store that is coming to be. Dropping it before they do belong to one removes them,
/// as far as the file system lets it.
pub(super) struct Commit<S: Storage> {
    path: PathBuf,
    storage: Arc<S>,
    /// Names of files that do not belong to a store yet.
    created: Vec<String>,
    /// Whether the manifest names them.
    committed: bool,
}

impl<S: Storage> Commit<S> {
    pub(super) fn new(path: &Path, storage: Arc<S>) -> Self {
        Self { path: path.to_path_buf(), storage, created: Vec::new(), committed: false }
    }

    fn create(&mut self, name: &str) -> Result<S::File> {
        let file = self.storage.create(name).map_err(self.error(name, "create the file"))?;
        self.created.push(name.to_string());
        Ok(file)
    }

    /// Writes and syncs a table whose keys `visit` gives, in pieces.
    pub(super) fn write_table(
        &mut self,
        segment: u64,
        options: &TableOptions,
        meter: &Meter,
        times: &mut PackTimes,
        visit: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
    ) -> Result<Written> {
        let name = format::table_name(segment, usize::from(options.table_number));
        let path = self.path.join(&name);
        let fail = |error| match error {
            WriteError::Io(source) => Error::io(&path, "write the table")(source),
            WriteError::Other(error) => error,
        };
        let mut file = self.create(&name)?;
        let mut out = Metered { out: &mut file, meter };
        let mut table = TableWriter::new(options, &mut out).map_err(fail)?;
        let mut progress = |keys| meter.advance(Phase::Encode, keys).map_err(WriteError::Other);
        visit(&mut |keys| table.push(keys, &mut progress).map_err(fail))?;
        let (written, write_times) = table.finish().map_err(fail)?;
        times.add(write_times);
        let start = Instant::now();
        self.storage.sync(&mut file).map_err(self.error(&name, "sync the table"))?;
        times.sync += start.elapsed();
        Ok(written)
    }

    /// Writes and syncs the ids of a segment.
    pub(super) fn write_ids(
        &mut self,
        segment: u64,
        options: &IdsOptions,
        source: &mut dyn IdSource,
        meter: &Meter,
        times: &mut PackTimes,
    ) -> Result<IdsEntry> {
        let name = format::ids_name(segment);
        let path = self.path.join(&name);
        let mut file = self.create(&name)?;
        let mut out = Metered { out: &mut file, meter };
        let start = Instant::now();
        let progress = |ids| meter.advance(Phase::Ids, ids);
        let written = write_ids(options, source, &mut out, &progress);
        let entry = written.map_err(|error| match error {
            WriteError::Io(source) => Error::io(&path, "write the ids")(source),
            WriteError::Other(error) => error,
        })?;
        times.write += start.elapsed();
        let start = Instant::now();
        self.storage.sync(&mut file).map_err(self.error(&name, "sync the ids"))?;
        times.sync += start.elapsed();
        Ok(entry)
    }

    /// Makes the names of the files durable, and the manifest under its temporary name; gives its bytes.
    pub(super) fn write_manifest(&mut self, manifest: &Manifest) -> Result<u64> {
        self.sync_directory()?;
        let name = MANIFEST_TEMPORARY;
        let mut file = self.create(name)?;
        let bytes = manifest.encode();
        file.write_all(&bytes).map_err(self.error(name, "write the manifest"))?;
        self.storage.sync(&mut file).map_err(self.error(name, "sync the manifest"))?;
        Ok(bytes.len() as u64)
    }

    /// Makes the files visible, and that durable, once the manifest is written.
    pub(super) fn publish(&mut self) -> Result<()> {
        let renamed = self.storage.rename(MANIFEST_TEMPORARY, MANIFEST_NAME);
        renamed.map_err(self.error(MANIFEST_TEMPORARY, "rename the manifest"))?;
        self.committed = true;
        self.sync_directory()
    }

    fn sync_directory(&self) -> Result<()> {
        let synced = self.storage.sync_directory();
        synced.map_err(self.error("", "sync the directory of"))
    }

    /// Removes files that the store does not need any more, as far as the file system lets it.
    pub(super) fn remove(&self, names: &[String]) {
        for name in names {
            let _ = self.storage.remove(name);
        }
    }

    fn error(&self, name: &str, action: &'static str) -> impl FnOnce(io::Error) -> Error + use<S> {
        Error::io(self.path.join(name), action)
    }
}

impl<S: Storage> Drop for Commit<S> {
    fn drop(&mut self) {
        if !self.committed {
            self.remove(&self.created);
        }
    }
}

/// Calls `act` with the map that a pack into `path` would have had which was killed before its store was
/// visible, if there is one, while no other pack writes there. For who brings the map into place.
pub(crate) fn with_unfinished_id_map(path: &Path, act: impl FnOnce(IdMapTag)) {
    let lock = Lock::take_existing(&path.join(LOCK_NAME), Owner::Anybody);
    let Ok(Some(_lock)) = lock else { return };
    let bytes = files::read_at_most(&path.join(MANIFEST_TEMPORARY), MAX_MANIFEST_BYTES);
    let manifest = bytes.ok().and_then(|bytes| Manifest::decode(&bytes).ok());
    if let Some(id_map) = manifest.and_then(|manifest| manifest.id_map) {
        act(id_map);
    }
}
