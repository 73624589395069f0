//! Copies stores, also such as are being written.
//!
//! A manifest names files that never change, and logs that only grow. So whoever has these files, and of each log a
//! part from its start on, has a state of the store. What the manifest names comes first, then the manifest in one rename, and
//! then the logs, the older first: were they there before, the manifest before might lead to them past logs that
//! came since. Whatever stops a backup, the place holds the state before, the one after, or that one up to some record of its
//! logs. A file that has gone meanwhile was dropped by a newer manifest, with which the backup starts over.

mod logs;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use logs::{CopiedLog, check_logs, copy_bytes, logs_of};

use super::commit::Commit;
use super::look::read_manifest;
use super::standing::{Standing, named};
use super::target::Target;
use crate::error::{Error, Result};
use crate::files;
use crate::fingerprint::by_width;
use crate::format::{
    DeletionsEntry, MANIFEST_NAME, Manifest, SegmentEntry, deletions_name, log_name,
};
use crate::segment::{NewFiles, PackTimes};
use crate::snapshot::parts::Base;
use crate::storage::Directory;

/// How often a backup starts over, since the store has dropped files meanwhile.
const ATTEMPTS: usize = 10;

/// Copies a store to another directory, as it is at a moment, while it may be written. The copy is a store with the
/// same [id](crate::Snapshot::id) and [generation](crate::Snapshot::generation).
///
/// # Examples
///
/// ```
/// use fpstore::{Backup, Store};
///
/// let directory = tempfile::tempdir()?;
/// let (path, copy) = (directory.path().join("pages"), directory.path().join("copy"));
/// let writer = Store::create(&path)?;
/// writer.insert(0b1011, 7)?;
/// writer.commit(fpstore::Durability::Immediate)?;
/// Backup::new().run(&path, &copy)?;
/// assert!(Store::open(&copy)?.contains(0b1011)?);
///
/// writer.insert(0b1111, 8)?;
/// writer.commit(fpstore::Durability::Immediate)?;
/// Backup::new().incremental(true).run(&path, &copy)?;
/// assert!(Store::open(&copy)?.contains(0b1111)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Backup {
    incremental: bool,
    copy: bool,
}

/// What a [`Backup`] has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupSummary {
    /// The generation of the store that is there now.
    pub generation: u64,
    /// Segments that it has.
    pub segments: u64,
    /// Files that were linked or copied, logs not counted.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Of these files those that are links: they take no space of their own, and share what happens to the disk.
    pub linked: u64,
    /// Files that were there from an earlier backup.
    pub kept: u64,
    /// Bytes of logs that were copied.
    pub log_bytes: u64,
}

impl Backup {
    /// A backup to a new or empty directory, by links where the file system has them.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the output may hold an earlier state of the same store: then only what that has not is shipped, and
    /// what the new state does not name is removed.
    pub fn incremental(mut self, incremental: bool) -> Self {
        self.incremental = incremental;
        self
    }

    /// Whether files are copied where a link would do.
    pub fn copy(mut self, copy: bool) -> Self {
        self.copy = copy;
        self
    }

    /// Copies the store in the directory `store` to the directory `to`.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`](crate::Store::open) for both; [`Error::Exists`] if a store is there and the backup is not
    /// incremental; [`Error::OtherStore`] if that is no earlier state of this one, or was written to since, as far as its
    /// segments and logs tell; [`Error::Busy`] while another process writes there; [`Error::Io`].
    pub fn run(&self, store: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<BackupSummary> {
        let (from, to) = (store.as_ref(), to.as_ref());
        drop(read_manifest(from)?);
        if let (Ok(one), Ok(other)) = (fs::canonicalize(from), fs::canonicalize(to))
            && one == other
        {
            return Err(Error::Exists { path: to.to_path_buf() });
        }
        let target = Target::lock(to, self.incremental)?;
        let mut attempts = 1;
        let staged = loop {
            let bytes = read_manifest(from)?;
            match self.stage(from, to, &bytes) {
                Err(error) if is_late(&error) && attempts < ATTEMPTS => {
                    // What it misses is missing, unless a writer that began has changed the logs meanwhile.
                    if attempts > 1 && read_manifest(from)? == bytes {
                        return Err(error);
                    }
                    attempts += 1;
                }
                staged => break staged?,
            }
        };
        let summary = staged.publish()?;
        drop(target);
        Ok(summary)
    }

    /// Brings the files of a manifest to the output, where nothing is seen of them yet.
    fn stage(&self, from: &Path, to: &Path, bytes: &[u8]) -> Result<Staged> {
        let manifest = Manifest::decode(bytes);
        let manifest = manifest.map_err(|defect| defect.in_file(&from.join(MANIFEST_NAME)))?;
        let storage = Arc::new(Directory::new(to, None));
        let standing = Standing::read(to, &*storage)?;
        standing.remove_leftovers(to, &*storage)?;
        let logs = by_width!(manifest.bits, F => logs_of::<F>(from, &manifest)?);
        let earlier = match &standing.manifest {
            Some(earlier) => {
                check_earlier(earlier, &manifest, to)?;
                by_width!(manifest.bits, F => check_logs::<F>((from, &manifest), (to, earlier))?);
                Contents::of(earlier)
            }
            None => Contents::default(),
        };
        let logs: Vec<CopiedLog> = logs
            .into_iter()
            .map(|log| log.copy(from, to))
            .filter_map(Result::transpose)
            .collect::<Result<_>>()?;
        let now = Contents::of(&manifest);
        let mut files = NewFiles::new(to, Arc::clone(&storage));
        let mut summary = BackupSummary {
            generation: manifest.generation,
            segments: manifest.segments.len() as u64,
            log_bytes: logs.iter().map(|log| log.bytes).sum(),
            ..BackupSummary::default()
        };
        for name in named(&manifest) {
            if now.tag(&name).is_some() && now.tag(&name) == earlier.tag(&name) {
                summary.kept += 1;
                continue;
            }
            self.bring((from, to), &name, &mut files, &mut summary)?;
        }
        let first_log = manifest.log.map(|log| log_name(log.first_log));
        if let Some(name) = first_log.filter(|name| !standing.in_use.contains(name)) {
            // Empty, it says nothing to who reads the manifest before.
            let mut log = files.create(&name)?;
            files.sync(&mut log, &name, "sync the log")?;
        }
        // Before it is visible: what has come must be what the manifest says.
        by_width!(manifest.bits, F => drop(Base::<F>::open(&*storage, bytes, None, 0)?));
        let times = &mut PackTimes::default();
        let commit = Commit::prepare(files, standing.in_use, &manifest, times)?;
        Ok(Staged { commit, logs, to: to.to_path_buf(), summary })
    }

    /// Links or copies a file that does not change.
    fn bring(
        &self,
        (from, to): (&Path, &Path),
        name: &str,
        files: &mut NewFiles<Directory>,
        summary: &mut BackupSummary,
    ) -> Result<()> {
        let from = &from.join(name);
        let opened = files::open_regular(from).map_err(Error::io(from, "open the file"))?;
        let data = opened.metadata().map_err(Error::io(from, "look at the file"))?;
        summary.files += 1;
        summary.bytes = summary.bytes.saturating_add(data.len());
        if !self.copy && fs::hard_link(from, to.join(name)).is_ok() {
            files.add(name);
            summary.linked += 1;
            return Ok(());
        }
        let mut copy = files.create(name)?;
        copy_bytes(opened, &mut copy, u64::MAX).map_err(files.error(name, "copy the file"))?;
        files.sync(&mut copy, name, "sync the copy")
    }
}

/// A backup whose files are there, and not seen yet. Dropping it leaves what was there before.
struct Staged {
    commit: Commit<Directory>,
    logs: Vec<CopiedLog>,
    to: PathBuf,
    summary: BackupSummary,
}

impl Staged {
    fn publish(self) -> Result<BackupSummary> {
        self.commit.publish()?;
        for log in self.logs {
            log.publish(&self.to)?;
        }
        Ok(self.summary)
    }
}

/// Whether this may come from reading a manifest, and then what another one has dropped or changed.
fn is_late(error: &Error) -> bool {
    match error {
        Error::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
        Error::Corrupt { corruption, .. } => {
            corruption.may_be_a_file_that_went() || corruption.may_be_a_log_that_changed()
        }
        _ => false,
    }
}

/// Refuses what is no earlier state of a store, as far as ids, generations and segments tell.
fn check_earlier(earlier: &Manifest, now: &Manifest, to: &Path) -> Result<()> {
    let is_same_store = earlier.store_id == now.store_id && earlier.generation <= now.generation;
    let is_same_state = earlier.generation != now.generation || earlier.encode() == now.encode();
    let is_known = |segment: &&SegmentEntry| {
        let place = now.segments.binary_search_by_key(&segment.number, |entry| entry.number);
        place.map_or(segment.number < now.next_segment, |place| now.segments[place] == **segment)
    };
    if is_same_store && is_same_state && earlier.segments.iter().all(|at| is_known(&at)) {
        return Ok(());
    }
    Err(Error::OtherStore { path: to.to_path_buf() })
}

/// Of each file what its manifest says of it: equal words stand for equal files.
#[derive(Default)]
struct Contents<'a>(HashMap<String, Tag<'a>>);

/// What a manifest says of a file.
#[derive(PartialEq)]
enum Tag<'a> {
    OfSegment(&'a SegmentEntry),
    Deletions(&'a DeletionsEntry),
}

impl<'a> Contents<'a> {
    fn of(manifest: &'a Manifest) -> Self {
        let mut files = HashMap::new();
        for segment in &manifest.segments {
            files.extend(segment.file_names().map(|name| (name, Tag::OfSegment(segment))));
        }
        for entry in &manifest.deletions {
            files.insert(deletions_name(entry.segment), Tag::Deletions(entry));
        }
        Self(files)
    }

    fn tag(&self, name: &str) -> Option<&Tag<'a>> {
        self.0.get(name)
    }
}
