//! Copies stores, also such as are being written.
//!
//! A manifest names files that never change, and logs that only grow. So whoever has these files, and of each log a
//! part from its start on, has a state of the store. What the manifest names comes first, then the manifest in one rename, and
//! then the logs, the older first: were they there before, the manifest before might lead to them past logs that
//! came since. Whatever stops a backup, the place holds the state before, the one after, or that one up to some record of its
//! logs. A file that has gone meanwhile was dropped by a newer manifest, with which the backup starts over.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commit::Commit;
use super::look::read_manifest;
use super::standing::{Standing, named};
use super::target::Target;
use crate::access::{Access, InDirectory, ReadFiles};
use crate::error::{Error, Result};
use crate::files::{self, Temporary, Visible};
use crate::fingerprint::{Fingerprint, by_width};
use crate::format::{
    DeletionsEntry, MANIFEST_NAME, Manifest, SegmentEntry, deletions_name, log_name,
};
use crate::log::{FollowedLog, Follower};
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
        by_width!(manifest.bits, F => drop(Base::<F>::open(&*storage, bytes, None)?));
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

/// A log of the store that is copied, as far as its records are whole.
struct WholeLog {
    number: u64,
    end: u64,
    /// What stands behind the end of a copy.
    mark: Vec<u8>,
}

/// The logs that a manifest leads to, the older first.
fn logs_of<F: Fingerprint>(path: &Path, manifest: &Manifest) -> Result<Vec<WholeLog>> {
    let Some(section) = &manifest.log else { return Ok(Vec::new()) };
    let files = InDirectory { path, access: Access::Mapped };
    let logs = Follower::<F>::open(&files, section, manifest.store_id)?.into_logs();
    let whole = |log: &FollowedLog<F>| {
        let (number, end, mark) = (log.number(), log.end(), log.end_mark());
        WholeLog { number, end, mark }
    };
    Ok(logs.iter().map(whole).collect())
}

/// Refuses a copy that was written to, as far as its logs tell: they must be beginnings of those of the store, or of such as
/// segments hold by now.
fn check_logs<F: Fingerprint>(
    (from, now): (&Path, &Manifest),
    (to, earlier): (&Path, &Manifest),
) -> Result<()> {
    let (Some(section), Some(section_now)) = (&earlier.log, &now.log) else { return Ok(()) };
    let copies = InDirectory { path: to, access: Access::Mapped };
    // Damage is no reason to refuse it: it is about to be replaced.
    let copied = Follower::<F>::salvage(&copies, section, earlier.store_id).0;
    let logs = InDirectory { path: from, access: Access::Mapped };
    let other = || Err(Error::OtherStore { path: to.to_path_buf() });
    for log in copied.into_logs() {
        if log.number() < section_now.first_log {
            if log.into_generation().next_sequence() > section_now.sequence + 1 {
                return other();
            }
            continue;
        }
        let name = log_name(log.number());
        let whole = |files: &InDirectory| match files.bytes_from(&name, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(Error::io(files.path.join(&name), "read the log")),
        };
        let (copy, end) = (whole(&copies)?, log.end() as usize);
        if !whole(&logs)?.starts_with(&copy[..end.min(copy.len())]) {
            return other();
        }
    }
    Ok(())
}

/// A log at the output that has not its name yet.
struct CopiedLog {
    temporary: Temporary,
    name: String,
    bytes: u64,
}

impl WholeLog {
    /// Copies it beside its place; `None` if it is not there yet, as may be behind the last one.
    fn copy(self, from: &Path, to: &Path) -> Result<Option<CopiedLog>> {
        let name = log_name(self.number);
        let (path, copied) = (from.join(&name), to.join(&name));
        let file = match files::open_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.end == 0 => {
                return Ok(None);
            }
            opened => opened.map_err(Error::io(&path, "open the log"))?,
        };
        let copy = || -> io::Result<CopiedLog> {
            let temporary = Temporary::create(to, Visible::AsUsual)?;
            let bytes = copy_bytes(file, &mut temporary.file(), self.end)?;
            if bytes == self.end {
                temporary.file().write_all(&self.mark)?;
            }
            temporary.file().sync_all()?;
            Ok(CopiedLog { temporary, name, bytes })
        };
        copy().map(Some).map_err(Error::io(&copied, "copy the log"))
    }
}

impl CopiedLog {
    /// Brings it to its place.
    fn publish(self, to: &Path) -> Result<()> {
        let path = to.join(&self.name);
        let place = || {
            self.temporary.persist(&path, true)?;
            files::sync_directory(to)
        };
        place().map_err(Error::io(&path, "copy the log"))
    }
}

/// Copies so many bytes of a file, or as many as it has.
fn copy_bytes(from: File, to: &mut impl Write, most: u64) -> io::Result<u64> {
    io::copy(&mut from.take(most), to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Durability, Packer, Store, StoreOptions, Writer, WriterOptions};

    fn writer(path: &Path) -> Writer {
        let options = WriterOptions::new().background(false);
        StoreOptions::new().ids(false).writer(options).create(path).unwrap()
    }

    fn all(path: &Path) -> Vec<u64> {
        let store = Store::open(path).unwrap();
        store.verify().unwrap();
        store.iter().collect::<Result<_>>().unwrap()
    }

    #[test]
    fn a_backup_of_a_store_that_is_written_is_a_state_of_it_and_the_next_ships_what_is_new() {
        let directory = tempfile::tempdir().unwrap();
        let (path, to) = (directory.path().join("store"), directory.path().join("copy"));
        let writer = writer(&path);
        writer.insert_fingerprints(&[1, 2, 3]).unwrap();
        writer.flush().unwrap();
        writer.insert_fingerprints(&[4]).unwrap();
        writer.commit(Durability::Eventual).unwrap();
        let backup = Backup::new().copy(true);
        let first = backup.run(&path, &to).unwrap();
        assert_eq!((first.segments, first.files, first.linked, first.kept), (1, 1, 0, 0));
        assert!(first.log_bytes > 0);
        assert_eq!(all(&to), [1, 2, 3, 4]);
        assert!(matches!(backup.run(&path, &to), Err(Error::Exists { .. })));
        let again = backup.incremental(true).run(&path, &to).unwrap();
        assert_eq!((again.files, again.kept), (0, 1));
        writer.delete_fingerprint(1).unwrap();
        writer.flush().unwrap();
        writer.insert_fingerprints(&[5]).unwrap();
        writer.commit(Durability::Immediate).unwrap();
        let second = Backup::new().incremental(true).run(&path, &to).unwrap();
        assert_eq!((second.segments, second.files, second.kept), (2, 2, 1));
        assert_eq!(all(&to), [2, 3, 4, 5]);
        writer.merge_all().unwrap();
        backup.incremental(true).run(&path, &to).unwrap();
        writer.close().unwrap();
        assert_eq!(all(&to), [2, 3, 4, 5]);
        let mut names: Vec<_> =
            fs::read_dir(&to).unwrap().map(|at| at.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names.len(), 4, "one table, one log, the manifest, the lock: {names:?}");
        // The copy takes insertions, and is no earlier state then.
        let writer = Store::open_writer(&to).unwrap();
        writer.insert_fingerprints(&[6]).unwrap();
        writer.flush().unwrap();
        writer.close().unwrap();
        let refused = backup.incremental(true).run(&path, &to);
        assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
    }

    #[test]
    fn damage_to_the_last_record_of_a_copied_log_is_told_from_a_crash() {
        let directory = tempfile::tempdir().unwrap();
        let (path, to) = (directory.path().join("store"), directory.path().join("copy"));
        let writer = writer(&path);
        writer.insert_fingerprints(&[1, 2]).unwrap();
        writer.commit(Durability::Eventual).unwrap();
        Backup::new().run(&path, &to).unwrap();
        writer.close().unwrap();
        let name = log_name(1);
        let mut log = fs::read(to.join(&name)).unwrap();
        assert_eq!(log, fs::read(path.join(&name)).unwrap());
        // In the payload of its only record.
        log[90] ^= 1;
        fs::write(to.join(&name), log).unwrap();
        assert_eq!(Store::open(&to).unwrap_err().rule(), Some("LOG-3"));
    }

    /// A copy with a record in its first log, of a store that has made a segment of it and another log since.
    fn old_copy(directory: &Path) -> (PathBuf, PathBuf) {
        let (path, to) = (directory.join("store"), directory.join("copy"));
        let writer = writer(&path);
        writer.insert_fingerprints(&[1, 2]).unwrap();
        writer.commit(Durability::Immediate).unwrap();
        Backup::new().copy(true).run(&path, &to).unwrap();
        writer.flush().unwrap();
        writer.insert_fingerprints(&[3]).unwrap();
        writer.commit(Durability::Immediate).unwrap();
        (path, to)
    }

    #[test]
    fn a_backup_that_fails_or_stops_anywhere_leaves_a_state_of_the_store() {
        let directory = tempfile::tempdir().unwrap();
        let (path, to) = old_copy(directory.path());
        let backup = Backup::new().copy(true).incremental(true);
        let stage = || backup.stage(&path, &to, &read_manifest(&path).unwrap()).unwrap();
        drop(stage());
        assert_eq!(all(&to), [1, 2]);
        let mut files = fs::read_dir(&path).unwrap().map(|at| at.unwrap().path());
        let table = files.find(|at| at.extension().is_some_and(|end| end == "fpt")).unwrap();
        let sound = fs::read(&table).unwrap();
        let mut damaged = sound.clone();
        damaged[20] ^= 1;
        fs::write(&table, damaged).unwrap();
        assert!(matches!(backup.run(&path, &to), Err(Error::Corrupt { .. })));
        assert_eq!(all(&to), [1, 2]);
        fs::write(&table, sound).unwrap();
        // Stopped between the manifest and the log.
        let Staged { commit, logs, .. } = stage();
        commit.publish().unwrap();
        drop(logs);
        assert_eq!(all(&to), [1, 2]);
        assert_eq!(Store::open(&to).unwrap().stats().unwrap().segments.len(), 1);
        backup.run(&path, &to).unwrap();
        assert_eq!(all(&to), [1, 2, 3]);
    }

    #[test]
    fn a_copy_that_was_written_to_is_not_replaced() {
        for flushed in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let (path, to) = old_copy(directory.path());
            if flushed {
                Backup::new().incremental(true).run(&path, &to).unwrap();
            }
            let copy = Store::open_writer(&to).unwrap();
            copy.insert_fingerprints(&[7, 8]).unwrap();
            copy.close().unwrap();
            let before = all(&to);
            let refused = Backup::new().incremental(true).run(&path, &to);
            assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
            assert_eq!(all(&to), before);
        }
    }

    #[test]
    fn another_store_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (path, to) = (directory.path().join("store"), directory.path().join("other"));
        Packer::new().pack(&path, [1u64]).unwrap();
        Packer::new().pack(&to, [2u64]).unwrap();
        let refused = Backup::new().incremental(true).run(&path, &to);
        assert!(matches!(refused, Err(Error::OtherStore { .. })), "{refused:?}");
        let refused = Backup::new().incremental(true).run(&path, &path);
        assert!(matches!(refused, Err(Error::Exists { .. })), "{refused:?}");
        assert_eq!((all(&to), all(&path)), (vec![2], vec![1]));
        let missing = Backup::new().run(directory.path().join("none"), directory.path().join("x"));
        assert!(matches!(missing, Err(Error::NotAStore { .. })), "{missing:?}");
        assert!(!directory.path().join("x").exists());
    }
}
