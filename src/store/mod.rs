//! Stores: a directory with a manifest and segments.

mod budget;
mod commit;
#[cfg(test)]
mod crash;
mod estimate;
mod pack;
mod prepared;
mod progress;
mod records;
mod session;
mod storage;
mod tables;
mod target;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use commit::with_unfinished_id_map;
pub use estimate::PackEstimate;
pub use pack::{PackSummary, Packer};
pub use prepared::PreparedPack;
pub use progress::{PackTimes, Phase, Progress};
pub use session::PackSession;

use crate::costs::Costs;
use crate::design::Design;
use crate::error::{Corruption, Error, Result};
use crate::files;
use crate::format::{
    Defect, IdMapTag, MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, SkippedSection,
};
use crate::ids::{IdStats, Ids};
use crate::query::batch::Batch;
use crate::query::join::Join;
use crate::query::search::{Match, Searcher};
use crate::segment::{self, Segment};
use crate::snapshot::{Iter, IterWithIds};
use crate::table::{Access, TableStats};

/// How often opening starts again because the store was replaced meanwhile.
const OPEN_ATTEMPTS: usize = 10;

/// A compressed set of 64-bit fingerprints on disk, open for reading.
///
/// A store is `Send + Sync`: any number of threads may search it at once. Opening reads the
/// manifest and of each table the header, the code lengths and the router (8 bytes per block, that
/// is 0.04 byte per fingerprint with blocks of 1024 bytes), and the directory of the ids, if there
/// are some (a thousandth of them); blocks and ids are read when they are needed, and their checksums are verified at the first touch. It needs no write permission, and
/// takes no lock: a store that is replaced meanwhile stays readable, as it was, for those who
/// opened it.
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
pub struct Store {
    path: PathBuf,
    radius: u32,
    manifest_bytes: u64,
    segments: Vec<Segment>,
    id_map: Option<IdMapTag>,
    store_id: u128,
    generation: u64,
    skipped: Vec<SkippedSection>,
}

/// How to open a [`Store`].
///
/// # Examples
///
/// ```no_run
/// let store = fpstore::OpenOptions::new().in_memory(true).open("pages.fps")?;
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    in_memory: bool,
}

impl OpenOptions {
    /// Maps the files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to read all files into memory instead of mapping them. Takes as much memory as the
    /// files have bytes, and rules out SIGBUS.
    pub fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    /// Opens the store in the directory `path`.
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`] if there is none, [`Error::Corrupt`] or [`Error::Unsupported`] for what
    /// its files hold, [`Error::Io`] if they cannot be read.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store> {
        let path = path.as_ref();
        let access = if self.in_memory { Access::InMemory } else { Access::Mapped };
        let mut bytes = read_manifest(path)?;
        let mut attempts = 1;
        loop {
            match Store::from_manifest(path, &bytes, access) {
                // A writer may have replaced the store between two reads: then the manifest is
                // another.
                Err(Error::Corrupt {
                    corruption: Corruption::TableMissing | Corruption::IdsMissing,
                    ..
                }) if attempts < OPEN_ATTEMPTS && read_manifest(path)? != bytes => {
                    bytes = read_manifest(path)?;
                    attempts += 1;
                }
                result => return result,
            }
        }
    }
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

    fn from_manifest(path: &Path, bytes: &[u8], access: Access) -> Result<Self> {
        let manifest =
            Manifest::decode(bytes).map_err(|defect| defect.in_file(&path.join(MANIFEST_NAME)))?;
        let segments = manifest
            .segments
            .iter()
            .map(|entry| Segment::open(path, entry, access))
            .collect::<Result<_>>()?;
        Ok(Self {
            path: path.to_path_buf(),
            radius: u32::from(manifest.radius),
            manifest_bytes: bytes.len() as u64,
            segments,
            id_map: manifest.id_map,
            store_id: manifest.store_id,
            generation: manifest.generation,
            skipped: manifest.skipped,
        })
    }

    /// The directory of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The Hamming radius that the store was planned for. Any other may be asked as well.
    pub fn radius(&self) -> u32 {
        self.radius
    }

    /// Which store this is: the same in all its generations, and in copies of its directory. A first
    /// pack of the same fingerprints with the same options gives the same id.
    pub fn id(&self) -> u128 {
        self.store_id
    }

    /// How often the store was written: 1 after the first pack, one more after each that replaced it.
    /// Of two copies with the same [`Self::id`], that with the lower generation is out of date.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Parts of the store that this version of fpstore does not know, and does not need for any answer
    /// that it gives.
    pub fn skipped_sections(&self) -> &[SkippedSection] {
        &self.skipped
    }

    /// The number of fingerprints in all segments. A store that [`Packer`] wrote has one segment,
    /// so this is the size of the set; a fingerprint that stands in several segments counts in
    /// each.
    pub fn len(&self) -> u64 {
        segment::count(&self.segments)
    }

    /// Whether the store holds no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of heap that the open store takes (router directories and the bitmaps of checked
    /// blocks), besides the files themselves where they are in memory, and some 45 KiB per table for
    /// its codes.
    pub fn heap_bytes(&self) -> u64 {
        let tables = self.segments.iter().flat_map(Segment::tables);
        let ids = self.segments.iter().filter_map(Segment::id_column);
        tables.map(|table| table.heap_bytes()).chain(ids.map(|ids| ids.heap_bytes())).sum()
    }

    /// All stored fingerprints within Hamming distance `k` of `fingerprint`, ordered by distance,
    /// then by value. `k` over 64 is 64. Who asks many times keeps a [`Store::searcher`].
    ///
    /// Exact for every design and radius. The work depends on both: see [`Design`]; where
    /// descending would touch more blocks than one table has, and from k = 33 on, it scans that
    /// table.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if a block that is needed is damaged.
    pub fn search(&self, fingerprint: u64, k: u32) -> Result<Vec<Match>> {
        let mut searcher = self.searcher();
        searcher.search(fingerprint, k).map(<[Match]>::to_vec)
    }

    /// A searcher for one thread, which allocates nothing per query once its buffers have grown.
    pub fn searcher(&self) -> Searcher<'_> {
        Searcher::new(&self.segments, &Costs::shipped().disk)
    }

    /// Searches for many fingerprints at once: for each of `queries` what [`Self::search`] gives. `k`
    /// over 64 is 64. [`Batch::run`] starts it.
    pub fn search_batch<'a>(&'a self, queries: &'a [u64], k: u32) -> Batch<'a> {
        Batch::new(&self.segments, queries, k)
    }

    /// Whether any fingerprint within Hamming distance `k` of `fingerprint` is stored. Takes less time
    /// than a search where there is one: it ends with the first that it finds.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub fn any_within(&self, fingerprint: u64, k: u32) -> Result<bool> {
        self.searcher().any_within(fingerprint, k)
    }

    /// All pairs of stored fingerprints within Hamming distance `k` of each other, each once, the smaller
    /// one first. `k` over 64 is 64. [`Join::run`] starts it.
    pub fn self_join(&self, k: u32) -> Join<'_> {
        Join::new(&self.segments, None, k)
    }

    /// All pairs of a fingerprint of this store and one of `other` within Hamming distance `k`, each
    /// once. `k` over 64 is 64. The stores may have different designs. [`Join::run`] starts it.
    pub fn join<'a>(&'a self, other: &'a Store, k: u32) -> Join<'a> {
        Join::new(&self.segments, Some(&other.segments), k)
    }

    /// Whether `fingerprint` is stored. Reads at most one block per segment.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if that block is damaged.
    pub fn contains(&self, fingerprint: u64) -> Result<bool> {
        for segment in &self.segments {
            let table = segment.identity();
            if table.contains(table.permutation().key(fingerprint))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether ids are stored with the fingerprints, in some segment.
    pub fn has_ids(&self) -> bool {
        self.segments.iter().any(|segment| segment.id_column().is_some())
    }

    /// Which id map belongs to the store; `None` where ids are just numbers, or there are none.
    ///
    /// The map is a file of its own, which the store neither reads nor checks.
    pub fn id_map(&self) -> Option<IdMapTag> {
        self.id_map
    }

    /// The ids of `fingerprint`, ascending and each once; none if it is not stored, or stored without
    /// ids. They are the union over all segments.
    ///
    /// Decodes at most one block per segment and takes O(log n) time, however many ids there are; the
    /// ids themselves are read as the iterator goes. A search does not read them, so who searches
    /// asks for the ids of what was found:
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("store");
    /// fpstore::Packer::new().pack_with_ids(&path, [(0b1011, 7), (0b1011, 9), (u64::MAX, 8)])?;
    ///
    /// let store = fpstore::Store::open(&path)?;
    /// let near = store.search(0b1010, 2)?;
    /// let ids = store.ids(near[0].fingerprint)?;
    /// assert_eq!(ids.len(), 2);
    /// assert_eq!(ids.collect::<Result<Vec<u64>, _>>()?, [7, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the block, or what tells the number of ids, is damaged. The iterator gives
    /// that error where the ids themselves are.
    pub fn ids(&self, fingerprint: u64) -> Result<Ids<'_>> {
        let runs = self.segments.iter().map(|segment| segment.ids(fingerprint));
        let runs = runs.filter_map(Result::transpose).collect::<Result<Vec<_>>>()?;
        Ok(Ids::new(runs))
    }

    /// All fingerprints in ascending order, each once. Decodes one block per segment at a time.
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(&self.segments)
    }

    /// All fingerprints in ascending order, each once, with their ids: those that [`Self::ids`] gives,
    /// and none where there are none. Reads all files in order, so it takes some 50 ns for each
    /// instead of a look-up.
    pub fn iter_with_ids(&self) -> IterWithIds<'_> {
        IterWithIds::new(&self.segments)
    }

    /// The size of the store and of its parts. Reads headers and histograms only.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if a histogram is damaged.
    pub fn stats(&self) -> Result<Stats> {
        let segments = self
            .segments
            .iter()
            .map(|segment| {
                let tables = segment.tables().iter().map(|table| table.stats());
                Ok(SegmentStats {
                    number: segment.number(),
                    design: segment.design().clone(),
                    count: segment.count(),
                    tables: tables.collect::<Result<_>>()?,
                    ids: segment.id_column().map(|ids| ids.stats()),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let tables = segments.iter().flat_map(|segment| &segment.tables);
        let tables = tables.map(|table| table.file_bytes);
        let ids = segments.iter().filter_map(|segment| segment.ids).map(|ids| ids.file_bytes);
        Ok(Stats {
            radius: self.radius,
            fingerprints: self.len(),
            bytes: self.manifest_bytes + tables.chain(ids).sum::<u64>(),
            segments,
        })
    }

    /// Checks every byte: all checksums, padding, codes and the order of keys, that the router is
    /// what the blocks give, and that every table of a segment holds the same set, by a sum of 128
    /// bits over its fingerprints; and of the ids, that they belong to these fingerprints and ascend,
    /// and that the id map of the store has a string for each, if it has one.
    /// Decodes all tables with all cores; 8 bytes of memory per block.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] with the first rule of the specification that is broken.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.verify_with(|_| {})
    }

    /// As [`Self::verify`], and tells how far it is, from any thread.
    ///
    /// # Errors
    ///
    /// As [`Self::verify`].
    pub fn verify_with(&self, on_progress: impl Fn(VerifyProgress) + Sync) -> Result<VerifyReport> {
        let total = self.segments.iter().fold(0u64, |total, segment| {
            let keys = segment.count().saturating_mul(segment.tables().len() as u64);
            let ids = segment.id_column().map_or(0, |ids| ids.id_count());
            total.saturating_add(keys).saturating_add(ids)
        });
        let all_done = AtomicU64::new(0);
        let done = |more: u64| {
            let done = all_done.fetch_add(more, Ordering::Relaxed).saturating_add(more);
            on_progress(VerifyProgress { done, total });
        };
        let mut report = VerifyReport { bytes: self.manifest_bytes, ..VerifyReport::default() };
        for segment in &self.segments {
            for table in segment.tables() {
                table.verify(&done)?;
                report.tables += 1;
                report.blocks += table.block_count();
                report.bytes += table.file_bytes();
            }
            if let Some(ids) = segment.id_column() {
                ids.verify(segment.identity(), self.id_map.map(|map| map.string_count))?;
                done(ids.id_count());
                report.ids = report.ids.saturating_add(ids.id_count());
                report.bytes += ids.file_bytes();
            }
            report.segments += 1;
            report.fingerprints = report.fingerprints.saturating_add(segment.count());
        }
        Ok(report)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'a> IntoIterator for &'a Store {
    type Item = Result<u64>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The size of a store and what it is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The Hamming radius that the store was planned for.
    pub radius: u32,
    /// The number of fingerprints, as [`Store::len`] gives it.
    pub fingerprints: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// The segments.
    pub segments: Vec<SegmentStats>,
}

/// The size of a segment and what it is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// Number of the segment, part of the names of its files.
    pub number: u64,
    /// The design of its tables.
    pub design: Design,
    /// The number of distinct fingerprints.
    pub count: u64,
    /// The tables.
    pub tables: Vec<TableStats>,
    /// The ids, if it has some.
    pub ids: Option<IdStats>,
}

/// How far [`Store::verify_with`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyProgress {
    /// Fingerprints that are checked, counted once per table, and ids.
    pub done: u64,
    /// How many there are, as the files say.
    pub total: u64,
}

/// What [`Store::verify`] has checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of segments.
    pub segments: u64,
    /// Number of tables.
    pub tables: u64,
    /// Number of blocks of all tables.
    pub blocks: u64,
    /// Number of fingerprints of all segments.
    pub fingerprints: u64,
    /// Number of ids of all segments.
    pub ids: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Reads the manifest in the directory `path`.
fn read_manifest(path: &Path) -> Result<Vec<u8>> {
    let manifest = path.join(MANIFEST_NAME);
    let read = files::read_at_most(&manifest, MAX_MANIFEST_BYTES);
    let bytes = read.map_err(|source| {
        let found = match (source.kind(), fs::metadata(path)) {
            (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Ok(metadata)) => {
                if metadata.is_dir() {
                    "the directory has no manifest.fps (a pack that was stopped leaves none)"
                } else {
                    "this is a file, not a directory"
                }
            }
            (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => "there is nothing here",
            _ => return Error::io(&manifest, "read the manifest")(source),
        };
        Error::NotAStore { path: path.to_path_buf(), found }
    })?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        let corruption = Corruption::ManifestLimit { most: MAX_MANIFEST_BYTES };
        return Err(Defect::corrupt(0, corruption).in_file(&manifest));
    }
    Ok(bytes)
}
