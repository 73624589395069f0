//! Makes written segments a store: by one rename of a manifest.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::edit;
use crate::error::Result;
use crate::files::{self, Lock, Owner};
use crate::format::{
    IdMapTag, LOCK_NAME, MANIFEST_NAME, MANIFEST_TEMPORARY, MAX_MANIFEST_BYTES, Manifest,
};
use crate::segment::{NewFiles, PackTimes};
use crate::storage::Storage;

/// A manifest that is written, durable, and not visible yet. Dropping it leaves what was there before.
pub(crate) struct Commit<S: Storage> {
    files: NewFiles<S>,
    /// Files of the store that stands there, and not of the new one.
    dropped: Vec<String>,
    /// Bytes of the manifest.
    pub(crate) manifest_bytes: u64,
}

impl<S: Storage> Commit<S> {
    /// Makes the names of `files` durable, and the manifest under its temporary name, which takes the place
    /// of that which has the files `in_use`.
    pub(crate) fn prepare(
        mut files: NewFiles<S>,
        in_use: Vec<String>,
        manifest: &Manifest,
        times: &mut PackTimes,
    ) -> Result<Self> {
        let start = Instant::now();
        files.sync_names()?;
        let name = MANIFEST_TEMPORARY;
        let mut file = files.create(name)?;
        let bytes = manifest.encode();
        // Nobody could open the store, and what it was is gone.
        Manifest::decode(&bytes).map_err(|defect| defect.in_file(&files.storage().path(name)))?;
        file.write_all(&bytes).map_err(files.error(name, "write the manifest"))?;
        files.sync(&mut file, name, "sync the manifest")?;
        times.sync += start.elapsed();
        let dropped = edit::dropped(in_use, manifest);
        Ok(Self { files, dropped, manifest_bytes: bytes.len() as u64 })
    }

    /// Makes the store visible, and that durable. What is not needed any more is removed, as far as the file
    /// system lets it; the rest goes with the next commit.
    pub(crate) fn publish(mut self) -> Result<()> {
        self.show()?;
        self.finish()
    }

    /// Makes the store visible. After an error it is not.
    pub(crate) fn show(&mut self) -> Result<()> {
        let renamed = self.files.storage().rename(MANIFEST_TEMPORARY, MANIFEST_NAME);
        renamed.map_err(self.files.error(MANIFEST_TEMPORARY, "rename the manifest"))?;
        self.files.keep();
        Ok(())
    }

    /// Makes it durable that the store is visible, and removes what it does not need.
    pub(crate) fn finish(self) -> Result<()> {
        self.files.sync_names()?;
        self.files.remove(&self.dropped);
        Ok(())
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
