//! A writer without threads: every step is a call, so that tests can stop between any two. Commits
//! are steps, too.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::front::Front;
use super::settings::Settings;
use super::signals::{Signals, Task};
use super::slowing::{self, LEAST_DELAY, MOST_DELAY};
use crate::error::{Corruption, Error, Result};
use crate::execution::Execution;
use crate::fingerprint::{Fingerprint, bytes_of};
use crate::format::{
    Defect, LogTag, LoggedId, LoggedOperation, MANIFEST_NAME, MANIFEST_TEMPORARY, Manifest,
    RecordShape, log_name, log_number,
};
use crate::hot_index;
use crate::id::{IdKind, IdRef};
use crate::ids::check_kind;
use crate::log::{FollowedLog, Follower, LogWriter, keep_log};
use crate::query::search::Searcher;
use crate::segment::{NewFiles, PackTimes};
use crate::snapshot::Snapshot;
use crate::snapshot::parts::Base;
use crate::storage::Storage;
use crate::store::commit::Commit;
use crate::store::edit::Edit;
use crate::store::standing::{ManifestTag, Standing, check_writer, named};

/// Operations from which on a log is long: a writer that ends makes a segment of it. To read so
/// many takes a millisecond, and to write their segment some ten, once for all of them.
pub(super) const LONG_LOG: u64 = 1 << 13;

/// Operations that are written together at most: a longer list is cut.
pub(super) const MOST_TOGETHER: usize = 1 << 15;
/// Bytes of these at most: they are one record of the log.
const MOST_BYTES_TOGETHER: usize = 1 << 23;

/// A store that is written.
///
/// Locks are taken in the order merging, flushing, log, back, front; nobody writes to the disk with
/// the front locked. (A search of [`Core::search_and_insert`] may read it there: that is what keeps
/// others from writing in between.)
pub(super) struct Core<F: Fingerprint, S: Storage> {
    pub(super) path: PathBuf,
    pub(super) storage: Arc<S>,
    pub(super) settings: Settings,
    pub(super) shape: RecordShape,
    /// The length of a window.
    pub(super) window_seconds: Option<u64>,
    /// What ids are, if there are some.
    id_kind: IdKind,
    /// Operations of a generation.
    pub(super) capacity: usize,
    /// How segments are merged.
    pub(super) execution: Execution,
    /// How they are written first: with threads of their own, since a merge may hold the others for
    /// minutes.
    pub(super) flush_execution: Execution,
    front: Mutex<Front<F>>,
    log: Mutex<LogWriter<S>>,
    back: Mutex<Back>,
    /// Held while a generation becomes a segment, and while segments are merged.
    pub(super) flushing: Mutex<()>,
    pub(super) merging: Mutex<()>,
    /// Bytes written to the store, but for logs, and to logs.
    pub(super) written_bytes: AtomicU64,
    pub(super) logged_bytes: Arc<AtomicU64>,
    stopping: Arc<AtomicBool>,
    /// Wakes those who write logs, flush and merge.
    pub(super) signals: Arc<Signals>,
}

/// What is written to the directory.
pub(super) struct Back {
    /// The names of all files of the store, and of some that are to be removed.
    pub(super) in_use: Vec<String>,
    pub(super) next_segment: u64,
    /// Of the logs, when the manifest was written last.
    pub(super) log_bytes: u64,
}

impl Back {
    /// A number for a segment of the store at `path`.
    pub(super) fn take_number(&mut self, path: &Path) -> Result<u64> {
        let number = self.next_segment;
        // [SEG-4] leaves the last number unused.
        let next = number.checked_add(1).filter(|&next| next < u64::MAX);
        self.next_segment =
            next.ok_or_else(|| Error::NoSegmentNumber { path: path.to_path_buf() })?;
        Ok(number)
    }
}

/// An id, and its bytes where it is a name.
pub(super) struct StoredId<'a> {
    id: Option<IdRef<'a>>,
    name: Cow<'a, [u8]>,
}

impl<'a> StoredId<'a> {
    pub(super) fn new(id: Option<IdRef<'a>>) -> Self {
        Self { id, name: id.map_or(Cow::Borrowed(&[]), |id| id.name()) }
    }
}

/// As many of the first operations as are written together.
fn first_together<'a, 'b, F: Fingerprint>(
    operations: &'a [LoggedOperation<'b, F>],
) -> &'a [LoggedOperation<'b, F>] {
    let mut bytes = 0;
    let fits = |operation: &&LoggedOperation<'_, F>| {
        bytes += bytes_of::<F>() + 24;
        if let LoggedId::Name(name) = operation.id {
            bytes += name.len();
        }
        bytes <= MOST_BYTES_TOGETHER
    };
    let count = operations.iter().take(MOST_TOGETHER).take_while(fits).count();
    &operations[..count.max(1)]
}

/// A mutex whose holder has panicked is taken all the same: what it guards is whole between any two
/// steps.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Fingerprint, S: Storage> Core<F, S> {
    /// Opens the store that stands in a locked directory, and reads its logs.
    ///
    /// # Errors
    ///
    /// As [`Store::open`](crate::Store::open); [`Error::Unsupported`] if a program must know more
    /// to write it.
    pub(super) fn open(
        path: &Path,
        storage: S,
        capacity: usize,
        execution: Execution,
    ) -> Result<Self> {
        let storage = Arc::new(storage);
        let bytes = storage.read(MANIFEST_NAME);
        let bytes = bytes.map_err(Error::io(path.join(MANIFEST_NAME), "read the manifest"))?;
        let base = Arc::new(Base::open(&*storage, &bytes, None, hot_index::default_memory())?);
        check_writer(&base.manifest, path)?;
        let standing = Standing::read(path, &*storage)?;
        standing.remove_leftovers(path, &*storage)?;
        let settings = Settings::of_store::<F>(&base.manifest);
        let Standing { next_segment, mut in_use, .. } = standing;
        let Some(section) = base.manifest.log else {
            return Err(Error::Ended);
        };
        let shape = section.shape;
        let store_id = base.manifest.store_id;
        let follower: Follower<F> = Follower::open(&*storage, &section, store_id)?;
        let mut logs = follower.into_logs();
        let last = logs.pop().ok_or(Error::Ended)?;
        // What a backup that was stopped wrote, and no log of this store leads to: nothing is
        // written behind a log without its end.
        let is_stray = |name: &String| log_number(name).is_some_and(|log| log > last.number());
        if last.end() == 0 && in_use.iter().any(is_stray) {
            let name = log_name(last.number());
            return Err(Defect::corrupt(0, Corruption::LogMissing).in_file(&path.join(name)));
        }
        for name in in_use.extract_if(.., |name| is_stray(name)) {
            let removed = storage.check_held().map(|()| storage.remove_leftover(&name));
            removed?.map_err(Error::io(path.join(&name), "remove what a stopped backup left"))?;
        }
        let back = Back { in_use, next_segment, log_bytes: 0 };
        // Written before, and counted with the next segment.
        let log_bytes = logs.iter().chain([&last]).map(|log| log.end()).sum();
        // What follows them must not be durable before them. The last one may not exist.
        for log in logs.iter().chain([&last]).filter(|log| log.end() > 0) {
            if !log.is_durable(&*storage) {
                keep_log(&*storage, log.number(), log.end())?;
            }
        }
        storage.sync_directory().map_err(Error::io(path, "sync the directory"))?;
        let sealed: VecDeque<_> = logs.into_iter().map(FollowedLog::into_contents).collect();
        let (number, extent) = (last.number(), (last.start(), last.end()));
        let generation = last.into_contents();
        let tag = LogTag { store_id, number };
        let log = LogWriter::resume(
            Arc::clone(&storage),
            (tag, shape),
            extent,
            generation.next_sequence(),
        )?;
        let windows = base.manifest.windows.as_ref();
        let id_kind = base.id_kind();
        let window_seconds = windows.map(|windows| windows.seconds);
        let stopping = Arc::new(AtomicBool::new(false));
        let execution = execution.cancelled_also_by(Arc::clone(&stopping));
        let flush_execution = execution.clone().threads(execution.thread_count());
        let front = Front::new(base, shape, capacity, sealed, generation);
        Ok(Self {
            path: path.to_path_buf(),
            storage,
            settings,
            shape,
            window_seconds,
            id_kind,
            capacity,
            execution,
            flush_execution,
            front: Mutex::new(front),
            logged_bytes: log.written_bytes(),
            log: Mutex::new(log),
            back: Mutex::new(back),
            flushing: Mutex::new(()),
            merging: Mutex::new(()),
            written_bytes: AtomicU64::new(log_bytes),
            stopping,
            signals: Arc::default(),
        })
    }

    pub(super) fn front(&self) -> MutexGuard<'_, Front<F>> {
        locked(&self.front)
    }

    pub(super) fn back(&self) -> MutexGuard<'_, Back> {
        locked(&self.back)
    }

    pub(super) fn log(&self) -> MutexGuard<'_, LogWriter<S>> {
        locked(&self.log)
    }

    /// What is seen now.
    pub(super) fn snapshot(&self) -> Snapshot<F> {
        self.front().snapshot()
    }

    /// Writes operations: they are seen from now on, and become durable with the log. Those of a
    /// list that is not longer than [`MOST_TOGETHER`] are seen, and survive a crash, all together
    /// or not at all.
    ///
    /// # Errors
    ///
    /// Where what was written before cannot become a segment, and there is no room; nothing of
    /// these operations is written then, or the first ones of a longer list.
    pub(super) fn write(&self, operations: &[LoggedOperation<'_, F>]) -> Result<()> {
        let mut rest = operations;
        while !rest.is_empty() {
            let operations = first_together(rest);
            rest = &rest[operations.len()..];
            self.with_room(operations.len(), |front| {
                front.admit(operations, &self.path)?;
                front.push(operations);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Calls `act` with room for so many operations.
    pub(super) fn with_room<T>(
        &self,
        operations: usize,
        act: impl FnOnce(&mut Front<F>) -> Result<T>,
    ) -> Result<T> {
        loop {
            let mut front = self.front();
            if !front.is_full(operations) {
                let result = act(&mut front);
                let is_handed_on = front.is_handed_on();
                drop(front);
                if !is_handed_on {
                    self.signals.request(Task::Log);
                }
                return result;
            }
            if front.sealed.is_empty() {
                front.seal();
                drop(front);
                self.signals.request(Task::Flush);
                continue;
            }
            drop(front);
            // Waits for the one that is on its way; makes it a segment if nobody else does.
            self.flush_oldest()?;
        }
    }

    /// How long who wrote so many operations is to wait, since what it wrote before is not in
    /// segments yet, or these are too many.
    pub(super) fn take_delay(&self, operations: usize) -> Option<Duration> {
        let mut front = self.front();
        let behind = (!front.sealed.is_empty()).then(|| front.fullness());
        let delay = slowing::delay(front.to_merge, behind);
        front.debt += delay * operations as u32;
        let is_due = front.debt >= LEAST_DELAY;
        is_due.then(|| std::mem::take(&mut front.debt).min(MOST_DELAY))
    }

    /// Ends what runs in the background, soon.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.signals.stop();
    }

    /// Whether what runs in the background is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// An id as the log holds it.
    ///
    /// # Errors
    ///
    /// [`Error::MixedIds`], [`Error::IdKinds`], [`Error::Name`].
    pub(super) fn logged<'a>(&self, id: &'a StoredId<'_>) -> Result<LoggedId<'a>> {
        let Some(of) = id.id else {
            return if self.shape.ids { Err(Error::MixedIds) } else { Ok(LoggedId::Number(0)) };
        };
        if !self.shape.ids {
            return Err(Error::MixedIds);
        }
        check_kind(self.id_kind, of)?;
        if self.shape.names.is_some() {
            return Ok(LoggedId::Name(&id.name));
        }
        let number = of.number();
        Ok(LoggedId::Number(number))
    }

    /// Searches what is seen now, or what of it lies in windows from one on, and writes the
    /// operation that `search` gives, if it gives one; nobody writes in between.
    pub(super) fn search_and_insert<'a>(
        &self,
        first_window: Option<u64>,
        search: impl FnOnce(&mut Searcher<F>) -> Result<Option<LoggedOperation<'a, F>>>,
    ) -> Result<()> {
        self.with_room(1, |front| {
            if let Some(operation) = search(front.searcher(first_window))? {
                front.admit(&[operation], &self.path)?;
                front.push(&[operation]);
            }
            Ok(())
        })
    }

    /// Hands what was written to the log, and makes it durable if that is wanted.
    pub(super) fn write_log(&self, durable: bool) -> Result<()> {
        let wanted = self.front().next_sequence();
        let mut log = self.log();
        // Somebody else may have done it meanwhile.
        if log.next_durable() >= wanted || (!durable && log.next_written() >= wanted) {
            // It is acknowledged now, where it is found again.
            return if durable { self.storage.check_held() } else { Ok(()) };
        }
        let pending = self.front().take_pending();
        log.enqueue(pending);
        if durable { log.sync() } else { log.write() }
    }

    /// Notes that all that stands in logs is durable, if there is something and it is.
    pub(super) fn note_end(&self) {
        let is_written = {
            let front = self.front();
            front.is_handed_on() && (front.has_operations() || !front.sealed.is_empty())
        };
        if is_written {
            self.log().note_end();
        }
    }

    /// New files, which are removed unless they come into a manifest.
    pub(super) fn new_files(&self) -> NewFiles<S> {
        NewFiles::new(&self.path, Arc::clone(&self.storage))
    }

    /// Counts bytes that were written.
    pub(super) fn wrote(&self, bytes: u64) {
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Bytes that a manifest counts: all of logs, and others that were written.
struct Counted {
    log: u64,
    written: u64,
}

impl<F: Fingerprint, S: Storage> Core<F, S> {
    /// Commits an edit, with the files that it needs, behind which segments hold so many of the
    /// oldest logs. What is seen changes with it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: then nothing has changed, unless only the last sync failed.
    pub(super) fn commit(
        &self,
        files: NewFiles<S>,
        (edit, flushed): (Edit, usize),
        back: &mut Back,
    ) -> Result<()> {
        let before = Arc::clone(&self.front().base);
        let mut manifest = edit.apply(&before.manifest, back.next_segment, &self.path)?;
        let counted = self.count_bytes(&mut manifest, flushed, back);
        let bytes = manifest.encode();
        self.storage.check_held()?;
        // An attempt that failed may have left it.
        let _ = self.storage.remove(MANIFEST_TEMPORARY);
        back.in_use.extend(named(&manifest));
        back.in_use.sort_unstable();
        back.in_use.dedup();
        let times = &mut PackTimes::default();
        let mut prepared = Commit::prepare(
            files,
            (Some(ManifestTag::of(&before.bytes)), back.in_use.clone()),
            &manifest,
            times,
        )?;
        // Before it is visible: else the next commit would build on what is not there any more.
        let base = Base::open(&*self.storage, &bytes, Some(&before), hot_index::default_memory())?;
        prepared.show()?;
        // It is visible, whether or not that is durable.
        self.forget_bytes(counted, back);
        self.wrote(bytes.len() as u64);
        let published = prepared.finish();
        if let Some(names) = self.storage.names().ok().filter(|_| published.is_ok()) {
            // What could not be removed is tried again with the next commit.
            let names: HashSet<String> = names.into_iter().collect();
            back.in_use.retain(|name| names.contains(name));
        }
        self.front().adopt(Arc::new(base), flushed);
        published
    }

    /// Adds to a manifest what was written since the last commit, and what was inserted into so
    /// many logs that segments hold by now, with the ids that are taken; gives what was written.
    fn count_bytes(&self, manifest: &mut Manifest, flushed: usize, back: &Back) -> Counted {
        let log = self.logged_bytes.load(Ordering::Relaxed);
        let written = self.written_bytes.load(Ordering::Relaxed);
        // Whoever inserted it may have ended since.
        let (inserted, next_id) = {
            let front = self.front();
            (front.inserted_bytes(flushed), front.next_id(flushed))
        };
        if let Some(section) = &mut manifest.log {
            let all = written.saturating_add(log.saturating_sub(back.log_bytes));
            section.written_bytes = section.written_bytes.saturating_add(all);
            section.inserted_bytes = section.inserted_bytes.saturating_add(inserted);
            section.next_id = section.next_id.max(next_id);
        }
        Counted { log, written }
    }

    /// What a manifest counts by now is not to be counted again.
    fn forget_bytes(&self, counted: Counted, back: &mut Back) {
        back.log_bytes = counted.log;
        self.written_bytes.fetch_sub(counted.written, Ordering::Relaxed);
    }
}
