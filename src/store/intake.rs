//! A pack, stage by stage: an [`Intake`] takes fingerprints, a [`SortedIntake`] has them in order,
//! and what that writes is [`Prepared`]. Each runs in the pool of threads that it is to use, or for
//! few records in the thread that waits for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::append::{Addition, Appending};
use super::budget::capacity;
use super::commit::{Commit, Prepared};
use super::edit;
use super::options::{PackSummary, Packer};
use super::records::{self, Records, SortedRecords};
use super::standing::Standing;
use crate::error::{Error, Result};
use crate::execution::{Meter, Phase};
use crate::fingerprint::Fingerprint;
use crate::format::Manifest;
use crate::id::{AsId, IdKind};
use crate::ids::check_kind;
use crate::names::{NameSource, SortedNames};
use crate::planning::IndexLayout;
use crate::record::Record;
use crate::segment::source::SourceOfIds;
use crate::segment::writer::{SegmentWriter, WrittenSegment};
use crate::segment::{Merged, NewFiles, PackTimes, PackedIds, Set, SetSource, sum_of};
use crate::sort::{Buffers, Sorted};
use crate::storage::Storage;
use crate::tasks;

/// Words for which there is room in any case.
const LEAST_BUFFER: usize = 16;

/// What all stages of a pack into some storage need.
pub(super) struct Pack<F, S> {
    pub(super) packer: Packer<F>,
    pub(super) path: PathBuf,
    pub(super) storage: Arc<S>,
    /// Room for words, twice.
    capacity: usize,
    pub(super) meter: Meter,
    times: PackTimes,
    read: u64,
    /// What ids are, since there are some.
    ids: Option<IdKind>,
}

/// Takes fingerprints, or pairs of a fingerprint and an id.
pub(super) struct Intake<F: Fingerprint, S: Storage> {
    pub(super) pack: Pack<F, S>,
    records: Records<F, S::Spill>,
    spilled: u64,
}

/// What an [`Intake`] took, in order.
pub(super) struct SortedIntake<F: Fingerprint, S: Storage> {
    pub(super) pack: Pack<F, S>,
    sorted: SortedRecords<F, S::Spill>,
}

/// Records whose ids are numbers, and the names that these are numbers of.
type Numbered<F, T> = (SortedRecords<F, T>, Option<SortedNames<F, T>>);

/// A set, its sum, and its ids.
type SetOfRecords<F, T> = (Set<F, T>, u128, Option<PackedIds<F, T>>);

impl<F: Fingerprint, S: Storage> Pack<F, S> {
    /// Fingerprints, or pairs, that were taken.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Looks at what stands at the output, and removes what a stopped pack left. Comes before the
    /// first file is created.
    pub(super) fn clear(&self) -> Result<Standing> {
        let standing = Standing::read(&self.path, &*self.storage)?;
        standing.remove_leftovers(&self.path, &*self.storage)?;
        Ok(standing)
    }
}

impl<F: Fingerprint, S: Storage> Intake<F, S> {
    /// An intake with room for `capacity` words, twice.
    pub(super) fn new(packer: Packer<F>, path: &Path, storage: Arc<S>, capacity: usize) -> Self {
        let meter = packer.execution.meter();
        let pack = Pack {
            packer,
            path: path.to_path_buf(),
            storage,
            capacity,
            meter,
            times: PackTimes::default(),
            read: 0,
            ids: None,
        };
        Self { pack, records: Records::None, spilled: 0 }
    }

    /// Gets ready for fingerprints without ids.
    pub(super) fn admit(&mut self) -> Result<()> {
        self.records.admit(None, self.pack.capacity)
    }

    /// Gets ready for fingerprints with ids like these; where there are none, like those that the
    /// packer was told of.
    pub(super) fn admit_ids<I: AsId>(&mut self, pairs: &[(F, I)]) -> Result<()> {
        let first = pairs.first().map(|(_, id)| id.as_id().ok_or(Error::MixedIds)).transpose()?;
        let told = self.pack.ids.or(self.pack.packer.ids);
        let kind = told.or(first.map(|id| id.kind())).unwrap_or(IdKind::Number);
        self.records.admit(Some(kind), self.pack.capacity)?;
        self.pack.ids = Some(kind);
        Ok(())
    }

    /// Takes what there is room for, and gives the rest. Fingerprints without ids were admitted.
    pub(super) fn fill<'a>(&mut self, fingerprints: &'a [F]) -> &'a [F] {
        let rest = match &mut self.records {
            Records::Fingerprints(sorter) => sorter.fill(fingerprints),
            _ => fingerprints,
        };
        self.pack.read += (fingerprints.len() - rest.len()) as u64;
        rest
    }

    /// As [`Self::fill`], with ids, such as were [admitted](Self::admit_ids).
    pub(super) fn fill_ids<'a, I: AsId>(&mut self, pairs: &'a [(F, I)]) -> Result<&'a [(F, I)]> {
        let kind = self.pack.ids.unwrap_or(IdKind::Number);
        let id_of = |id: &'a I| {
            let id = id.as_id().ok_or(Error::MixedIds)?;
            check_kind(kind, id).map(|()| id)
        };
        let mut taken = 0;
        match &mut self.records {
            Records::Pairs(sorter) => {
                let pair =
                    |(fingerprint, id): &'a (F, I)| Ok(fingerprint.with_id(id_of(id)?.number()));
                let numbered = pairs.iter().map(pair).collect::<Result<Vec<_>>>()?;
                taken = pairs.len() - sorter.fill(&numbered).len();
            }
            Records::Names(sorter) => {
                for (fingerprint, id) in pairs {
                    if !sorter.push(&id_of(id)?.name(), *fingerprint)? {
                        break;
                    }
                    taken += 1;
                }
            }
            _ => {}
        }
        self.pack.read += taken as u64;
        Ok(&pairs[taken..])
    }

    /// Makes room, in temporary files; the output was [cleared](Pack::clear).
    pub(super) fn spill(&mut self, _cleared: &Standing) -> Result<()> {
        let start = Instant::now();
        let Pack { storage, meter, times, read, .. } = &mut self.pack;
        meter.wrote(self.records.spill(&|| storage.spill())?);
        times.sort += start.elapsed();
        let done = *read - self.spilled;
        self.spilled = *read;
        meter.advance(Phase::Spill, done)
    }

    /// Sorts what was taken. Creates no file, unless it has [spilled](Self::spill).
    pub(super) fn sort(self) -> Result<SortedIntake<F, S>> {
        let Self { mut pack, records, spilled } = self;
        let phase = if spilled > 0 { Phase::Merge } else { Phase::Sort };
        pack.meter.plan(&[(phase, pack.read)]);
        pack.meter.advance(phase, 0)?;
        let start = Instant::now();
        let storage = &pack.storage;
        let sorted = records.finish(&|| storage.spill())?;
        pack.times.sort += start.elapsed();
        match phase {
            Phase::Sort => pack.meter.advance(phase, pack.read)?,
            _ => pack.meter.check()?,
        }
        Ok(SortedIntake { pack, sorted })
    }
}

impl<F: Fingerprint, S: Storage> SortedIntake<F, S> {
    /// Writes all files of the store that takes the place of what is `standing`.
    pub(super) fn write(self, standing: Standing) -> Result<Prepared<S>> {
        let Self { mut pack, sorted } = self;
        let appending = pack.appending(&standing, &sorted)?;
        let Pack { mut times, read, ids: id_kind, .. } = pack;
        let packer = &pack.packer;
        // [SEG-4] leaves the last number unused.
        let number = Some(standing.next_segment).filter(|&number| number < u64::MAX);
        let number = number.ok_or_else(|| Error::NoSegmentNumber { path: pack.path.clone() })?;
        let start = Instant::now();
        let (sorted, mut names) = pack.numbered(sorted)?;
        let (mut set, sum, mut ids) = pack.set_of(sorted)?;
        times.sort += start.elapsed();
        let count = set.count();
        let (mut layout, planner) = packer.choose_layout(count, |planner| set.sample(planner))?;
        if let IndexLayout::Tables(layout) = &layout {
            pack.reserve(&mut set, layout.block_bytes, ids.is_some())?;
        }
        let id_count = ids.as_ref().map(|ids| ids.count);
        let all_ids = ids.as_ref().map(|ids| (ids.count, ids.greatest));
        let tables = match &layout {
            IndexLayout::Tables(layout) => layout.design.table_count() as u64,
            IndexLayout::Parts(parts) => 1 + u64::from(parts.count),
        };
        pack.plan_phases(&set, tables, id_count);
        let mut files = NewFiles::new(&pack.path, Arc::clone(&pack.storage));
        let create = || pack.storage.spill();
        let mut source = SetSource { set, sum, meter: &pack.meter, create: &create };
        let ids = ids.as_mut().map(|ids| {
            let (count, greatest) = (ids.count, ids.greatest);
            let names = names.as_mut().map(|names| names as &mut dyn NameSource);
            SourceOfIds { ids, count, greatest, names }
        });
        let mut writer = SegmentWriter { files: &mut files, meter: &pack.meter, times: &mut times };
        let written = writer.write(number, &layout, &mut source, ids)?;
        let (of_names, inserted_names) =
            names.as_ref().map_or((0, 0), |names| (names.peak_bytes, names.name_bytes));
        let temporary_bytes = source.set.temporary_bytes() + of_names;
        // Temporaries go before the store is there.
        drop((source, names));
        pack.meter.plan(&[(Phase::Sync, count * tables)]);
        pack.meter.advance(Phase::Sync, 0)?;
        let (bytes, id_bytes) = (written.bytes(), written.id_bytes());
        let name_bytes = written.name_bytes();
        if let IndexLayout::Parts(parts) = &mut layout {
            // As the set asked for.
            parts.count = written.entry.tables.len().saturating_sub(1) as u16;
        }
        let WrittenSegment { entry, tables } = written;
        let radius = packer.layout.radius as u16;
        let manifest = match appending {
            Some(appending) => appending.with(
                Addition { entry, bytes, ids: all_ids, name_bytes: inserted_names },
                &pack.path,
            )?,
            None => {
                let store = Manifest {
                    names: id_kind.filter(|kind| kind.is_named()),
                    recipe: packer.recipe.clone(),
                    layout: packer.layout.advice(),
                    ..Manifest::empty(F::BITS as u16, radius, 0)
                };
                edit::replacement(&standing, entry, store, &pack.path)?
            }
        };
        let commit = Commit::prepare(files, standing.replaced(), &manifest, &mut times)?;
        let summary = PackSummary {
            read,
            distinct: count,
            ids: id_count,
            id_bytes,
            name_bytes,
            bytes: bytes + commit.manifest_bytes,
            tables,
            layout,
            planner,
            temporary_bytes,
            times,
        };
        Ok(Prepared { commit, summary, meter: pack.meter })
    }
}

impl<F: Fingerprint, S: Storage> Pack<F, S> {
    /// What the set is to be added to, if it does not replace it.
    fn appending(
        &mut self,
        standing: &Standing,
        sorted: &SortedRecords<F, S::Spill>,
    ) -> Result<Option<Appending>> {
        if !self.packer.append {
            return Ok(None);
        }
        let of_pack = (self.packer.append_at, self.packer.recipe.as_deref());
        let appending = Appending::new::<F, S>(&self.path, &*self.storage, standing, of_pack)?;
        let with_ids = !matches!(sorted, SortedRecords::Fingerprints(_));
        if appending.with_ids().is_some_and(|wanted| wanted != with_ids) {
            return Err(Error::MixedIds);
        }
        let (stored, other) = (appending.id_kind(), self.ids.unwrap_or(IdKind::Number));
        if with_ids && stored != other {
            return Err(Error::IdKinds { stored, other });
        }
        self.packer.layout.radius = appending.radius();
        Ok(Some(appending))
    }

    /// Says what the phases that are to come will do.
    fn plan_phases(&self, set: &Set<F, S::Spill>, tables: u64, ids: Option<u64>) {
        let count = set.count();
        self.meter.plan(&[(Phase::Encode, count * tables), (Phase::Ids, ids.unwrap_or(0))]);
        if let Set::Spilled(_) = set {
            let permuted = count * (tables - 1);
            self.meter.plan(&[(Phase::Distribute, permuted), (Phase::Count, permuted)]);
        }
    }

    /// The same records with numbers in place of names, and these.
    fn numbered(&self, sorted: SortedRecords<F, S::Spill>) -> Result<Numbered<F, S::Spill>> {
        let SortedRecords::Names(names) = sorted else { return Ok((sorted, None)) };
        let create = || self.storage.spill();
        let mut sorter = records::sorter::<F::WithId, S::Spill>(self.capacity / 2);
        names.visit_pairs(&mut |number, fingerprint| {
            let pair = [fingerprint.with_id(number)];
            while !sorter.fill(&pair).is_empty() {
                self.meter.wrote(sorter.spill(&create)?);
            }
            Ok(())
        })?;
        Ok((SortedRecords::Pairs(sorter.finish(&create)?), Some(names)))
    }

    /// The set, its sum, and the ids if there are some.
    fn set_of(&self, sorted: SortedRecords<F, S::Spill>) -> Result<SetOfRecords<F, S::Spill>> {
        let in_memory = |set: Vec<F>, spare| {
            let sum = sum_of(&set);
            (Set::Memory { set, spare }, sum)
        };
        match sorted {
            SortedRecords::Fingerprints(Sorted::Memory(set, spare)) => {
                let (set, sum) = in_memory(set, words(spare).unwrap_or_default());
                Ok((set, sum, None))
            }
            SortedRecords::Pairs(Sorted::Memory(pairs, spare)) => {
                drop(spare);
                let (set, ids) = PackedIds::of_pairs(pairs);
                let (set, sum) = in_memory(set, Vec::new());
                Ok((set, sum, Some(ids)))
            }
            SortedRecords::Fingerprints(Sorted::Runs(runs)) => {
                let (in_runs, peak) = (F::BYTES as u64 * runs.len(), runs.peak_bytes);
                let mut merged = Merged::new(&self.meter, self.storage.spill()?);
                let (keys, sorted) = runs.merge(&mut |set| merged.push(set))?;
                let buffers = match (words(keys), words(sorted)) {
                    (Some(keys), Some(sorted)) => Buffers { keys, sorted },
                    _ => self.buffers(),
                };
                let (set, sum) = merged.finish(buffers, peak, in_runs);
                Ok((set, sum, None))
            }
            // They have numbers by now.
            SortedRecords::Names(_) => Err(Error::Ended),
            SortedRecords::Pairs(Sorted::Runs(runs)) => {
                let (in_runs, peak) = (F::WithId::BYTES as u64 * runs.len(), runs.peak_bytes);
                let mut merged = Merged::new(&self.meter, self.storage.spill()?);
                let storage = &self.storage;
                let merge =
                    PackedIds::merge(runs, &|| storage.spill(), &mut |set| merged.push(set));
                let (ids, bytes) = merge?;
                self.meter.wrote(bytes);
                let (set, sum) = merged.finish(self.buffers(), peak, in_runs + bytes);
                Ok((set, sum, Some(ids)))
            }
        }
    }

    /// Buffers that take as much as the records did, which are gone.
    fn buffers(&self) -> Buffers {
        let buffer = || vec![0; self.capacity.max(LEAST_BUFFER)];
        Buffers { keys: buffer(), sorted: buffer() }
    }

    /// Makes room for the routers of tables with blocks of so many bytes, and for what ids need to
    /// know of blocks.
    fn reserve(&self, set: &mut Set<F, S::Spill>, block_bytes: u32, with_ids: bool) -> Result<()> {
        let Set::Spilled(spilled) = set else {
            return Ok(());
        };
        let Some(memory) = self.packer.execution.memory_limit() else {
            return Ok(());
        };
        let layout = &self.packer.layout;
        let coding = spilled.profile.choose(layout.codec, layout.low_bits)?;
        let count = spilled.count();
        // A key for each block, and a tenth more for tables that compress less.
        let blocks = count as f64 * coding.bits_per_key() / (8.0 * f64::from(block_bytes)) * 1.1;
        let routers = (if with_ids { 12 } else { 8 }) * blocks as u64;
        let threads = tasks::threads();
        let (all, left) =
            (capacity(Some(memory), threads, 0), capacity(Some(memory), threads, routers));
        if left < all / 4 {
            let what = format!("{count} fingerprints in blocks of {block_bytes} bytes need");
            return Err(Error::MemoryLimit { what, limit: memory, needed: memory + routers });
        }
        spilled.limit(left);
        Ok(())
    }
}

/// The room of a list of words, if it is one: to take new memory costs as much as some of the sort.
fn words<F: Fingerprint>(list: Vec<F>) -> Option<Vec<u64>> {
    bytemuck::allocation::try_cast_vec(list).ok()
}
