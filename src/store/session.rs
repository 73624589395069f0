//! A pack from its first fingerprint to its store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rayon::ThreadPool;

use super::budget::capacity;
use super::commit::{Commit, OldStore};
use super::pack::{PackSummary, Packer};
use super::prepared::{Prepared, PreparedPack};
use super::progress::{Meter, PackTimes, Phase};
use super::records::{PackedIds, Records, SortedRecords};
use super::storage::{Directory, Storage};
use super::tables::{Merged, Set, sum_of};
use super::target::Target;
use crate::codec::profile::Coding;
use crate::error::{Error, Result};
use crate::format::{BitRange, IdMapTag, IdsEntry, Manifest, SegmentEntry};
use crate::ids::IdsOptions;
use crate::set_sum;
use crate::sort::{Buffers, Sorted};
use crate::table::{TableOptions, TableStats};
use crate::threads;

/// Fingerprints for which there is room in any case where there are ids.
const LEAST_BUFFER: usize = 16;

/// Pairs that are handed on together.
const PIECE: usize = 1 << 13;

/// A pack that takes fingerprints piece by piece, from [`Packer::start`].
///
/// Nothing stands at the output before the memory is full, or the session is
/// [finished](Self::finish). A session that is dropped leaves what was there before.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let mut session = fpstore::Packer::new().start(directory.path().join("store"))?;
/// session.extend(&[3, 1])?;
/// session.extend(&[2, 3])?;
/// let summary = session.finish()?;
/// assert_eq!((summary.read, summary.distinct), (4, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PackSession {
    /// Gone once the pack has ended.
    session: Option<Session<Directory>>,
    target: Option<Target>,
    pool: ThreadPool,
}

impl PackSession {
    /// A session whose output was checked.
    pub(super) fn new(packer: Packer, path: &Path) -> Result<Self> {
        let pool = threads::pool(packer.threads)?;
        let storage = Directory::new(path, packer.temporary_directory.as_deref());
        let capacity = capacity(packer.memory, pool.current_num_threads(), 0);
        let session = Session::new(packer, path, storage, capacity);
        Ok(Self { session: Some(session), target: None, pool })
    }

    /// Takes fingerprints, in any order and with any duplicates.
    ///
    /// # Errors
    ///
    /// As [`Packer::pack`]. After an error nothing more is taken, and
    /// [`finish`](Self::finish) fails.
    pub fn extend(&mut self, fingerprints: &[u64]) -> Result<()> {
        let mut rest = fingerprints;
        self.take(false, &mut |session| {
            rest = session.fill(rest);
            rest.is_empty()
        })
    }

    /// Takes pairs of a fingerprint and an id, in any order; a fingerprint may have any number of ids, and
    /// a pair that comes again changes nothing. Each takes as much memory as two fingerprints.
    ///
    /// # Errors
    ///
    /// As [`Self::extend`]; [`Error::MixedIds`] where [`Self::extend`] was called before: all
    /// fingerprints of a pack have ids, or none.
    pub fn extend_with_ids(&mut self, pairs: &[(u64, u64)]) -> Result<()> {
        let mut piece = Vec::new();
        // Once without any: that decides that there are ids.
        for pairs in pairs.chunks(PIECE).chain(pairs.is_empty().then_some(pairs)) {
            piece.clear();
            piece.extend(pairs.iter().map(|&(fingerprint, id)| [fingerprint, id]));
            let mut rest = &piece[..];
            self.take(true, &mut |session| {
                rest = session.fill_pairs(rest);
                rest.is_empty()
            })?;
        }
        Ok(())
    }

    /// Says that the ids are the numbers of strings, and which map has these. The store remembers it
    /// ([`Store::id_map`](crate::Store::id_map)), as part of the manifest: the map must be durable
    /// before the store is visible. Says nothing in a store without ids.
    pub(crate) fn id_map(&mut self, map: IdMapTag) {
        if let Some(session) = &mut self.session {
            session.id_map = Some(map);
        }
    }

    /// The path of the store, unless the session has failed.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.session.as_ref().map(|session| session.path.as_path())
    }

    /// Calls `fill` until it has given all, and makes room after each time that it has not.
    fn take(
        &mut self,
        with_ids: bool,
        fill: &mut dyn FnMut(&mut Session<Directory>) -> bool,
    ) -> Result<()> {
        // Gone, with all that was written, after an error or a panic of a callback: the session first,
        // since the directory goes only if it is empty.
        let mut target = self.target.take();
        let mut session = self.session.take().ok_or(Error::Cancelled)?;
        let fill_all = || {
            loop {
                session.meter.check()?;
                session.admit(with_ids)?;
                if fill(&mut session) {
                    return Ok(session);
                }
                if target.is_none() {
                    target = Some(Target::lock(&session.path, session.packer.replace)?);
                    session.begin()?;
                }
                self.pool.install(|| session.spill())?;
            }
        };
        self.session = Some(fill_all()?);
        self.target = target;
        Ok(())
    }

    /// Writes the store and makes it visible.
    ///
    /// # Errors
    ///
    /// As [`Packer::pack`]. There is no new store then.
    pub fn finish(self) -> Result<PackSummary> {
        self.prepare()?.commit()
    }

    /// Writes the store, durably, and does not make it visible yet: for who has something else to do
    /// in between, so that two things come to be together.
    ///
    /// # Errors
    ///
    /// As [`Packer::pack`].
    pub fn prepare(mut self) -> Result<PreparedPack> {
        let mut session = self.session.take().ok_or(Error::Cancelled)?;
        let target = self.target.take();
        self.pool.install(|| {
            let target = match target {
                Some(target) => target,
                None => {
                    // Sorted first: until it must, a pack does not touch the output.
                    session.sort()?;
                    let target = Target::lock(&session.path, session.packer.replace)?;
                    session.begin()?;
                    target
                }
            };
            Ok(PreparedPack::new(session.prepare()?, target))
        })
    }
}

impl std::fmt::Debug for PackSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackSession").finish_non_exhaustive()
    }
}

/// What stands at the output decides this of what a pack writes.
struct Place {
    /// Of the segment.
    number: u64,
    /// That of the store that is replaced.
    store_id: Option<u128>,
    generation: u64,
}

/// The id of a new store. It comes from what is written, so that packing again gives the same files.
fn first_store_id(segment: &SegmentEntry) -> u128 {
    let tables = segment.tables.iter().map(|table| (table.header_crc, table.footer_crc));
    let ids = segment.ids.iter().map(|ids| (ids.header_crc, ids.directory_crc));
    let crcs = tables.chain(ids).map(|(one, other)| u64::from(one) << 32 | u64::from(other));
    crcs.fold(segment.set_sum, |id, crcs| id.wrapping_add(set_sum::term(crcs)))
}

/// A pack into any storage. It runs in the pool of threads that it is to use.
pub(super) struct Session<S: Storage> {
    pub(super) packer: Packer,
    pub(super) path: PathBuf,
    storage: Arc<S>,
    /// Room for fingerprints, twice.
    capacity: usize,
    /// Gone once they are sorted.
    records: Option<Records<S::Spill>>,
    sorted: Option<SortedRecords<S::Spill>>,
    old: Option<OldStore>,
    pub(super) meter: Meter,
    times: PackTimes,
    read: u64,
    spilled: u64,
    id_map: Option<IdMapTag>,
}

impl<S: Storage> Session<S> {
    /// A session with room for `capacity` fingerprints, twice.
    pub(super) fn new(packer: Packer, path: &Path, storage: S, capacity: usize) -> Self {
        let meter = Meter::new(packer.progress.clone(), packer.cancel.clone());
        Self {
            packer,
            path: path.to_path_buf(),
            storage: Arc::new(storage),
            capacity,
            records: Some(Records::None),
            sorted: None,
            old: None,
            meter,
            times: PackTimes::default(),
            read: 0,
            spilled: 0,
            id_map: None,
        }
    }

    /// Gets ready for fingerprints with ids or without.
    pub(super) fn admit(&mut self, with_ids: bool) -> Result<()> {
        self.records.as_mut().ok_or(Error::Cancelled)?.admit(with_ids, self.capacity)
    }

    /// Takes what there is room for, and gives the rest. Fingerprints without ids were admitted.
    pub(super) fn fill<'a>(&mut self, fingerprints: &'a [u64]) -> &'a [u64] {
        let rest = match &mut self.records {
            Some(Records::Fingerprints(sorter)) => sorter.fill(fingerprints),
            _ => fingerprints,
        };
        self.read += (fingerprints.len() - rest.len()) as u64;
        rest
    }

    /// As [`Self::fill`], with ids.
    pub(super) fn fill_pairs<'a>(&mut self, pairs: &'a [[u64; 2]]) -> &'a [[u64; 2]] {
        let rest = match &mut self.records {
            Some(Records::Pairs(sorter)) => sorter.fill(pairs),
            _ => pairs,
        };
        self.read += (pairs.len() - rest.len()) as u64;
        rest
    }

    /// Looks at what stands at the output, and removes what a stopped pack left. Comes before the
    /// first file is created.
    pub(super) fn begin(&mut self) -> Result<()> {
        let old = OldStore::read(&self.path, &*self.storage)?;
        old.remove_leftovers(&self.path, &*self.storage)?;
        self.old = Some(old);
        Ok(())
    }

    /// Makes room.
    pub(super) fn spill(&mut self) -> Result<()> {
        let start = Instant::now();
        let storage = &self.storage;
        if let Some(records) = &mut self.records {
            self.meter.wrote(records.spill(&|| storage.spill())?);
        }
        self.times.sort += start.elapsed();
        let done = self.read - self.spilled;
        self.spilled = self.read;
        self.meter.advance(Phase::Spill, done)
    }

    /// Sorts what was taken.
    pub(super) fn sort(&mut self) -> Result<()> {
        let Some(records) = self.records.take() else {
            return Ok(());
        };
        let phase = if self.spilled > 0 { Phase::Merge } else { Phase::Sort };
        self.meter.plan(&[(phase, self.read)]);
        self.meter.advance(phase, 0)?;
        let start = Instant::now();
        let storage = &self.storage;
        self.sorted = Some(records.finish(&|| storage.spill())?);
        self.times.sort += start.elapsed();
        if phase == Phase::Sort { self.meter.advance(phase, self.read) } else { self.meter.check() }
    }

    /// As [`Self::prepare`], and commits the store in place of the one that is there, if any.
    #[cfg(test)]
    pub(super) fn finish(self) -> Result<PackSummary> {
        self.prepare()?.commit()
    }

    /// Writes all files of the store.
    pub(super) fn prepare(mut self) -> Result<Prepared<S>> {
        self.sort()?;
        let (Some(sorted), Some(old)) = (self.sorted.take(), self.old.take()) else {
            return Err(Error::Cancelled);
        };
        // [SEG-4] leaves the last number unused.
        let number = Some(old.next_segment).filter(|&number| number < u64::MAX);
        let number = number.ok_or_else(|| Error::NoSegmentNumber { path: self.path.clone() })?;
        let generation = old.identity.map_or(0, |(_, generation)| generation).checked_add(1);
        let Some(generation) = generation else {
            return Err(Error::NoSegmentNumber { path: self.path.clone() });
        };
        let store_id = old.identity.map(|(id, _)| id);
        let place = Place { number, store_id, generation };
        let mut commit = Commit::new(&self.path, self.storage.clone());
        let mut times = self.times;
        let (manifest, mut summary) = self.write(&mut commit, place, sorted, &mut times)?;
        let start = Instant::now();
        summary.bytes += commit.write_manifest(&manifest)?;
        times.sync += start.elapsed();
        let summary = PackSummary { times, ..summary };
        Ok(Prepared { commit, summary, old: old.in_use, meter: self.meter })
    }

    /// Writes tables and ids; gives the manifest, and a summary that lacks the times and the bytes of
    /// the manifest.
    fn write(
        &self,
        commit: &mut Commit<S>,
        place: Place,
        sorted: SortedRecords<S::Spill>,
        times: &mut PackTimes,
    ) -> Result<(Manifest, PackSummary)> {
        let number = place.number;
        let start = Instant::now();
        let (mut set, set_sum, mut ids) = self.set_of(sorted)?;
        times.sort += start.elapsed();
        let count = set.count();
        let sample = |planner| set.sample(planner);
        let (design, block_bytes, planner) = self.packer.layout(count, sample)?;
        self.reserve(&mut set, block_bytes, ids.is_some())?;
        let tables = design.table_count() as u64;
        self.meter.plan(&[(Phase::Encode, count * tables)]);
        self.meter.plan(&[(Phase::Ids, ids.as_ref().map_or(0, |ids| ids.count))]);
        if let Set::Spilled(_) = set {
            let permuted = count * (tables - 1);
            self.meter.plan(&[(Phase::Distribute, permuted), (Phase::Count, permuted)]);
        }
        let (mut entries, mut stats, mut id_files) = (Vec::new(), Vec::new(), None);
        for (table, top) in design.tops().iter().enumerate() {
            let next = design.tops().get(table + 1).map(Vec::as_slice);
            let coding = self.prepare_table(&mut set, top, next, times)?;
            let options = TableOptions {
                coding,
                block_bytes,
                count,
                set_sum,
                table_number: table as u16,
                top: top.clone(),
                count_keys: ids.is_some(),
            };
            let storage = &self.storage;
            let written = commit.write_table(number, &options, &self.meter, times, |sink| {
                set.visit(next, &|| storage.spill(), sink)
            })?;
            stats.push(TableStats::of_written(count, &written, &options));
            if let Some(mut ids) = ids.take() {
                let options = IdsOptions {
                    table_crc: written.entry.header_crc,
                    count,
                    key_counts: written.key_counts,
                    id_count: ids.count,
                    greatest: ids.greatest,
                };
                let entry = commit.write_ids(number, &options, &mut ids, &self.meter, times)?;
                id_files = Some((entry, ids.count));
            }
            entries.push(written.entry);
        }
        let temporary_bytes = set.temporary_bytes();
        // Temporaries go before the store is there.
        drop(set);
        self.meter.plan(&[(Phase::Sync, count * tables)]);
        self.meter.advance(Phase::Sync, 0)?;
        let (ids, id_count) = id_files.unzip();
        let id_bytes = ids.map_or(0, |ids: IdsEntry| ids.file_bytes);
        let bytes = entries.iter().map(|entry| entry.file_bytes).sum::<u64>() + id_bytes;
        let segment = SegmentEntry { number, count, set_sum, tables: entries, ids };
        let radius = self.packer.radius as u16;
        let id_map = self.id_map.filter(|_| segment.ids.is_some());
        let next_segment = number + 1;
        let store_id = place.store_id.unwrap_or_else(|| first_store_id(&segment));
        let manifest = Manifest {
            radius,
            next_segment,
            store_id,
            generation: place.generation,
            segments: vec![segment],
            id_map,
            skipped: Vec::new(),
        };
        let summary = PackSummary {
            read: self.read,
            distinct: count,
            ids: id_count,
            id_bytes,
            bytes,
            tables: stats,
            design,
            block_bytes,
            planner,
            temporary_bytes,
            times: PackTimes::default(),
        };
        Ok((manifest, summary))
    }

    /// The set, its sum, and the ids if there are some.
    fn set_of(&self, sorted: SortedRecords<S::Spill>) -> Result<SetOfRecords<S::Spill>> {
        let in_memory = |set: Vec<u64>, spare| {
            let sum = sum_of(&set);
            (Set::Memory { set, spare }, sum)
        };
        match sorted {
            SortedRecords::Fingerprints(Sorted::Memory(set, spare)) => {
                let (set, sum) = in_memory(set, spare);
                Ok((set, sum, None))
            }
            SortedRecords::Pairs(Sorted::Memory(pairs, spare)) => {
                drop(spare);
                let (set, ids) = PackedIds::of_pairs(pairs);
                let (set, sum) = in_memory(set, Vec::new());
                Ok((set, sum, Some(ids)))
            }
            SortedRecords::Fingerprints(Sorted::Runs(runs)) => {
                let (in_runs, peak) = (8 * runs.len(), runs.peak_bytes);
                let mut merged = Merged::new(&self.meter, self.storage.spill()?);
                let (keys, sorted) = runs.merge(&mut |set| merged.push(set))?;
                let (set, sum) = merged.finish(Buffers { keys, sorted }, peak, in_runs);
                Ok((set, sum, None))
            }
            SortedRecords::Pairs(Sorted::Runs(runs)) => {
                let (in_runs, peak) = (16 * runs.len(), runs.peak_bytes);
                let mut merged = Merged::new(&self.meter, self.storage.spill()?);
                let storage = &self.storage;
                let merge =
                    PackedIds::merge(runs, &|| storage.spill(), &mut |set| merged.push(set));
                let (ids, bytes) = merge?;
                self.meter.wrote(bytes);
                // As much as the pairs took, which are gone.
                let buffer = || vec![0; self.capacity.max(LEAST_BUFFER)];
                let buffers = Buffers { keys: buffer(), sorted: buffer() };
                let (set, sum) = merged.finish(buffers, peak, in_runs + bytes);
                Ok((set, sum, Some(ids)))
            }
        }
    }

    /// Makes room for the routers of tables with blocks of so many bytes, and for what ids need to
    /// know of blocks.
    fn reserve(&self, set: &mut Set<S::Spill>, block_bytes: u32, with_ids: bool) -> Result<()> {
        let Set::Spilled(spilled) = set else {
            return Ok(());
        };
        let Some(memory) = self.packer.memory else {
            return Ok(());
        };
        let coding = spilled.profile.choose(self.packer.codec, self.packer.low_bits)?;
        let count = spilled.count();
        // A key for each block, and a tenth more for tables that compress less.
        let blocks = count as f64 * coding.bits_per_key() / (8.0 * f64::from(block_bytes)) * 1.1;
        let routers = (if with_ids { 12 } else { 8 }) * blocks as u64;
        let threads = rayon::current_num_threads();
        let (all, left) =
            (capacity(Some(memory), threads, 0), capacity(Some(memory), threads, routers));
        if left < all / 4 {
            let what = format!("{count} fingerprints in blocks of {block_bytes} bytes need");
            return Err(Error::MemoryLimit { what, limit: memory, needed: memory + routers });
        }
        spilled.limit(left);
        Ok(())
    }

    /// Brings the keys of a table into order, and chooses their coding.
    fn prepare_table(
        &self,
        set: &mut Set<S::Spill>,
        top: &[BitRange],
        next: Option<&[BitRange]>,
        times: &mut PackTimes,
    ) -> Result<Coding> {
        let start = Instant::now();
        let storage = &self.storage;
        set.prepare(top, next, &self.meter, &|| storage.spill())?;
        times.sort += start.elapsed();
        let start = Instant::now();
        let profile = set.profile(&self.meter, &|| storage.spill())?;
        times.count += start.elapsed();
        profile.choose(self.packer.codec, self.packer.low_bits)
    }
}

/// A set, its sum, and its ids.
type SetOfRecords<F> = (Set<F>, u128, Option<PackedIds<F>>);
