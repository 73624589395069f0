//! Copies stores, also such as are being written.
//!
//! A manifest names files that never change, and logs that only grow. So whoever has these files, and of each log a
//! part from its start on, has a state of the store. The manifest comes last, in one rename: whatever
//! stops a backup, the place holds the state before or the one after. A file that has gone meanwhile was dropped by a newer
//! manifest, with which the backup starts over.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commit::Commit;
use super::look::read_manifest;
use super::standing::{Standing, named};
use super::target::Target;
use crate::access::{Access, InDirectory};
use crate::error::{Error, Result};
use crate::files::{self, Temporary, Visible};
use crate::fingerprint::by_width;
use crate::format::{
    DeletionsEntry, MANIFEST_NAME, Manifest, SegmentEntry, deletions_name, log_name,
};
use crate::log::Follower;
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
    /// incremental; [`Error::OtherStore`] if that is no earlier state of this one; [`Error::Busy`] while another process
    /// writes there; [`Error::Io`].
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
        let summary = loop {
            let bytes = read_manifest(from)?;
            match self.ship(from, to, &bytes) {
                Err(error) if is_gone(&error) && attempts < ATTEMPTS => {
                    if read_manifest(from)? == bytes {
                        return Err(error);
                    }
                    attempts += 1;
                }
                result => break result?,
            }
        };
        drop(target);
        Ok(summary)
    }

    /// Brings the files of a manifest to the output, and then the manifest itself.
    fn ship(&self, from: &Path, to: &Path, bytes: &[u8]) -> Result<BackupSummary> {
        let manifest = Manifest::decode(bytes);
        let manifest = manifest.map_err(|defect| defect.in_file(&from.join(MANIFEST_NAME)))?;
        let storage = Arc::new(Directory::new(to, None));
        let standing = Standing::read(to, &*storage)?;
        standing.remove_leftovers(to, &*storage)?;
        let earlier = match &standing.manifest {
            Some(earlier) => {
                check_earlier(earlier, &manifest, to)?;
                Contents::of(earlier)
            }
            None => Contents::default(),
        };
        let now = Contents::of(&manifest);
        let mut files = NewFiles::new(to, Arc::clone(&storage));
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
            self.bring((from, to), &name, &mut files, &mut summary)?;
        }
        summary.log_bytes = copy_logs(from, to, &manifest)?;
        files.sync_names()?;
        // Before it is visible: what has come must be what the manifest says.
        by_width!(manifest.bits, F => drop(Base::<F>::open(&*storage, bytes, None)?));
        Commit::prepare(files, standing.in_use, &manifest, &mut PackTimes::default())?.publish()?;
        Ok(summary)
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

/// What of a store has gone, so that there may be a newer state.
fn is_gone(error: &Error) -> bool {
    use crate::error::Corruption::{DeletionsMissing, IdsMissing, LogMissing, TableMissing};
    match error {
        Error::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
        Error::Corrupt { corruption, .. } => {
            matches!(corruption, TableMissing | IdsMissing | DeletionsMissing | LogMissing)
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

/// Copies the logs of a store as far as their records are whole, the older first; gives the bytes.
fn copy_logs(from: &Path, to: &Path, manifest: &Manifest) -> Result<u64> {
    let Some(section) = &manifest.log else { return Ok(0) };
    let source = InDirectory { path: from, access: Access::Mapped };
    let ends: Vec<(u64, u64, Vec<u8>)> = by_width!(manifest.bits, F => {
        let logs = Follower::<F>::open(&source, section, manifest.store_id)?.into_logs();
        logs.iter().map(|log| (log.number(), log.end(), log.end_mark())).collect()
    });
    let mut all = 0;
    for (number, end, mark) in ends {
        let name = log_name(number);
        let (path, copied) = (from.join(&name), to.join(&name));
        let file = match files::open_regular(&path) {
            // That behind the last one may not be there yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound && end == 0 => continue,
            opened => opened.map_err(Error::io(&path, "open the log"))?,
        };
        let copy = |path: &PathBuf| -> io::Result<u64> {
            let temporary = Temporary::create(to, Visible::AsUsual)?;
            let bytes = copy_bytes(file, &mut temporary.file(), end)?;
            if bytes == end {
                temporary.file().write_all(&mark)?;
            }
            temporary.file().sync_all()?;
            temporary.persist(path, true)?;
            files::sync_directory(to)?;
            Ok(bytes)
        };
        all += copy(&copied).map_err(Error::io(&copied, "copy the log"))?;
    }
    Ok(all)
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
