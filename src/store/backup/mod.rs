//! Copies stores, also such as are being written.
//!
//! A manifest names files that never change, and logs that only grow. So whoever has these files,
//! and of each log a part from its start on, has a state of the store. The copy has one log, which
//! holds what all logs of the store hold, under a number that no log at the output has had. All
//! files come before the manifest, whose rename is the only moment at which something changes:
//! whatever stops a backup, the output holds the state before, or none, or the one after. The log
//! leaves a number free behind those of the state before, which is how a reader of that state, and
//! a writer, know that it is no log of theirs. A file that has gone meanwhile was dropped by a
//! newer manifest, with which the backup starts over.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::commit::Commit;
use super::open::open_directory;
use super::standing::{Standing, check_writer, named};
use super::target::{Target, check_apart, check_other};
use crate::access::{Access, InDirectory};
use crate::error::{Error, Result};
use crate::files::DirectoryHandle;
use crate::fingerprint::{Fingerprint, by_width};
use crate::format::{
    DeletionsEntry, LogTag, MANIFEST_NAME, MOST_NUMBERS, Manifest, SegmentEntry, deletions_name,
    log_name,
};
use crate::log::{Follower, GatheredLogs, Sequences};
use crate::segment::{NewFiles, PackTimes};
use crate::snapshot::parts::Base;
use crate::storage::{Directory, Storage};

/// How often a backup starts over, since the store has dropped files meanwhile.
const ATTEMPTS: usize = 10;

/// What messages call the output.
const OUTPUT: &str = "the output of a backup";

/// Bytes that are copied between two looks at whether to stop.
const PIECE_BYTES: u64 = 64 << 20;

/// Copies a store to another directory, as it is at a moment, while it may be written. The copy is
/// a store with the same [id](crate::Snapshot::id) and [generation](crate::Snapshot::generation).
///
/// # Examples
///
/// ```
/// use fpstore::maintenance::Backup;
/// use fpstore::Store;
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
#[derive(Clone, Debug, Default)]
pub struct Backup {
    incremental: bool,
    copy: bool,
    cancel: Arc<AtomicBool>,
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
    /// Of these files those that are links: they take no space of their own, and share what happens
    /// to the disk.
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

    /// Whether the output may hold an earlier state of the same store: then only what that has not
    /// is shipped, and what the new state does not name is removed.
    pub fn incremental(mut self, incremental: bool) -> Self {
        self.incremental = incremental;
        self
    }

    /// Whether files are copied where a link would do.
    pub fn copy(mut self, copy: bool) -> Self {
        self.copy = copy;
        self
    }

    /// A flag that stops the backup with [`Error::Cancelled`] soon after it is set. What was copied
    /// is removed.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = cancel;
        self
    }

    /// Copies the store in the directory `store` to the directory `to`.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`](crate::Store::open) for both; [`Error::Exists`] if a store is there
    /// and the backup is not incremental; [`Error::InvalidOption`] if `to` is the store itself, or
    /// lies in it; [`Error::OtherStore`] if what is there is no earlier state of this one, or was
    /// written to since, as far as its segments and logs tell; [`Error::Busy`] while another
    /// process writes there; [`Error::Displaced`] if another directory comes to be at `to`
    /// meanwhile; [`Error::Cancelled`]; [`Error::Io`].
    pub fn run(&self, store: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<BackupSummary> {
        let (from, to) = (store.as_ref(), to.as_ref());
        let (mut directory, mut bytes) = open_directory(from)?;
        check_apart(from, to, OUTPUT)?;
        let target = Target::lock(to, self.incremental)?;
        check_other(&directory, &target.hold(), OUTPUT)?;
        let storage = Arc::new(Directory::held(target.hold(), None));
        let mut attempts = 1;
        loop {
            match self.stage((&directory, &bytes), to, &storage) {
                Err(error) if is_late(&error) && attempts < ATTEMPTS => {
                    // What it misses is missing, unless a writer that began has changed the logs
                    // meanwhile, or the store was replaced.
                    let (now, now_bytes) = open_directory(from)?;
                    if attempts > 1 && now_bytes == bytes && now.id().ok() == directory.id().ok() {
                        return Err(error);
                    }
                    (directory, bytes) = (now, now_bytes);
                    attempts += 1;
                }
                staged => return staged?.publish(),
            }
        }
    }

    /// Brings the files of a manifest to the output, where nothing is seen of them yet.
    fn stage<S: Storage>(
        &self,
        (from, bytes): (&DirectoryHandle, &[u8]),
        to: &Path,
        storage: &Arc<S>,
    ) -> Result<Staged<S>> {
        let manifest = Manifest::decode(bytes);
        let manifest = manifest.map_err(|defect| defect.in_file(&from.path_of(MANIFEST_NAME)))?;
        by_width!(manifest.bits, F => self.stage_width::<F, S>((from, manifest), to, storage))
    }

    fn stage_width<F: Fingerprint, S: Storage>(
        &self,
        (from, mut manifest): (&DirectoryHandle, Manifest),
        to: &Path,
        storage: &Arc<S>,
    ) -> Result<Staged<S>> {
        if manifest.log.is_some() {
            // The number of its log changes.
            check_writer(&manifest, from.path())?;
        }
        let standing = Standing::read(to, &**storage)?;
        if standing.manifest.is_none() && standing.tag.is_some() {
            // Whatever it is, it cannot be told to be an earlier state of this store.
            return Err(Error::OtherStore { path: to.to_path_buf() });
        }
        standing.remove_leftovers(to, &**storage)?;
        let source = &InDirectory { directory: from, access: Access::Mapped };
        let read = |log| GatheredLogs::read::<F>(source, log, manifest.store_id);
        let logs = manifest.log.as_ref().map(read).transpose()?;
        let earlier = match &standing.manifest {
            Some(earlier) => {
                check_earlier(earlier, &manifest, to)?;
                check_logs::<F, S>(&**storage, earlier, logs.as_ref(), to)?;
                Contents::of(earlier)
            }
            None => Contents::default(),
        };
        let now = Contents::of(&manifest);
        let mut files = NewFiles::new(to, Arc::clone(storage));
        let mut summary = BackupSummary {
            generation: manifest.generation,
            segments: manifest.segments.len() as u64,
            ..BackupSummary::default()
        };
        for name in named(&manifest) {
            if now.tag(&name).is_some() && now.tag(&name) == earlier.tag(&name) {
                summary.kept += 1;
                continue;
            }
            self.bring(from, &name, &mut files, &mut summary)?;
        }
        if let Some((section, logs)) = manifest.log.as_mut().zip(logs) {
            // Behind one that no log has: see the head of this file.
            let number = logs.last_number().saturating_add(1).max(standing.next_log);
            let number = number.saturating_add(1);
            if number >= MOST_NUMBERS {
                return Err(Error::NoSegmentNumber { path: to.to_path_buf() });
            }
            let tag = LogTag { store_id: manifest.store_id, number };
            let (name, (start, records)) = (log_name(number), logs.into_log(tag));
            let mut log = files.create(&name)?;
            let written = log.write_all(&start).and_then(|()| log.write_all(&records));
            written.map_err(files.error(&name, "write the log"))?;
            files.sync(&mut log, &name, "sync the log")?;
            section.first_log = number;
            summary.log_bytes = (start.len() + records.len()) as u64;
        }
        // Before it is visible: what has come must be what the manifest says.
        drop(Base::<F>::open(&**storage, &manifest.encode(), None, 0)?);
        if let Some(section) = &manifest.log {
            drop(Follower::<F, Sequences>::open(&**storage, section, manifest.store_id)?);
        }
        let times = &mut PackTimes::default();
        let commit = Commit::prepare(files, standing.replaced(), &manifest, times)?;
        Ok(Staged { commit, summary })
    }

    /// Links or copies a file that does not change.
    fn bring<S: Storage>(
        &self,
        from: &DirectoryHandle,
        name: &str,
        files: &mut NewFiles<S>,
        summary: &mut BackupSummary,
    ) -> Result<()> {
        self.check()?;
        let path = from.path_of(name);
        let opened = from.open_regular(name).map_err(Error::io(&path, "open the file"))?;
        let data = opened.metadata().map_err(Error::io(&path, "look at the file"))?;
        summary.files += 1;
        summary.bytes = summary.bytes.saturating_add(data.len());
        if !self.copy && files.storage().link(from, name).is_ok() {
            files.add(name);
            summary.linked += 1;
            return Ok(());
        }
        let mut copy = files.create(name)?;
        loop {
            let copied = io::copy(&mut (&opened).take(PIECE_BYTES), &mut copy);
            if copied.map_err(files.error(name, "copy the file"))? == 0 {
                break;
            }
            self.check()?;
        }
        files.sync(&mut copy, name, "sync the copy")
    }

    fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// A backup whose files are there, and not seen yet. Dropping it leaves what was there before.
struct Staged<S: Storage> {
    commit: Commit<S>,
    summary: BackupSummary,
}

impl<S: Storage> Staged<S> {
    fn publish(self) -> Result<BackupSummary> {
        self.commit.publish()?;
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
    let place = |segment: &SegmentEntry| {
        now.segments.binary_search_by_key(&segment.number, |entry| entry.number)
    };
    // A packed store gets an id of its own with its first insertion.
    let is_packed = earlier.log.is_none() && earlier.store_id != now.store_id;
    let is_known = |segment: &SegmentEntry| match place(segment) {
        Ok(place) => now.segments[place] == *segment,
        Err(_) => !is_packed && segment.number < now.next_segment,
    };
    let is_same_store = is_packed || earlier.store_id == now.store_id;
    let is_same_state = earlier.generation != now.generation || said(earlier) == said(now);
    if is_same_store
        && earlier.generation <= now.generation
        && is_same_state
        && earlier.segments.iter().all(is_known)
    {
        return Ok(());
    }
    Err(Error::OtherStore { path: to.to_path_buf() })
}

/// The manifest, but for the number of the log, which is another one in a copy.
fn said(manifest: &Manifest) -> Vec<u8> {
    let mut manifest = manifest.clone();
    if let Some(log) = &mut manifest.log {
        log.first_log = 1;
    }
    manifest.encode()
}

/// Refuses a copy that was written to, as far as its logs tell: what they hold must have been in
/// those of the store.
fn check_logs<F: Fingerprint, S: Storage>(
    storage: &S,
    earlier: &Manifest,
    now: Option<&GatheredLogs>,
    to: &Path,
) -> Result<()> {
    let (Some(section), Some(now)) = (&earlier.log, now) else { return Ok(()) };
    // Damage is no reason to refuse it: it is about to be replaced.
    let copied = GatheredLogs::salvage::<F>(storage, section, earlier.store_id);
    match copied.is_beginning_of::<F>(now) {
        true => Ok(()),
        false => Err(Error::OtherStore { path: to.to_path_buf() }),
    }
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
