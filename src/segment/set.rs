//! A sorted set, and the keys of one table after another, in memory or in temporary files.

use std::borrow::Cow;
use std::marker::PhantomData;

use crate::codec::profile::Profile;
use crate::error::{Error, Result};
use crate::execution::{Meter, Phase};
use crate::fingerprint::{Fingerprint, key_of, keys_of};
use crate::format::BitRange;
use crate::multi_index::{EntrySource, PartOptions};
use crate::permute::Permutation;
use crate::planning::Planner;
use crate::segment::entries::PartEntries;
use crate::segment::source::{KeySource, RowSource, cut};
use crate::set_sum;
use crate::sort::{self, Buffers, Counts, Create, Extent, Spill, TableParts};
use crate::tasks;

/// Fingerprints of one task.
const TASK: usize = 1 << 12;

/// A sorted set without repeats.
pub(crate) enum Set<F, T> {
    /// In memory.
    Memory {
        set: Vec<F>,
        /// The keys of the table in work, unless they are the set; or the entries of a part table.
        spare: Vec<u64>,
    },
    /// In a temporary file.
    Spilled(Box<Spilled<F, T>>),
}

/// A set in a temporary file.
pub(crate) struct Spilled<F, T> {
    file: T,
    extent: Extent,
    /// Of the set, where tables can be made of it.
    pub(crate) profile: Profile,
    /// For tables.
    buffers: Buffers,
    /// Words that may be in memory twice.
    room: usize,
    /// The table in work, unless it is in the order of the set.
    parts: Option<TableParts<T>>,
    /// The entries of the part table in work.
    entries: PartEntries<T>,
    /// Of the next table.
    counts: Option<Counts>,
    /// Most bytes of temporary files at any time.
    temporary_bytes: u64,
    width: PhantomData<F>,
}

impl<F: Fingerprint, T: Spill> Set<F, T> {
    /// Number of fingerprints.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Set::Memory { set, .. } => set.len() as u64,
            Set::Spilled(spilled) => spilled.count(),
        }
    }

    /// Most bytes of temporary files at any time.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        match self {
            Set::Memory { .. } => 0,
            Set::Spilled(spilled) => spilled.temporary_bytes,
        }
    }

    /// Gives all fingerprints to `sink`, in pieces, in ascending order.
    fn visit_rows(&mut self, sink: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        match self {
            Self::Memory { set, .. } => sink(set),
            Self::Spilled(spilled) => spilled.visit_rows(sink),
        }
    }

    /// Sorts the entries of a part table.
    fn order_entries(
        &mut self,
        part: &PartOptions<F>,
        meter: &Meter,
        create: Create<'_, T>,
    ) -> Result<()> {
        match self {
            Self::Memory { set, spare } => {
                if spare.capacity() != set.len() {
                    // It grew with what came, to twice of that.
                    *spare = Vec::new();
                    spare.reserve_exact(set.len());
                }
                let mut entries = vec![0; set.len()];
                let chunks = set.chunks(TASK).zip(entries.chunks_mut(TASK)).enumerate();
                tasks::map(chunks, |(number, (set, entries))| {
                    part.fill((number * TASK) as u32, set, entries);
                });
                meter.check()?;
                spare.resize(entries.len(), 0);
                sort::sort_tops(&entries, part.row_bits(), spare);
                meter.check()
            }
            Self::Spilled(spilled) => spilled.order_entries(part, meter, create),
        }
    }

    /// Gives the entries that were sorted to `sink`, in pieces.
    fn visit_entries(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        match self {
            Self::Memory { spare, .. } => sink(spare),
            Self::Spilled(spilled) => spilled.entries.visit(sink),
        }
    }
}

impl<F: Fingerprint, T: Spill> Set<F, T> {
    /// Tells a planner of tables of the set, if there can be such.
    pub(crate) fn sample(&self, planner: Planner) -> Result<Planner> {
        if F::BITS > u64::BITS {
            return Ok(planner);
        }
        match self {
            Set::Memory { set, .. } => Ok(planner.sample(&keys_of(set))),
            Set::Spilled(spilled) => {
                let count = spilled.count();
                let one = |rank| {
                    let mut key = [0];
                    spilled.read_keys(&mut key, rank)?;
                    Ok(key[0])
                };
                let kept = Planner::sample_ranks(count).map(one).collect::<Result<_>>()?;
                Ok(planner.sample_of(count, spilled.profile.clone(), kept))
            }
        }
    }
}

impl<F: Fingerprint, T: Spill> Set<F, T> {
    /// Brings the keys of the table with this top into order, and counts those of the `next` one
    /// where that is of use.
    fn prepare(
        &mut self,
        top: &[BitRange],
        next: Option<&[BitRange]>,
        meter: &Meter,
        create: Create<'_, T>,
    ) -> Result<()> {
        let permutation = Permutation::new(top);
        match self {
            Set::Memory { set, spare } if permutation.is_identity() => {
                spare.clear();
                if let Cow::Owned(keys) = keys_of(set) {
                    *spare = keys;
                }
                Ok(())
            }
            Set::Memory { set, spare } => {
                spare.resize(set.len(), 0);
                sort::sort_permuted(set, &permutation, spare);
                meter.check()
            }
            Set::Spilled(spilled) => spilled.prepare(&permutation, next, meter, create),
        }
    }

    /// The profile of the first `bits` bits of the keys of the table that was prepared.
    fn profile(&mut self, bits: u32, meter: &Meter, create: Create<'_, T>) -> Result<Profile> {
        let cuts = (bits < F::BITS).then_some(bits);
        let mut profile = Profile::empty(bits);
        match self {
            Set::Memory { set, spare } if cuts.is_none() => {
                profile = Profile::new(bits, &ordered(set, spare));
            }
            Set::Memory { set, spare } => {
                cut(&ordered(set, spare), cuts, &mut |keys| {
                    profile.extend(keys);
                    meter.check()
                })?;
            }
            Set::Spilled(spilled) => {
                let Spilled { parts: Some(parts), buffers, .. } = &mut **spilled else {
                    return Ok(spilled.profile.clone());
                };
                parts.visit(buffers, create, &mut |keys| {
                    cut(keys, cuts, &mut |keys| {
                        profile.extend(keys);
                        Ok(())
                    })?;
                    meter.wrote(8 * keys.len() as u64);
                    meter.advance(Phase::Count, keys.len() as u64)
                })?;
            }
        }
        Ok(profile)
    }

    /// Gives the keys of the table that was prepared to `sink`, in pieces, in ascending order.
    fn visit(
        &mut self,
        next: Option<&[BitRange]>,
        create: Create<'_, T>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Set::Memory { set, spare } => sink(&ordered(set, spare)),
            Set::Spilled(spilled) => match &mut **spilled {
                Spilled { parts: Some(parts), buffers, .. } => parts.visit(buffers, create, sink),
                spilled => spilled.visit_set(next, sink),
            },
        }
    }
}

/// The keys of the table that was prepared.
fn ordered<'a, F: Fingerprint>(set: &'a [F], spare: &'a [u64]) -> Cow<'a, [u64]> {
    if spare.is_empty() { keys_of(set) } else { Cow::Borrowed(spare) }
}

/// A set that segments are written of.
pub(crate) struct SetSource<'a, F, T> {
    pub(crate) set: Set<F, T>,
    pub(crate) sum: u128,
    pub(crate) meter: &'a Meter,
    pub(crate) create: Create<'a, T>,
}

impl<F: Fingerprint, T: Spill> RowSource<F> for SetSource<'_, F, T> {
    fn count(&self) -> u64 {
        self.set.count()
    }

    fn set_sum(&self) -> u128 {
        self.sum
    }

    fn visit_rows(&mut self, sink: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        self.set.visit_rows(sink)
    }

    fn order_entries(&mut self, part: &PartOptions<F>) -> Result<()> {
        self.set.order_entries(part, self.meter, self.create)
    }
}

impl<F: Fingerprint, T: Spill> EntrySource for SetSource<'_, F, T> {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        self.set.visit_entries(sink)
    }
}

impl<F: Fingerprint, T: Spill> KeySource for SetSource<'_, F, T> {
    fn count(&self) -> u64 {
        self.set.count()
    }

    fn set_sum(&self) -> u128 {
        self.sum
    }

    fn order(&mut self, top: &[BitRange], next: Option<&[BitRange]>) -> Result<()> {
        if F::BITS > u64::BITS {
            // Nobody writes tables of these.
            return Err(Error::Ended);
        }
        self.set.prepare(top, next, self.meter, self.create)
    }

    fn profile(&mut self, bits: u32) -> Result<Profile> {
        self.set.profile(bits, self.meter, self.create)
    }

    fn visit(
        &mut self,
        next: Option<&[BitRange]>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        self.set.visit(next, self.create, sink)
    }
}

impl<F: Fingerprint, T: Spill> Spilled<F, T> {
    fn new(
        file: T,
        extent: Extent,
        profile: Profile,
        buffers: Buffers,
        temporary_bytes: u64,
    ) -> Self {
        let room = buffers.keys.len();
        let entries = PartEntries::new(room / 2);
        Self {
            room,
            file,
            extent,
            profile,
            buffers,
            parts: None,
            entries,
            counts: None,
            temporary_bytes,
            width: PhantomData,
        }
    }

    /// Rows that are in memory at a time. Of the room for 2 `room` words they take a quarter of
    /// `room`, their entries at most twice as much, and the sort of entries one `room`.
    fn piece(&self) -> usize {
        (self.room / 4 * size_of::<u64>() / F::BYTES).max(1)
    }

    /// Gives all fingerprints to `sink`, for a base and its parts: there will be no tables.
    fn visit_rows(&mut self, sink: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        self.buffers = Buffers { keys: Vec::new(), sorted: Vec::new() };
        let mut rows = vec![F::zeroed(); self.piece().min(self.extent.len as usize)];
        for piece in sort::pieces(self.extent, rows.len()) {
            let rows = &mut rows[..piece.len as usize];
            sort::read(&self.file, rows, piece.at)?;
            sink(rows)?;
        }
        Ok(())
    }

    fn order_entries(
        &mut self,
        part: &PartOptions<F>,
        meter: &Meter,
        create: Create<'_, T>,
    ) -> Result<()> {
        let mut entries = std::mem::replace(&mut self.entries, PartEntries::new(0));
        let ordered = entries.order(part, &mut |sink| self.visit_rows(sink), meter, create);
        let set_bytes = F::BYTES as u64 * self.extent.len;
        self.temporary_bytes = self.temporary_bytes.max(set_bytes + entries.temporary_bytes);
        self.entries = entries;
        ordered
    }

    pub(crate) fn count(&self) -> u64 {
        self.extent.len
    }

    /// Keeps at most twice so many fingerprints in memory.
    pub(crate) fn limit(&mut self, capacity: usize) {
        for buffer in [&mut self.buffers.keys, &mut self.buffers.sorted] {
            buffer.truncate(capacity);
            buffer.shrink_to_fit();
        }
        self.room = self.buffers.keys.len();
        self.entries = PartEntries::new(self.room / 2);
    }
}

impl<F: Fingerprint, T: Spill> Spilled<F, T> {
    /// Reads the keys of the set from the one with this rank on.
    fn read_keys(&self, keys: &mut [u64], rank: u64) -> Result<()> {
        read_keys::<F, T>(&self.file, keys, rank)
    }

    fn prepare(
        &mut self,
        permutation: &Permutation,
        next: Option<&[BitRange]>,
        meter: &Meter,
        create: Create<'_, T>,
    ) -> Result<()> {
        // The parts of the table before go first.
        self.parts = None;
        if permutation.is_identity() {
            return Ok(());
        }
        let counts = match self.counts.take() {
            Some(counts) => counts,
            None => {
                let mut counts = Counts::new(permutation.top_bits());
                for piece in sort::pieces(self.extent, self.buffers.keys.len()) {
                    let set = &mut self.buffers.keys[..piece.len as usize];
                    read_keys::<F, T>(&self.file, set, piece.at)?;
                    counts.add(set, |fp| permutation.key(fp));
                }
                counts
            }
        };
        let mut count_next = next.map(CountNext::new);
        let mut seen = |set: &[u64]| {
            if let Some(count) = &mut count_next {
                count.add(set);
            }
            meter.wrote(8 * set.len() as u64);
            meter.advance(Phase::Distribute, set.len() as u64)
        };
        let file = &self.file;
        let read = |keys: &mut [u64], rank| read_keys::<F, T>(file, keys, rank);
        let set = (&read as sort::ReadKeys<'_>, self.extent);
        self.parts =
            Some(TableParts::new(set, permutation, &counts, &mut self.buffers, create, &mut seen)?);
        self.counts = count_next.map(|count| count.counts);
        self.temporary_bytes = self.temporary_bytes.max((F::BYTES as u64 + 8) * self.extent.len);
        Ok(())
    }

    /// Gives the set itself to `sink`, and counts the keys of the next table meanwhile.
    fn visit_set(
        &mut self,
        next: Option<&[BitRange]>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut count_next = next.map(CountNext::new);
        for piece in sort::pieces(self.extent, self.buffers.keys.len()) {
            let set = &mut self.buffers.keys[..piece.len as usize];
            read_keys::<F, T>(&self.file, set, piece.at)?;
            if let Some(count) = &mut count_next {
                count.add(set);
            }
            sink(set)?;
        }
        self.counts = count_next.map(|count| count.counts);
        Ok(())
    }
}

/// Reads the keys of a set in a file from the one with this rank on.
fn read_keys<F: Fingerprint, T: Spill>(file: &T, keys: &mut [u64], rank: u64) -> Result<()> {
    if F::BITS == u64::BITS {
        return sort::read(file, keys, rank);
    }
    let mut set = vec![F::zeroed(); keys.len()];
    sort::read(file, &mut set, rank)?;
    keys.iter_mut().zip(set).for_each(|(key, fingerprint)| *key = key_of(fingerprint));
    Ok(())
}

/// Counts the keys of a table to come.
struct CountNext {
    permutation: Permutation,
    counts: Counts,
}

impl CountNext {
    fn new(top: &[BitRange]) -> Self {
        let permutation = Permutation::new(top);
        let counts = Counts::new(permutation.top_bits());
        Self { permutation, counts }
    }

    fn add(&mut self, set: &[u64]) {
        let permutation = &self.permutation;
        self.counts.add(set, |fp| permutation.key(fp));
    }
}

/// A set on its way to a temporary file.
pub(crate) struct Merged<'a, F, T> {
    meter: &'a Meter,
    file: T,
    profile: Profile,
    sum: u128,
    len: u64,
    width: PhantomData<F>,
}

impl<'a, F: Fingerprint, T: Spill> Merged<'a, F, T> {
    pub(crate) fn new(meter: &'a Meter, file: T) -> Self {
        let (profile, width) = (Profile::empty(F::BITS.min(u64::BITS)), PhantomData);
        Self { meter, file, profile, sum: 0, len: 0, width }
    }

    /// Takes the next fingerprints, which ascend.
    pub(crate) fn push(&mut self, set: &[F]) -> Result<()> {
        sort::write(&self.file, set, self.len)?;
        self.len += set.len() as u64;
        // Tables are made of these alone.
        if F::BITS <= u64::BITS {
            self.profile.extend(&keys_of(set));
        }
        self.sum = self.sum.wrapping_add(sum_of(set));
        self.meter.wrote(F::BYTES as u64 * set.len() as u64);
        self.meter.advance(Phase::Merge, set.len() as u64)
    }

    /// The set, and its sum. There were at most `peak` bytes in temporary files before, and
    /// `others` beside the set.
    pub(crate) fn finish(self, buffers: Buffers, peak: u64, others: u64) -> (Set<F, T>, u128) {
        self.meter.plan(&[(Phase::Merge, self.len)]);
        let extent = Extent { at: 0, len: self.len };
        let temporary_bytes = peak.max(others + F::BYTES as u64 * self.len);
        let spilled = Spilled::new(self.file, extent, self.profile, buffers, temporary_bytes);
        (Set::Spilled(Box::new(spilled)), self.sum)
    }
}

/// The set sum of fingerprints.
pub(crate) fn sum_of<F: Fingerprint>(set: &[F]) -> u128 {
    let sum = |set: &[F]| set.iter().map(|&one| set_sum::term_of(one)).fold(0, u128::wrapping_add);
    tasks::map(set.chunks(TASK), sum).into_iter().fold(0, u128::wrapping_add)
}
