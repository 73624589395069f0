//! Opens stores, or looks at the manifest only.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{fmt, io};

use crate::access::{Access, InDirectory};
use crate::error::{Corruption, Error, Result};
use crate::execution::Execution;
use crate::files::{self, DirectoryHandle, DirectoryId};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Defect, MANIFEST_NAME, MANIFEST_UNFINISHED, MAX_MANIFEST_BYTES, Manifest, SkippedSection,
};
use crate::hot_index;
use crate::id::{FromId, IdKind};
use crate::ids::Ids;
use crate::log::Follower;
use crate::query::batch::Batch;
use crate::query::clusters::Clustering;
use crate::query::join::Join;
use crate::query::search::Searcher;
use crate::snapshot::parts::Base;
use crate::snapshot::union::Match;
use crate::snapshot::{Iter, IterWithIds, Snapshot, Stats, VerifyReport};

/// How often opening starts again because the store was replaced meanwhile.
const OPEN_ATTEMPTS: usize = 10;

/// A compressed set of fingerprints on disk, open for reading.
///
/// A store is `Send + Sync`: any number of threads may search it at once. Opening reads the
/// manifest and of each table the header, the code lengths and the router (8 bytes per block, that
/// is 0.04 byte per fingerprint with blocks of 1024 bytes), and the directory of the ids, if there
/// are some (a thousandth of them). Blocks and ids are read when they are needed, and their
/// checksums are verified at the first touch. Searches build more in memory to be faster
/// ([`OpenOptions::memory`]). Opening needs no write permission, and takes no lock: a store that is
/// replaced meanwhile stays readable, as it was, for those who opened it.
///
/// Files are mapped. Nobody may write into the files of an open store, or cut them short: changed
/// bytes give wrong answers or errors, and a read behind the end of a file, or from a failing disk,
/// ends the process with SIGBUS. [`OpenOptions::in_memory`] reads the files into memory instead.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// fpstore::Packer::new().pack(&path, [0b1011, 0b0011, u64::MAX])?;
///
/// let store = fpstore::Store::open(&path)?;
/// let near = store.search(0b1010, 2)?;
/// assert_eq!(near[0], fpstore::Match { fingerprint: 0b1011, distance: 1 });
/// assert_eq!(near[1], fpstore::Match { fingerprint: 0b0011, distance: 2 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store<F: Fingerprint = u64> {
    shared: Arc<Shared<F>>,
}

impl<F: Fingerprint> Clone for Store<F> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

/// What all clones of a store share.
struct Shared<F: Fingerprint> {
    path: PathBuf,
    how: How,
    current: RwLock<Snapshot<F>>,
    /// What was read of the logs. Held while the store is looked at anew.
    logs: Mutex<Option<Logs<F>>>,
    /// When it was opened.
    opened: Instant,
    /// When the last look that succeeded began: nanoseconds since.
    looked: AtomicU64,
}

/// How a store was opened, and is looked at anew.
#[derive(Clone, Copy)]
struct How {
    access: Access,
    memory: u64,
    refresh_every: Option<Duration>,
}

/// How to open a [`Store`].
///
/// # Examples
///
/// ```no_run
/// let store = fpstore::OpenOptions::new().in_memory(true).open("pages.fps")?;
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions<F = u64> {
    in_memory: bool,
    memory: u64,
    refresh_every: Option<Duration>,
    width: PhantomData<fn() -> F>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Maps the files.
    pub fn new() -> Self {
        let memory = hot_index::default_memory();
        Self { in_memory: false, memory, refresh_every: None, width: PhantomData }
    }

    /// The same options, for fingerprints of another width: `OpenOptions::new().width::<[u64;
    /// 4]>()`.
    pub fn width<F: Fingerprint>(self) -> OpenOptions<F> {
        let Self { in_memory, memory, refresh_every, .. } = self;
        OpenOptions { in_memory, memory, refresh_every, width: PhantomData }
    }
}

impl<F: Fingerprint> OpenOptions<F> {
    /// Whether to read all files into memory instead of mapping them. Takes as much memory as the
    /// files have bytes, and rules out SIGBUS.
    pub fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    /// Bytes of memory for what searches build to be faster. What only snapshots from before a
    /// [`Store::refresh`] still have comes on top. Default: a 64th of the memory of the machine, at
    /// least 24 MiB and at most 512 MiB. 0 builds nothing.
    ///
    /// The smallest segments get *hot indexes*: all fingerprints, decoded and sorted by each part
    /// of 16 bits. Searches there take a tenth of the time or less, whatever design the store has.
    /// An index takes 32 bytes for each fingerprint of 64 bits, 16 of 32 bits, and up to 1 MiB for
    /// each segment. Searches build them step by step, as far as blocks are in memory.
    ///
    /// The smallest of the others get *prefix filters* once searches wait for the disk: the first
    /// bits of all keys of all tables, 1.3 to 1.45 bytes for each fingerprint and table. Searches
    /// then read only those blocks where something may be near: within 3 in 2^26 uniform
    /// fingerprints 1.5 pages in place of 6.5 in `halves`, and 7.5 in place of 77 in `single`. A
    /// thread reads the segment once to build them, when searches have waited for as long as that
    /// takes. While searches do not wait, they go without.
    ///
    /// Each segment has its own whole or not at all. Segments with a base have neither.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// What other processes commit is seen so long after it at the latest: each query that the
    /// store itself answers (`search`, `nearest`, `any_within`, `contains`, `ids`, `count`,
    /// `stats`,
    /// `verify`) [refreshes](Store::refresh) it first where the last look is this old. A look at a
    /// store that nobody has written to takes 20 to 40 us: every 100 ms, that is less than a
    /// thousandth of the time. Default: only [`Store::refresh`] looks.
    ///
    /// What is made of a store and outlives the call (a [`Snapshot`], a [`Searcher`], a [`Batch`])
    /// stays at its moment. Who makes one calls [`Store::refresh_if_due`] before.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// let options = fpstore::OpenOptions::new().refresh_every(Duration::from_millis(100));
    /// let store = options.open("pages.fps")?;
    /// loop {
    ///     // Sees what was committed up to 100 ms ago, and most of what came since.
    ///     println!("{:?}", store.search(0x9d18dc592abfa1ba, 3)?);
    /// #   break;
    /// }
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn refresh_every(mut self, time: Duration) -> Self {
        self.refresh_every = Some(time);
        self
    }

    /// Opens the store in the directory `path`.
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`] if there is none, [`Error::Width`] if its fingerprints have another
    /// width, [`Error::Corrupt`] or [`Error::Unsupported`] for what its files hold, [`Error::Io`]
    /// if they cannot be read.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store<F>> {
        let path = path.as_ref();
        let access = if self.in_memory { Access::InMemory } else { Access::Mapped };
        let how = How { access, memory: self.memory, refresh_every: self.refresh_every };
        let opened = Instant::now();
        let mut logs = None;
        let current = open_current(path, how, None, &mut logs)?;
        let shared = Shared {
            path: path.to_path_buf(),
            how,
            current: RwLock::new(current),
            logs: Mutex::new(logs),
            opened,
            looked: AtomicU64::new(0),
        };
        Ok(Store { shared: Arc::new(shared) })
    }
}

/// The logs that were read, and the directory that they are in.
struct Logs<F: Fingerprint> {
    // Open, so that no other one gets its number meanwhile.
    directory: Arc<DirectoryHandle>,
    follower: Follower<F>,
}

/// Opens what stands at `path` now, with what is open of an `earlier` snapshot, and what was read
/// of the logs before.
fn open_current<F: Fingerprint>(
    path: &Path,
    how: How,
    earlier: Option<&Snapshot<F>>,
    logs: &mut Option<Logs<F>>,
) -> Result<Snapshot<F>> {
    let (directory, mut bytes) = open_directory(path)?;
    let mut directory = Arc::new(directory);
    for _ in 1..OPEN_ATTEMPTS {
        let result = open_manifest(&directory, how, &bytes, earlier, logs);
        let may_be_late = match &result {
            // What follows a log that has its end may have become a segment meanwhile.
            Ok(_) => logs.as_ref().is_some_and(|logs| logs.follower.ends_with_seal()),
            Err(Error::Corrupt { corruption, .. }) => {
                if corruption.may_be_a_log_that_changed() {
                    // A writer that began may have cut it, and gone on.
                    *logs = None;
                    let again = open_manifest(&directory, how, &bytes, earlier, logs);
                    if again.is_ok() && is_current(path, &directory, &bytes)? {
                        return again;
                    }
                }
                corruption.may_be_a_file_that_went() || corruption.may_be_a_log_that_changed()
            }
            Err(_) => false,
        };
        if !may_be_late || is_current(path, &directory, &bytes)? {
            return result;
        }
        // A writer has changed the store between two reads, or another one has come to its path.
        let (now, now_bytes) = open_directory(path)?;
        (directory, bytes) = (Arc::new(now), now_bytes);
    }
    open_manifest(&directory, how, &bytes, earlier, logs)
}

/// Whether this manifest, of this directory, is still what stands at `path`.
fn is_current(path: &Path, directory: &DirectoryHandle, bytes: &[u8]) -> Result<bool> {
    let (now, now_bytes) = open_directory(path)?;
    Ok(now_bytes == bytes && id_of(&now)? == id_of(directory)?)
}

fn id_of(directory: &DirectoryHandle) -> Result<DirectoryId> {
    directory.id().map_err(Error::io(directory.path(), "look at the directory"))
}

/// Opens what a manifest names.
fn open_manifest<F: Fingerprint>(
    directory: &Arc<DirectoryHandle>,
    how: How,
    bytes: &[u8],
    earlier: Option<&Snapshot<F>>,
    logs: &mut Option<Logs<F>>,
) -> Result<Snapshot<F>> {
    let files = &InDirectory { directory, access: how.access };
    let earlier = earlier.map(|snapshot| &snapshot.parts().base);
    let base = match earlier.filter(|base| base.bytes == bytes) {
        Some(same) => Arc::clone(same),
        None => Arc::new(Base::open(files, bytes, earlier.map(|base| &**base), how.memory)?),
    };
    let (section, store_id) = (base.manifest.log, base.manifest.store_id);
    let Some(section) = section else {
        *logs = None;
        return Ok(Snapshot::new(base, Vec::new()));
    };
    let id = id_of(directory)?;
    let goes_on = |logs: &&mut Logs<F>| {
        logs.directory.id().is_ok_and(|before| before == id)
            && logs.follower.goes_on(&section, store_id)
    };
    match logs.as_mut().filter(goes_on) {
        Some(Logs { follower, .. }) => {
            follower.forget_before(section.first_log);
            follower.advance(files)?;
        }
        None => {
            let follower = Follower::open(files, &section, store_id)?;
            *logs = Some(Logs { directory: Arc::clone(directory), follower });
        }
    }
    let tails = logs.as_ref().map(|logs| logs.follower.views()).unwrap_or_default();
    Ok(Snapshot::new(base, tails))
}

impl Store {
    /// Opens the store in the directory `path`, with mapped files.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().open(path)
    }
}

impl<F: Fingerprint> Store<F> {
    /// The directory of the store.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// What the store holds, as of opening it or of the last [`refresh`](Self::refresh) of any of
    /// its clones, whether that was called or came by itself ([`OpenOptions::refresh_every`]). All
    /// queries are those of a [`Snapshot`]; the ones of the store ask its snapshot of that moment.
    pub fn snapshot(&self) -> Snapshot<F> {
        self.shared.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks whether the store was written since, and if so opens what it holds now, for this store
    /// and all its clones; tells whether. Snapshots that were taken before stay as they are, and so
    /// do the queries that were made from them.
    ///
    /// Reads the manifest, and what has come into the log; opens those segments only that it has
    /// not open already.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open`]; the store is as it was then.
    pub fn refresh(&self) -> Result<bool> {
        self.look(self.logs())
    }

    /// [Refreshes](Self::refresh) the store where the last look is as old as
    /// [`OpenOptions::refresh_every`] says; else takes 30 ns, and without that option nothing.
    /// Tells whether something new is seen.
    ///
    /// # Errors
    ///
    /// As [`Self::refresh`].
    pub fn refresh_if_due(&self) -> Result<bool> {
        let Some(every) = self.shared.how.refresh_every else { return Ok(false) };
        if !self.is_due(every) {
            return Ok(false);
        }
        let logs = self.logs();
        // Another thread may have looked meanwhile.
        if self.is_due(every) { self.look(logs) } else { Ok(false) }
    }

    /// Threads that refresh together wait for each other, so none brings back what another has
    /// replaced.
    fn logs(&self) -> MutexGuard<'_, Option<Logs<F>>> {
        self.shared.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_due(&self, every: Duration) -> bool {
        let looked = Duration::from_nanos(self.shared.looked.load(Relaxed));
        self.shared.opened.elapsed() >= looked.saturating_add(every)
    }

    fn look(&self, mut logs: MutexGuard<'_, Option<Logs<F>>>) -> Result<bool> {
        // Whatever is committed from here on may be missed.
        let start = self.shared.opened.elapsed().as_nanos();
        let before = self.snapshot();
        let now = open_current(self.path(), self.shared.how, Some(&before), &mut logs);
        if now.is_err() {
            // What was read of the logs may not fit the snapshot that stays.
            *logs = None;
        }
        let now = now?;
        self.shared.looked.store(u64::try_from(start).unwrap_or(u64::MAX), Relaxed);
        if now.sees_the_same_as(&before) {
            return Ok(false);
        }
        *self.shared.current.write().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(true)
    }

    /// The snapshot, once the store was looked at if that was due.
    fn current(&self) -> Result<Snapshot<F>> {
        self.refresh_if_due()?;
        Ok(self.snapshot())
    }

    /// As [`Snapshot::radius`].
    pub fn radius(&self) -> u32 {
        self.snapshot().radius()
    }

    /// As [`Snapshot::id`].
    pub fn id(&self) -> u128 {
        self.snapshot().id()
    }

    /// As [`Snapshot::generation`].
    pub fn generation(&self) -> u64 {
        self.snapshot().generation()
    }

    /// As [`Snapshot::recipe`].
    pub fn recipe(&self) -> Option<String> {
        self.snapshot().recipe().map(str::to_string)
    }

    /// As [`Snapshot::skipped_sections`].
    pub fn skipped_sections(&self) -> Vec<SkippedSection> {
        self.snapshot().skipped_sections()
    }

    /// As [`Snapshot::len`].
    pub fn len(&self) -> u64 {
        self.snapshot().len()
    }

    /// As [`Snapshot::count`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::count`].
    pub fn count(&self) -> Result<u64> {
        self.current()?.count()
    }

    /// As [`Snapshot::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.snapshot().is_empty()
    }

    /// As [`Snapshot::heap_bytes`].
    pub fn heap_bytes(&self) -> u64 {
        self.snapshot().heap_bytes()
    }

    /// As [`Snapshot::search`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::search`].
    pub fn search(&self, fingerprint: F, k: u32) -> Result<Vec<Match<F>>> {
        self.current()?.search(fingerprint, k)
    }

    /// As [`Snapshot::nearest`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::search`].
    pub fn nearest(&self, fingerprint: F, count: usize, max_k: u32) -> Result<Vec<Match<F>>> {
        self.current()?.nearest(fingerprint, count, max_k)
    }

    /// As [`Snapshot::searcher`].
    pub fn searcher(&self) -> Searcher<F> {
        self.snapshot().searcher()
    }

    /// As [`Snapshot::any_within`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::search`].
    pub fn any_within(&self, fingerprint: F, k: u32) -> Result<bool> {
        self.current()?.any_within(fingerprint, k)
    }

    /// As [`Snapshot::contains`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::contains`].
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        self.current()?.contains(fingerprint)
    }

    /// As [`Snapshot::id_kind`].
    pub fn id_kind(&self) -> Option<IdKind> {
        self.snapshot().id_kind()
    }

    /// As [`Snapshot::has_ids`].
    pub fn has_ids(&self) -> bool {
        self.snapshot().has_ids()
    }

    /// As [`Snapshot::ids`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::ids`].
    pub fn ids<I: FromId>(&self, fingerprint: F) -> Result<Ids<I>> {
        self.current()?.ids(fingerprint)
    }

    /// As [`Snapshot::iter`].
    pub fn iter(&self) -> Iter<F> {
        self.snapshot().iter()
    }

    /// As [`Snapshot::iter_with_ids`].
    pub fn iter_with_ids<I: FromId>(&self) -> IterWithIds<F, I> {
        self.snapshot().iter_with_ids()
    }

    /// As [`Snapshot::stats`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::stats`].
    pub fn stats(&self) -> Result<Stats> {
        self.current()?.stats()
    }

    /// As [`Snapshot::verify`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::verify_with`].
    pub fn verify(&self) -> Result<VerifyReport> {
        self.current()?.verify()
    }

    /// As [`Snapshot::verify_with`].
    ///
    /// # Errors
    ///
    /// As [`Snapshot::verify_with`].
    pub fn verify_with(&self, execution: &Execution) -> Result<VerifyReport> {
        self.current()?.verify_with(execution)
    }

    /// As [`Snapshot::batch`].
    pub fn batch(&self, k: u32) -> Batch<F> {
        self.snapshot().batch(k)
    }

    /// As [`Snapshot::self_join`].
    pub fn self_join(&self, k: u32) -> Join<F> {
        self.snapshot().self_join(k)
    }

    /// As [`Snapshot::join`].
    pub fn join(&self, other: impl Into<Snapshot<F>>, k: u32) -> Join<F> {
        self.snapshot().join(other, k)
    }

    /// As [`Snapshot::clusters`].
    pub fn clusters(&self, k: u32) -> Clustering<F> {
        self.snapshot().clusters(k)
    }
}

impl<F: Fingerprint> From<Store<F>> for Snapshot<F> {
    fn from(store: Store<F>) -> Self {
        store.snapshot()
    }
}

impl<F: Fingerprint> From<&Store<F>> for Snapshot<F> {
    fn from(store: &Store<F>) -> Self {
        store.snapshot()
    }
}

impl<F: Fingerprint> fmt::Debug for Store<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> IntoIterator for &Store<F> {
    type Item = Result<F>;
    type IntoIter = Iter<F>;

    fn into_iter(self) -> Iter<F> {
        self.iter()
    }
}

/// The width of the fingerprints of the store in the directory `path`, in bits: what
/// [`OpenOptions::width`](crate::OpenOptions::width) must be. Reads
/// the manifest only.
///
/// # Errors
///
/// [`Error::NotAStore`] if there is none, [`Error::Corrupt`] or [`Error::Unsupported`] for what its
/// manifest holds, [`Error::Io`] if it cannot be read.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// fpstore::Packer::new().width::<u128>().pack(&path, [7])?;
/// assert_eq!(fpstore::width_of(&path)?, 128);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn width_of(path: impl AsRef<Path>) -> Result<u32> {
    Ok(manifest_of(path.as_ref())?.bits.into())
}

/// By which recipe the fingerprints of the store in the directory `path` were made, if it says so.
/// Reads the manifest only.
///
/// # Errors
///
/// As [`width_of`].
pub fn recipe_of(path: impl AsRef<Path>) -> Result<Option<String>> {
    Ok(manifest_of(path.as_ref())?.recipe)
}

/// What the manifest in the directory `path` says.
fn manifest_of(path: &Path) -> Result<Manifest> {
    let manifest = Manifest::decode(&open_directory(path)?.1);
    manifest.map_err(|defect| defect.in_file(&path.join(MANIFEST_NAME)))
}

/// Opens the directory `path`, in which a store is to be read, and reads its manifest. What is read
/// behind it is of the same directory, whatever the path leads to by then.
pub(super) fn open_directory(path: &Path) -> Result<(DirectoryHandle, Vec<u8>)> {
    let not_a_store = |found| Error::NotAStore { path: path.to_path_buf(), found };
    let directory = DirectoryHandle::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => not_a_store("there is nothing here"),
        io::ErrorKind::NotADirectory if path.exists() => {
            not_a_store("this is a file, not a directory")
        }
        io::ErrorKind::NotADirectory => not_a_store("there is nothing here"),
        _ => Error::io(path, "open the directory")(source),
    })?;
    let bytes = read_manifest(&directory)?;
    Ok((directory, bytes))
}

/// Reads the manifest in a directory.
pub(super) fn read_manifest(directory: &DirectoryHandle) -> Result<Vec<u8>> {
    let name = directory.path_of(MANIFEST_NAME);
    let file = directory.open_regular(MANIFEST_NAME);
    let bytes = files::read_at_most_of(file, MAX_MANIFEST_BYTES);
    let bytes = bytes.map_err(|source| {
        if source.kind() != io::ErrorKind::NotFound {
            return Error::io(&name, "read the manifest")(source);
        }
        let found = match directory.has_regular(MANIFEST_UNFINISHED) {
            true => "what wrote here was stopped before it was done, and is to be run again",
            false => "the directory has no manifest.fps (a pack that was stopped leaves none)",
        };
        Error::NotAStore { path: directory.path().to_path_buf(), found }
    })?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        let corruption = Corruption::ManifestLimit { most: MAX_MANIFEST_BYTES };
        return Err(Defect::corrupt(0, corruption).in_file(&name));
    }
    Ok(bytes)
}
