//! The writer of a store, with its threads.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::core::{Core, StoredId};
use super::create::{create, enliven};
use super::options::{Durability, StoreOptions, WriterOptions};
use super::signals::{Signals, Task};
use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;
use crate::format::{Change, LoggedId, LoggedOperation, Operation};
use crate::id::AsId;
use crate::snapshot::Snapshot;
use crate::snapshot::union::Match;
use crate::storage::Directory;
use crate::store::target::Target;
use crate::store::{Store, width_of};

/// Writes a store, while any number of readers, in this process and others, search it.
///
/// There is one writer of a store at a time, over all processes; any number of threads may use it.
/// Every call that writes is seen as a whole: by [snapshots](Self::snapshot) of this writer as soon
/// as it returns, by others at their next [`Store::refresh`] once it was committed. When it is kept
/// is what [`Durability`] says.
///
/// What is written goes to a log, and to memory, where it is searched. Once there is
/// [enough](WriterOptions::tail_records) it becomes a segment, and segments are merged, in the
/// background. A dropped writer hands all to the system first, and with [`Durability::Group`] to
/// the disk; errors of that are lost, so who must know calls [`close`](Self::close).
pub struct Writer<F: Fingerprint = u64> {
    shared: Arc<Shared<F>>,
    threads: Vec<JoinHandle<()>>,
    // Goes last.
    _target: Target,
}

/// After so long without a write segments are merged that need not be.
const IDLE: Duration = Duration::from_secs(3);

struct Shared<F: Fingerprint> {
    core: Core<F, Directory>,
    signals: Arc<Signals>,
    options: WriterOptions,
}

/// What [`Writer::check_and_insert`] found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<F = u64> {
    /// Nothing was near, and the record is stored.
    Inserted,
    /// These are near, by distance, then by value, and nothing was stored.
    Near(Vec<Match<F>>),
}

impl<F: Fingerprint> Writer<F> {
    pub(super) fn create(options: &StoreOptions<F>, path: &Path) -> Result<Self> {
        let (settings, of_store, shape) = options.empty_store()?;
        let target = Target::lock(path, false)?;
        let storage = Arc::new(Directory::held(target.hold(), None));
        create(path, &storage, &settings, of_store, shape)?;
        Self::start(path, target, &options.writer)
    }

    pub(super) fn open(options: &WriterOptions<F>, path: &Path) -> Result<Self> {
        // What is no store is not locked, and nothing is created there.
        let found = width_of(path)?;
        if found != F::BITS {
            return Err(Error::Width { path: path.to_path_buf(), found, expected: F::BITS });
        }
        let target = Target::lock(path, true)?;
        enliven::<F, _>(path, &Arc::new(Directory::held(target.hold(), None)))?;
        Self::start(path, target, &options.clone().width())
    }

    fn start(path: &Path, mut target: Target, options: &WriterOptions) -> Result<Self> {
        target.keep();
        let execution = options.execution.clone().unwrap_or_else(|| Execution::new().threads(1));
        let storage = Directory::held(target.hold(), execution.scratch());
        let core = Core::open(path, storage, options.most_in_memory(), execution)?;
        let signals = Arc::clone(&core.signals);
        let shared = Arc::new(Shared { core, signals, options: options.clone() });
        let mut writer = Self { shared, threads: Vec::new(), _target: target };
        let mut tasks: Vec<fn(&Shared<F>)> = vec![Shared::keep_log];
        if options.background {
            tasks.extend([Shared::keep_flushing as fn(&Shared<F>), Shared::keep_merging]);
        }
        for task in tasks {
            let shared = Arc::clone(&writer.shared);
            let thread = thread::Builder::new().name("fpstore".to_string());
            let started = thread.spawn(move || task(&shared));
            writer.threads.push(started.map_err(|source| Error::threads(1, source))?);
        }
        writer.shared.signals.request(Task::Flush);
        writer.shared.signals.request(Task::Merge);
        Ok(writer)
    }

    pub(super) fn core(&self) -> &Core<F, Directory> {
        &self.shared.core
    }

    /// What the store holds now, with all that was written so far.
    pub fn snapshot(&self) -> Snapshot<F> {
        self.core().snapshot()
    }

    /// Inserts a fingerprint with an id, or without where the store has none; where it has windows,
    /// into that of now. Nothing changes where that is stored already.
    ///
    /// # Errors
    ///
    /// [`Error::MixedIds`] if there is an id and the store has none, or the other way round;
    /// [`Error::Io`] if there is no room in memory and a segment cannot be written. Nothing is
    /// stored then.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::{IdKind, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let options = StoreOptions::new().ids(IdKind::Text);
    /// let writer = options.create(directory.path().join("pages"))?;
    /// writer.insert(0b1011, "https://a.example/")?;
    /// let ids = writer.snapshot().ids::<String>(0b1011)?;
    /// assert_eq!(ids.collect::<Result<Vec<_>, _>>()?, ["https://a.example/"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&self, fingerprint: F, id: impl AsId) -> Result<()> {
        self.insert_batch(&[(fingerprint, id)])
    }

    /// Inserts many pairs of a fingerprint and an id. Up to 32,768 are seen, and survive a crash,
    /// all or none; longer lists are cut into such.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`]; the first parts of a longer list may be stored.
    pub fn insert_batch<I: AsId>(&self, pairs: &[(F, I)]) -> Result<()> {
        self.insert_batch_into(self.window_of_now(), pairs)
    }

    /// As [`Self::insert_batch`], of fingerprints without ids.
    ///
    /// # Errors
    ///
    /// As [`Self::insert_batch`].
    pub fn insert_fingerprints(&self, fingerprints: &[F]) -> Result<()> {
        self.insert_fingerprints_into(self.window_of_now(), fingerprints)
    }

    /// Takes one id from a fingerprint; with the last one the fingerprint goes. Takes no longer
    /// than an insertion, whether or not that is stored.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`]; [`Error::MixedIds`] if the store has no ids.
    pub fn delete(&self, fingerprint: F, id: impl AsId) -> Result<()> {
        self.delete_batch(&[(fingerprint, id)])
    }

    /// As [`Self::delete`], of many pairs.
    ///
    /// # Errors
    ///
    /// As [`Self::insert_batch`].
    pub fn delete_batch<I: AsId>(&self, pairs: &[(F, I)]) -> Result<()> {
        if !self.core().shape.ids {
            return Err(Error::MixedIds);
        }
        self.write_records(Change::Delete, pairs, 0)
    }

    /// Deletes a fingerprint with all its ids.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`].
    pub fn delete_fingerprint(&self, fingerprint: F) -> Result<()> {
        self.delete_fingerprints(&[fingerprint])
    }

    /// As [`Self::delete_fingerprint`], of many.
    ///
    /// # Errors
    ///
    /// As [`Self::insert_batch`].
    pub fn delete_fingerprints(&self, fingerprints: &[F]) -> Result<()> {
        let (change, id) = (Change::DeleteFingerprint, LoggedId::Number(0));
        let delete = |&fingerprint| Operation { change, fingerprint, id, window: 0 };
        self.write(&fingerprints.iter().map(delete).collect::<Vec<_>>())
    }

    /// Deletes an id wherever it is stored, and gives the fingerprints that had it. No fingerprint
    /// is found by its id, so this reads all fingerprints and ids, some 50 ns for each; what is
    /// inserted meanwhile stays.
    ///
    /// # Errors
    ///
    /// As [`Self::insert_batch`]; [`Error::Corrupt`] if a block is damaged: then nothing is
    /// deleted.
    pub fn delete_id(&self, id: impl AsId) -> Result<Vec<F>> {
        let pairs = self.snapshot().with_ids(&[&id])?;
        let pairs: Vec<_> = pairs.into_iter().map(|(fingerprint, _)| (fingerprint, &id)).collect();
        self.delete_batch(&pairs)?;
        Ok(pairs.into_iter().map(|(fingerprint, _)| fingerprint).collect())
    }

    /// Looks for fingerprints within Hamming distance `k`, and inserts only if there is none;
    /// nothing is written by another thread in between.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`]; [`Error::Corrupt`] if a block that is needed is damaged.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::{StoreOptions, Verdict};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let writer = StoreOptions::new().create(directory.path().join("pages"))?;
    /// assert_eq!(writer.check_and_insert(0b1011, 1, 3)?, Verdict::Inserted);
    /// match writer.check_and_insert(0b1010, 2, 3)? {
    ///     Verdict::Near(near) => assert_eq!((near[0].fingerprint, near[0].distance), (0b1011, 1)),
    ///     Verdict::Inserted => unreachable!(),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_and_insert(&self, fingerprint: F, id: impl AsId, k: u32) -> Result<Verdict<F>> {
        self.check_and_insert_into(self.window_of_now(), fingerprint, id, k, None)
    }

    /// Compares with what lies in windows from `first_window` on, if that is given, and inserts
    /// into `window`.
    pub(super) fn check_and_insert_into(
        &self,
        window: u64,
        fingerprint: F,
        id: impl AsId,
        k: u32,
        first_window: Option<u64>,
    ) -> Result<Verdict<F>> {
        let id = StoredId::new(id.as_id());
        let id = self.core().logged(&id)?;
        let insertion = Operation { change: Change::Insert, fingerprint, id, window };
        let mut verdict = Verdict::Inserted;
        self.core().search_and_insert(first_window, |searcher| {
            let near = searcher.search(fingerprint, k)?;
            if near.is_empty() {
                return Ok(Some(insertion));
            }
            verdict = Verdict::Near(near.to_vec());
            Ok(None)
        })?;
        self.written(1)?;
        Ok(verdict)
    }

    /// As [`Self::check_and_insert`] for one pair after the other: each is compared with those
    /// before it as well.
    ///
    /// # Errors
    ///
    /// As [`Self::check_and_insert`]; what came before may be stored.
    pub fn check_and_insert_batch<I: AsId>(
        &self,
        pairs: &[(F, I)],
        k: u32,
    ) -> Result<Vec<Verdict<F>>> {
        let check = |(fingerprint, id)| self.check_and_insert(fingerprint, id, k);
        pairs.iter().map(|(fingerprint, id)| check((*fingerprint, id))).collect()
    }

    /// Makes all that was written so far as durable as is said, and visible to other processes at
    /// their next [`Store::refresh`].
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: what was written is seen all the same, is not known to be durable, and is
    /// written again with the next commit.
    pub fn commit(&self, durability: Durability) -> Result<()> {
        self.core().write_log(durability == Durability::Immediate)?;
        if durability == Durability::Group {
            self.shared.signals.request(Task::Log);
        }
        Ok(())
    }

    /// Makes segments of all that was written so far, which is durable then.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: nothing is lost, and the next flush tries again.
    pub fn flush(&self) -> Result<()> {
        self.core().flush()
    }

    /// Merges segments until there are few: what happens in the background by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::Corrupt`]: the segments stay as they are. [`Error::Cancelled`] and
    /// [`Error::DeadlineExceeded`] as [`Execution`] says.
    pub fn merge(&self) -> Result<()> {
        while self.core().merge_step()? {}
        Ok(())
    }

    /// Makes segments of all that was written, and of all segments one, or one per window, with the
    /// tables that [`Packer`](crate::Packer) would choose. Deleted records are gone from the disk
    /// then. Reads the whole store, and writes it unless it is so already.
    ///
    /// # Errors
    ///
    /// As [`Self::merge`].
    pub fn merge_all(&self) -> Result<()> {
        self.core().flush()?;
        self.core().merge_all()
    }

    /// Drops all windows that end at `before` or earlier, without reading them. Gives the number of
    /// segments that are gone.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::InvalidOption`] if the store has no windows.
    pub fn expire(&self, before: SystemTime) -> Result<u64> {
        self.window_of(before)?;
        let since = before.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.core().expire(since.as_secs())
    }

    /// Makes all durable and ends the writer.
    ///
    /// Where the log has become long it becomes a segment, and segments are merged, as would have
    /// happened in the [background](WriterOptions::background): however many writers write a few
    /// records each, opening the store stays fast, and each record costs as much as if one had
    /// written all. If that fails, nothing is lost, and the next one tries again. Who has no time
    /// for it commits, and drops the writer.
    ///
    /// # Errors
    ///
    /// As [`Self::commit`].
    pub fn close(self) -> Result<()> {
        self.commit(Durability::Immediate)?;
        if self.shared.options.background {
            // All is durable as it is.
            let _ = self.core().tidy();
        }
        Ok(())
    }

    pub(super) fn insert_batch_into(&self, window: u64, pairs: &[(F, impl AsId)]) -> Result<()> {
        self.write_records(Change::Insert, pairs, window)
    }

    pub(super) fn insert_fingerprints_into(&self, window: u64, fingerprints: &[F]) -> Result<()> {
        let pairs: Vec<_> = fingerprints.iter().map(|&fingerprint| (fingerprint, ())).collect();
        self.write_records(Change::Insert, &pairs, window)
    }

    fn write_records(&self, change: Change, pairs: &[(F, impl AsId)], window: u64) -> Result<()> {
        let ids: Vec<_> = pairs.iter().map(|(_, id)| StoredId::new(id.as_id())).collect();
        let operation = |(&(fingerprint, _), id)| {
            let id = self.core().logged(id)?;
            Ok(Operation { change, fingerprint, id, window })
        };
        let operations = pairs.iter().zip(&ids).map(operation).collect::<Result<Vec<_>>>()?;
        self.write(&operations)
    }

    fn write(&self, operations: &[LoggedOperation<'_, F>]) -> Result<()> {
        self.core().write(operations)?;
        self.written(operations.len())
    }

    /// What follows when something was written.
    fn written(&self, operations: usize) -> Result<()> {
        if self.shared.options.background
            && let Some(delay) = self.core().take_delay(operations)
        {
            thread::sleep(delay);
        }
        match self.shared.options.durability {
            Durability::Immediate => self.commit(Durability::Immediate),
            _ => Ok(()),
        }
    }

    fn window_of_now(&self) -> u64 {
        match self.core().window_seconds {
            Some(_) => self.window_of(SystemTime::now()).unwrap_or(0),
            None => 0,
        }
    }
}

impl<F: Fingerprint> Shared<F> {
    /// Hands to the log what is written.
    fn keep_log(&self) {
        let durable = self.options.durability != Durability::Eventual;
        while self.signals.wait_for(Task::Log) {
            self.signals.pause(self.options.sync_interval);
            if self.core.write_log(durable).is_err() {
                // Whoever commits next is told; what was written waits until then.
                self.signals.pause(Duration::from_millis(100));
                self.signals.request(Task::Log);
            }
        }
        let _ = self.core.write_log(durable);
    }

    /// Makes segments of logs that have their end.
    fn keep_flushing(&self) {
        while self.signals.wait_for(Task::Flush) {
            loop {
                match self.core.flush_oldest() {
                    Ok(true) => self.signals.request(Task::Merge),
                    Ok(false) => break,
                    // Who finds no room is told.
                    Err(_) => {
                        self.signals.pause(Duration::from_millis(500));
                        self.signals.request(Task::Flush);
                        break;
                    }
                }
            }
        }
    }

    /// Merges segments: those that are to be merged, and further ones while nothing is written.
    fn keep_merging(&self) {
        let mut last = (self.core.front().next_sequence(), Instant::now());
        while self.signals.wait_for_or_idle(Task::Merge, IDLE) {
            let sequence = self.core.front().next_sequence();
            if sequence != last.0 {
                last = (sequence, Instant::now());
            }
            let is_idle = last.1.elapsed() >= IDLE;
            while !self.core.is_stopping() {
                let merged = match self.core.merge_step() {
                    Ok(false) if is_idle => self.core.merge_idle(),
                    merged => merged,
                };
                match merged {
                    Ok(true) => {}
                    Ok(false) => break,
                    // The segments are as they were; the next time comes.
                    Err(_) => {
                        self.signals.pause(Duration::from_secs(1));
                        break;
                    }
                }
            }
        }
    }
}

impl<F: Fingerprint> Drop for Writer<F> {
    fn drop(&mut self) {
        self.core().stop();
        for thread in self.threads.drain(..) {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
        self.core().note_end();
    }
}

impl<F: Fingerprint> std::fmt::Debug for Writer<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("path", &self.core().path).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> StoreOptions<F> {
    /// Creates the store in the directory `path`, which is created as well.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`]; [`Error::Exists`] and [`Error::Foreign`] where the place is taken;
    /// [`Error::Busy`] while another process writes there; [`Error::Io`].
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Writer<F>> {
        self.check()?;
        Writer::create(self, path.as_ref())
    }
}

impl<F: Fingerprint> WriterOptions<F> {
    /// Opens the store in the directory `path` for writing. A store that a
    /// [`Packer`](crate::Packer) wrote takes insertions from then on.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`](crate::Store::open); [`Error::Busy`] while another process writes
    /// there; [`Error::Unsupported`] where a program must know more to write it;
    /// [`Error::MixedIds`] where only some segments have ids.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Writer<F>> {
        self.check()?;
        Writer::open(self, path.as_ref())
    }
}

impl Store {
    /// Creates an empty store in the directory `path`, with ids, for a radius of 3.
    /// [`StoreOptions`] has all choices.
    ///
    /// # Errors
    ///
    /// As [`StoreOptions::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Writer> {
        StoreOptions::new().create(path)
    }

    /// Opens the store in the directory `path` for writing. [`WriterOptions`] has all choices.
    ///
    /// # Errors
    ///
    /// As [`WriterOptions::open`].
    pub fn open_writer(path: impl AsRef<Path>) -> Result<Writer> {
        WriterOptions::new().open(path)
    }
}
