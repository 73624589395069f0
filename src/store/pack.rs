//! Packs a set into a store, and commits it.

use std::borrow::Borrow;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::storage::{Directory, Storage};
use super::target::{self, Target};
use crate::design::Design;
use crate::error::{Error, Result};
use crate::format::{
    self, Codec, LOCK_NAME, MANIFEST_NAME, Manifest, SegmentEntry, TEMPORARY_PREFIX,
};
use crate::permute::Permutation;
use crate::plan::{Calibration, Planner};
use crate::profile::Profile;
use crate::set_sum;
use crate::table::{TableOptions, TableStats, WriteError, Written, write_table};

/// The largest number of threads.
const MAX_THREADS: usize = 1024;

/// Writes a set of fingerprints as a compressed store.
///
/// Memory: 16 bytes per fingerprint (24 while input of unknown length is collected), and 32 bytes
/// per block of a table. The files are the same, byte for byte, whatever the order of the input,
/// its duplicates and the number of threads.
///
/// # Examples
///
/// ```
/// use fpstore::{Codec, Design, Packer};
///
/// let directory = tempfile::tempdir()?;
/// let summary = Packer::new()
///     .design(Design::named("quarters").unwrap())
///     .block_bytes(512)
///     .codec(Some(Codec::Gap))
///     .pack(directory.path().join("store"), (0..10_000u64).map(|i| i * i * i))?;
/// assert_eq!((summary.distinct, summary.tables.len()), (10_000, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Packer {
    design: Option<Design>,
    radius: u32,
    block_bytes: Option<u32>,
    codec: Option<Codec>,
    low_bits: Option<u32>,
    calibration: Calibration,
    threads: usize,
    replace: bool,
    progress: Arc<dyn Fn(Progress) + Send + Sync>,
}

/// How far a pack has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Fingerprints done in this phase, counted once per table.
    pub done: u64,
    /// Fingerprints of the phase, counted once per table.
    pub total: u64,
}

/// What a pack is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Brings the set into order.
    Sort,
    /// Sorts, encodes and writes the tables.
    Encode,
    /// Makes all files durable and visible.
    Sync,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Phase::Sort => "sort",
            Phase::Encode => "encode",
            Phase::Sync => "sync",
        })
    }
}

/// What a pack has written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PackSummary {
    /// Fingerprints read, duplicates included.
    pub read: u64,
    /// Distinct fingerprints.
    pub distinct: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// The tables.
    pub tables: Vec<TableStats>,
}

impl Default for Packer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer")
            .field("design", &self.design)
            .field("radius", &self.radius)
            .field("block_bytes", &self.block_bytes)
            .field("codec", &self.codec)
            .field("low_bits", &self.low_bits)
            .field("threads", &self.threads)
            .field("replace", &self.replace)
            .finish_non_exhaustive()
    }
}

impl Packer {
    /// A packer with the design and the size of blocks that a [`Planner`] recommends for the set,
    /// codec and column chosen by size, for a radius of 3, with all cores, that refuses to replace
    /// a store.
    pub fn new() -> Self {
        Self {
            design: None,
            radius: 3,
            block_bytes: None,
            codec: None,
            low_bits: None,
            calibration: Calibration::default(),
            threads: 0,
            replace: false,
            progress: Arc::new(|_| {}),
        }
    }

    /// The tables to write. Where none are given a [`Planner`] chooses one to four for the set and
    /// the radius, with the shipped constants: the same on every machine.
    pub fn design(mut self, design: Design) -> Self {
        self.design = Some(design);
        self
    }

    /// The Hamming radius, in bits, that queries will mostly ask for; 0 to 64. It is remembered,
    /// the planner chooses for it, and it limits nothing.
    pub fn radius(mut self, radius: u32) -> Self {
        self.radius = radius;
        self
    }

    /// Bytes per block: a power of two from 256 to 65536. Smaller blocks answer faster and take
    /// more space. Where none are given a [`Planner`] chooses from 256 to 4096.
    pub fn block_bytes(mut self, block_bytes: u32) -> Self {
        self.block_bytes = Some(block_bytes);
        self
    }

    /// The codec; `None` takes the smaller one for each table.
    pub fn codec(mut self, codec: Option<Codec>) -> Self {
        self.codec = codec;
        self
    }

    /// Width of the low column in bits: 0, 8, 16, 24 or 32. `None` takes, for each table, the
    /// largest whose payload is at most 1% larger than that of 0.
    pub fn low_bits(mut self, low_bits: Option<u32>) -> Self {
        self.low_bits = low_bits;
        self
    }

    /// The constants of the machine that will search, by which design and size of blocks are chosen
    /// where they are not given. Other constants may make other files.
    pub fn calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = calibration;
        self
    }

    /// Number of threads, up to 1024; 0 stands for the number of cores.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Whether a store that exists at the output is replaced. (A directory that holds table files
    /// or temporaries of fpstore, and no manifest, is what a stopped pack left: its files are
    /// removed in any case.) Until the new one is durable the old one stays; something that is not
    /// a store is never replaced.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// A function that is told how far the pack has come, from any thread.
    pub fn on_progress(mut self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// Checks options and output without writing anything, so that a long input need not be read in
    /// vain.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`].
    pub fn check_target(&self, path: impl AsRef<Path>) -> Result<()> {
        self.check_options()?;
        target::check(path.as_ref(), self.replace)
    }

    /// Packs `fingerprints`, an iterator or a slice, in any order and with any duplicates, into a store in the directory
    /// `path`, which is created. The new store becomes visible whole, in one rename, when all of it
    /// is durable; if the pack fails or is killed, there is no store, or still the old one.
    ///
    /// Takes O(n log n) time for n fingerprints and each table.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] before anything else; [`Error::Exists`] and [`Error::Foreign`]
    /// where the output is taken; [`Error::Busy`] while another process writes there; [`Error::Io`]
    /// where the file system refuses, for instance on a full disk; what was written is removed
    /// again.
    pub fn pack(
        &self,
        path: impl AsRef<Path>,
        fingerprints: impl IntoIterator<Item = impl Borrow<u64>>,
    ) -> Result<PackSummary> {
        let path = path.as_ref();
        self.check_target(path)?;
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().map_err(|error| {
                Error::InvalidOption {
                    option: "threads",
                    value: self.threads.to_string(),
                    expected: format!("the system cannot start them ({error})"),
                }
            })?;
        let mut set: Vec<u64> = fingerprints.into_iter().map(|fp| *fp.borrow()).collect();
        let read = set.len() as u64;
        self.report(Phase::Sort, 0, read);
        pool.install(|| set.par_sort_unstable());
        set.dedup();
        self.report(Phase::Sort, read, read);
        let target = Target::lock(path, self.replace)?;
        match pool.install(|| self.write(path, &Directory::new(path), &set)) {
            Ok((bytes, tables)) => {
                Ok(PackSummary { read, distinct: set.len() as u64, bytes, tables })
            }
            Err(error) => {
                target.abandon();
                Err(error)
            }
        }
    }

    fn check_options(&self) -> Result<()> {
        let invalid = |option, value: u64, expected: &str| {
            Err(Error::InvalidOption {
                option,
                value: value.to_string(),
                expected: expected.to_string(),
            })
        };
        if self.radius > 64 {
            return invalid("radius", self.radius.into(), "it is 0 to 64 bits");
        }
        if let Some(block_bytes) = self.block_bytes.filter(|&size| !format::is_block_bytes(size)) {
            return invalid(
                "block bytes",
                block_bytes.into(),
                "they are a power of two from 256 to 65536",
            );
        }
        if self.threads > MAX_THREADS {
            return invalid("threads", self.threads as u64, "there are at most 1024");
        }
        Profile::new(&[]).choose(self.codec, self.low_bits).map(|_| ())
    }

    /// Design and size of blocks: as given, and what is not given as planned for `set`.
    fn layout(&self, set: &[u64]) -> Result<(Design, u32)> {
        if let (Some(design), Some(block_bytes)) = (&self.design, self.block_bytes) {
            return Ok((design.clone(), block_bytes));
        }
        let count = set.len() as u64;
        // More copies than four never win the product of space and time, and take long to predict.
        let small = Design::NAMES.iter().filter_map(|name| Design::named(name));
        let small = small.filter(|design| design.table_count() <= 4);
        let planner = Planner::new(count)
            .radius(self.radius)
            .designs(self.design.clone().map_or_else(|| small.collect(), |design| vec![design]))
            .block_bytes(self.block_bytes)
            .codec(self.codec)
            .low_bits(self.low_bits)
            .calibration(self.calibration)
            .sample(set);
        match planner.best()? {
            Some(plan) => Ok((plan.design, plan.block_bytes)),
            None => {
                let block_bytes = self.block_bytes.unwrap_or(4096);
                Err(Error::TooManyBlocks { count, block_bytes })
            }
        }
    }

    fn report(&self, phase: Phase, done: u64, total: u64) {
        (self.progress)(Progress { phase, done, total });
    }

    /// Writes the tables of `set`, which ascends strictly, and commits them in place of the store
    /// in `storage`, if any. Gives the bytes of all files and the tables.
    pub(super) fn write<S: Storage>(
        &self,
        path: &Path,
        storage: &S,
        set: &[u64],
    ) -> Result<(u64, Vec<TableStats>)> {
        let old = OldStore::read(path, storage)?;
        old.remove_leftovers(path, storage)?;
        let mut commit = Commit { path, storage, created: Vec::new(), committed: false };
        // [SEG-4] leaves the last number unused.
        let number = Some(old.next_segment).filter(|&number| number < u64::MAX);
        let number = number.ok_or_else(|| Error::NoSegmentNumber { path: path.to_path_buf() })?;
        let result = self.write_and_commit(&mut commit, number, set);
        if !commit.committed {
            commit.undo();
        }
        let written = result?;
        // The new store is durable. What stays behind of the old one goes with the next pack.
        for name in old.in_use.iter().filter(|name| *name != MANIFEST_NAME) {
            let _ = storage.remove(name);
        }
        Ok(written)
    }

    fn write_and_commit<S: Storage>(
        &self,
        commit: &mut Commit<'_, S>,
        number: u64,
        set: &[u64],
    ) -> Result<(u64, Vec<TableStats>)> {
        let (design, block_bytes) = self.layout(set)?;
        let set_sum = set.par_iter().map(|&fp| set_sum::term(fp)).reduce(|| 0, u128::wrapping_add);
        let total = set.len() as u64 * design.table_count() as u64;
        let done = AtomicU64::new(0);
        let advance = |keys: u64| {
            let done = done.fetch_add(keys, Ordering::Relaxed) + keys;
            self.report(Phase::Encode, done, total);
        };
        self.report(Phase::Encode, 0, total);
        let mut entries = Vec::new();
        let mut stats = Vec::new();
        for (table, top) in design.tops().iter().enumerate() {
            let permutation = Permutation::new(top);
            let permuted: Vec<u64>;
            let keys = if permutation.is_identity() {
                set
            } else {
                let mut keys: Vec<u64> = set.par_iter().map(|&fp| permutation.key(fp)).collect();
                keys.par_sort_unstable();
                permuted = keys;
                &permuted
            };
            let options = TableOptions {
                coding: Profile::new(keys).choose(self.codec, self.low_bits)?,
                block_bytes,
                set_sum,
                table_number: table as u16,
                top: top.clone(),
            };
            let written = commit.write_table(number, keys, &options, &advance)?;
            stats.push(TableStats::of_written(keys.len() as u64, &written, &options));
            entries.push(written.entry);
        }
        self.report(Phase::Sync, 0, total);
        let bytes = entries.iter().map(|entry| entry.file_bytes).sum::<u64>();
        let count = set.len() as u64;
        let segment = SegmentEntry { number, count, set_sum, tables: entries };
        let manifest = Manifest {
            radius: self.radius as u16,
            next_segment: number + 1,
            segments: vec![segment],
        };
        let manifest_bytes = commit.publish(&manifest)?;
        self.report(Phase::Sync, total, total);
        Ok((bytes + manifest_bytes, stats))
    }
}

/// What is in the directory before a pack.
struct OldStore {
    next_segment: u64,
    /// Files of the store that stands there.
    in_use: Vec<String>,
    /// Files that a stopped writer left.
    leftovers: Vec<String>,
}

impl OldStore {
    fn read<S: Storage>(path: &Path, storage: &S) -> Result<Self> {
        let names = storage.names().map_err(Error::io(path, "list the directory"))?;
        let manifest = if names.iter().any(|name| name == MANIFEST_NAME) {
            let bytes = storage.read(MANIFEST_NAME);
            let bytes = bytes.map_err(Error::io(&path.join(MANIFEST_NAME), "read the manifest"))?;
            Manifest::decode(&bytes).ok()
        } else {
            None
        };
        let named = |name: &String| {
            manifest.iter().flat_map(|manifest| &manifest.segments).any(|segment| {
                (0..segment.tables.len())
                    .any(|table| format::table_name(segment.number, table) == *name)
            })
        };
        let damaged = manifest.is_none() && names.iter().any(|name| name == MANIFEST_NAME);
        let (mut in_use, mut leftovers) = (Vec::new(), Vec::new());
        let mut next_segment = manifest.as_ref().map_or(1, |manifest| manifest.next_segment.max(1));
        for name in names.into_iter().filter(|name| name != LOCK_NAME) {
            if let Some(after) = format::segment_number(&name).and_then(|n| n.checked_add(1)) {
                next_segment = next_segment.max(after);
            }
            // The files of a damaged store stay until the new one stands.
            if name == MANIFEST_NAME || named(&name) || (damaged && format::is_writers_name(&name))
            {
                in_use.push(name);
            } else if format::is_writers_name(&name) {
                leftovers.push(name);
            }
        }
        Ok(Self { next_segment, in_use, leftovers })
    }

    fn remove_leftovers<S: Storage>(&self, path: &Path, storage: &S) -> Result<()> {
        self.leftovers.iter().try_for_each(|name| {
            storage
                .remove(name)
                .map_err(Error::io(&path.join(name), "remove what a stopped pack left"))
        })
    }
}

/// The files of a store that is coming to be.
struct Commit<'a, S: Storage> {
    path: &'a Path,
    storage: &'a S,
    /// Names of files that do not belong to a store yet.
    created: Vec<String>,
    /// Whether the manifest names them.
    committed: bool,
}

impl<S: Storage> Commit<'_, S> {
    fn create(&mut self, name: &str) -> Result<S::File> {
        let file = self.storage.create(name).map_err(self.error(name, "create the file"))?;
        self.created.push(name.to_string());
        Ok(file)
    }

    fn write_table(
        &mut self,
        segment: u64,
        keys: &[u64],
        options: &TableOptions,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Written> {
        let name = format::table_name(segment, usize::from(options.table_number));
        let mut file = self.create(&name)?;
        let written =
            write_table(keys, options, &mut file, progress).map_err(|error| match error {
                WriteError::Io(source) => self.error(&name, "write the table")(source),
                WriteError::Other(error) => error,
            })?;
        self.storage.sync(&mut file).map_err(self.error(&name, "sync the table"))?;
        Ok(written)
    }

    /// Makes the tables durable, then visible, and that durable; gives the bytes of the manifest.
    fn publish(&mut self, manifest: &Manifest) -> Result<u64> {
        let directory = "sync the directory of";
        self.storage.sync_directory().map_err(self.error("", directory))?;
        let name = format!("{TEMPORARY_PREFIX}{MANIFEST_NAME}");
        let mut file = self.create(&name)?;
        let bytes = manifest.encode();
        file.write_all(&bytes).map_err(self.error(&name, "write the manifest"))?;
        self.storage.sync(&mut file).map_err(self.error(&name, "sync the manifest"))?;
        drop(file);
        self.storage
            .rename(&name, MANIFEST_NAME)
            .map_err(self.error(&name, "rename the manifest"))?;
        self.committed = true;
        self.storage.sync_directory().map_err(self.error("", directory))?;
        Ok(bytes.len() as u64)
    }

    /// Removes what was created, as far as the file system lets it.
    fn undo(&self) {
        for name in &self.created {
            let _ = self.storage.remove(name);
        }
    }

    fn error(&self, name: &str, action: &'static str) -> impl FnOnce(io::Error) -> Error + use<S> {
        Error::io(self.path.join(name), action)
    }
}
