//! What stands in a directory before a commit.

use std::path::Path;

use crate::error::{Error, Result};
use crate::format::{self, LOCK_NAME, MANIFEST_NAME, Manifest};
use crate::storage::Storage;

/// The store that stands in a directory, if there is one, and what a stopped writer left there.
pub(super) struct Standing {
    /// What it says of itself; `None` where there is none, or a damaged one.
    pub(super) manifest: Option<Manifest>,
    /// The least number that a new segment can have.
    pub(super) next_segment: u64,
    /// Its files.
    pub(super) in_use: Vec<String>,
    /// Files that a stopped writer left.
    pub(super) leftovers: Vec<String>,
}

impl Standing {
    /// Nothing.
    #[cfg(test)]
    pub(super) fn empty() -> Self {
        let (in_use, leftovers) = (Vec::new(), Vec::new());
        Self { manifest: None, next_segment: 1, in_use, leftovers }
    }

    /// Looks at a directory that is locked.
    pub(super) fn read<S: Storage>(path: &Path, storage: &S) -> Result<Self> {
        let names = storage.names().map_err(Error::io(path, "list the directory"))?;
        let manifest = if names.iter().any(|name| name == MANIFEST_NAME) {
            let bytes = storage.read(MANIFEST_NAME);
            let bytes = bytes.map_err(Error::io(path.join(MANIFEST_NAME), "read the manifest"))?;
            Manifest::decode(&bytes).ok()
        } else {
            None
        };
        let named: Vec<String> =
            manifest.iter().flat_map(|manifest| &manifest.segments).flat_map(files_of).collect();
        let damaged = manifest.is_none() && names.iter().any(|name| name == MANIFEST_NAME);
        let (mut in_use, mut leftovers) = (Vec::new(), Vec::new());
        let mut next_segment = manifest.as_ref().map_or(1, |manifest| manifest.next_segment.max(1));
        for name in names.into_iter().filter(|name| name != LOCK_NAME) {
            if let Some(after) = format::segment_number(&name).and_then(|n| n.checked_add(1)) {
                next_segment = next_segment.max(after);
            }
            let is_writers = format::is_writers_name(&name);
            // The files of a damaged store stay until the new one stands.
            if name == MANIFEST_NAME || named.contains(&name) || (damaged && is_writers) {
                in_use.push(name);
            } else if is_writers {
                leftovers.push(name);
            }
        }
        Ok(Self { manifest, next_segment, in_use, leftovers })
    }

    /// Removes what a stopped writer left.
    pub(super) fn remove_leftovers<S: Storage>(&self, path: &Path, storage: &S) -> Result<()> {
        self.leftovers.iter().try_for_each(|name| {
            storage
                .remove_leftover(name)
                .map_err(Error::io(path.join(name), "remove what a stopped pack left"))
        })
    }
}

/// The names of the files of a segment.
pub(super) fn files_of(segment: &format::SegmentEntry) -> Vec<String> {
    let tables = (0..segment.tables.len()).map(|table| format::table_name(segment.number, table));
    tables.chain(segment.ids.as_ref().map(|_| format::ids_name(segment.number))).collect()
}
