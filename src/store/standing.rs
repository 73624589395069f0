//! What stands in a directory before a commit.

use std::collections::HashSet;
use std::path::Path;

use crate::error::{Error, Result, Unsupported};
use crate::format::{self, LOCK_NAME, MANIFEST_NAME, MOST_NUMBERS, Manifest};
use crate::storage::Storage;

/// By which a manifest is told from another one: its length and a CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ManifestTag(usize, u32);

impl ManifestTag {
    /// That of a manifest of these bytes, damaged or not.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.len(), crc32fast::hash(bytes))
    }
}

/// The store that stands in a directory, if there is one, and what a stopped writer left there.
pub(crate) struct Standing {
    /// What it says of itself; `None` where there is none, or a damaged one.
    pub(crate) manifest: Option<Manifest>,
    /// The manifest that is there, damaged or not.
    pub(crate) tag: Option<ManifestTag>,
    /// The least number that a new segment can have.
    pub(crate) next_segment: u64,
    /// The least number that no log of it has had.
    pub(crate) next_log: u64,
    /// Its files.
    pub(crate) in_use: Vec<String>,
    /// Files that a stopped writer left.
    pub(crate) leftovers: Vec<String>,
}

impl Standing {
    /// Nothing.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        let (in_use, leftovers) = (Vec::new(), Vec::new());
        Self { manifest: None, tag: None, next_segment: 1, next_log: 1, in_use, leftovers }
    }

    /// Looks at a directory that is locked.
    pub(crate) fn read<S: Storage>(path: &Path, storage: &S) -> Result<Self> {
        let names = storage.names().map_err(Error::io(path, "list the directory"))?;
        let bytes = match names.iter().any(|name| name == MANIFEST_NAME) {
            true => {
                let bytes = storage.read(MANIFEST_NAME);
                Some(bytes.map_err(Error::io(path.join(MANIFEST_NAME), "read the manifest"))?)
            }
            false => None,
        };
        let tag = bytes.as_deref().map(ManifestTag::of);
        let manifest = bytes.and_then(|bytes| Manifest::decode(&bytes).ok());
        let named: HashSet<String> = manifest.iter().flat_map(named).collect();
        let is_open_log =
            |name: &str| manifest.as_ref().is_some_and(|manifest| is_open_log(name, manifest));
        let damaged = manifest.is_none() && tag.is_some();
        let (mut in_use, mut leftovers) = (Vec::new(), Vec::new());
        let mut next_segment = manifest.as_ref().map_or(1, |manifest| manifest.next_segment.max(1));
        let first_log =
            manifest.as_ref().and_then(|manifest| manifest.log).map(|log| log.first_log);
        let mut next_log = first_log.map_or(1, |first| first.saturating_add(1));
        for name in names.into_iter().filter(|name| name != LOCK_NAME) {
            if let Some(after) = format::segment_number(&name).and_then(|n| n.checked_add(1)) {
                next_segment = next_segment.max(after);
            }
            // No store has logs with greater numbers.
            if let Some(number) = format::log_number(&name).filter(|&log| log < MOST_NUMBERS) {
                next_log = next_log.max(number.saturating_add(1));
            }
            let is_writers = format::is_writers_name(&name);
            // The files of a damaged store stay until the new one stands.
            let is_named = name == MANIFEST_NAME || named.contains(&name) || is_open_log(&name);
            if is_named || (damaged && is_writers) {
                in_use.push(name);
            } else if is_writers {
                leftovers.push(name);
            }
        }
        Ok(Self { manifest, tag, next_segment, next_log, in_use, leftovers })
    }

    /// What the next manifest takes the place of, as
    /// [`Commit::prepare`](super::commit::Commit::prepare) takes it.
    pub(crate) fn replaced(&self) -> (Option<ManifestTag>, Vec<String>) {
        (self.tag, self.in_use.clone())
    }

    /// Removes what a stopped writer left.
    pub(crate) fn remove_leftovers<S: Storage>(&self, path: &Path, storage: &S) -> Result<()> {
        if !self.leftovers.is_empty() {
            // Of a manifest that came in place of another this may not be durable yet, which may
            // need them.
            storage.sync_directory().map_err(Error::io(path, "sync the directory"))?;
            storage.check_held()?;
        }
        self.leftovers.iter().try_for_each(|name| {
            storage
                .remove_leftover(name)
                .map_err(Error::io(path.join(name), "remove what a stopped pack left"))
        })
    }
}

/// Refuses to write what a program must know more to write; `path` is that of the store.
pub(crate) fn check_writer(manifest: &Manifest, path: &Path) -> Result<()> {
    let mut unknown = manifest.unknown.iter().map(|section| section.skipped());
    match unknown.find(|section| section.writers_must_know) {
        Some(section) => {
            let feature = Unsupported::WritersSection { kind: section.kind };
            Err(Error::Unsupported { path: path.join(MANIFEST_NAME), offset: 0, feature })
        }
        None => Ok(()),
    }
}

/// The names of the files that a manifest names, but for logs.
pub(crate) fn named(manifest: &Manifest) -> impl Iterator<Item = String> {
    let with_file = manifest.deletions.iter().filter(|entry| entry.file_bytes > 0);
    let deletions = with_file.map(|entry| format::deletions_name(entry.segment));
    manifest.segments.iter().flat_map(|segment| segment.file_names()).chain(deletions)
}

/// Whether this is the name of a log that may hold what the segments of a manifest do not.
pub(crate) fn is_open_log(name: &str, manifest: &Manifest) -> bool {
    let first = manifest.log.map(|log| log.first_log);
    format::log_number(name).zip(first).is_some_and(|(number, first)| number >= first)
}
