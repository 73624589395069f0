//! A sorted set, and the keys of one table after another, in memory or in temporary files.

use rayon::prelude::*;

use crate::codec::profile::Profile;
use crate::error::Result;
use crate::execution::{Meter, Phase};
use crate::format::BitRange;
use crate::permute::Permutation;
use crate::plan::Planner;
use crate::segment::source::KeySource;
use crate::set_sum;
use crate::sort::{self, Buffers, Counts, Create, Extent, Spill, TableParts};

/// A sorted set without repeats.
pub(crate) enum Set<F> {
    /// In memory.
    Memory {
        set: Vec<u64>,
        /// The keys of the table in work, unless it is in the order of the set.
        spare: Vec<u64>,
    },
    /// In a temporary file.
    Spilled(Box<Spilled<F>>),
}

/// A set in a temporary file.
pub(crate) struct Spilled<F> {
    file: F,
    extent: Extent,
    /// Of the set.
    pub(crate) profile: Profile,
    buffers: Buffers,
    /// The table in work, unless it is in the order of the set.
    parts: Option<TableParts<F>>,
    /// Of the next table.
    counts: Option<Counts>,
    /// Most bytes of temporary files at any time.
    temporary_bytes: u64,
}

impl<F: Spill> Set<F> {
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

    /// Tells a planner of the set.
    pub(crate) fn sample(&self, planner: Planner) -> Result<Planner> {
        match self {
            Set::Memory { set, .. } => Ok(planner.sample(set)),
            Set::Spilled(spilled) => {
                let count = spilled.count();
                let one = |rank| {
                    let mut fingerprint = [0];
                    sort::read(&spilled.file, &mut fingerprint, rank)?;
                    Ok(fingerprint[0])
                };
                let kept = Planner::sample_ranks(count).map(one).collect::<Result<_>>()?;
                Ok(planner.sample_of(count, spilled.profile.clone(), kept))
            }
        }
    }

    /// Brings the keys of the table with this top into order, and counts those of the `next` one
    /// where that is of use.
    fn prepare(
        &mut self,
        top: &[BitRange],
        next: Option<&[BitRange]>,
        meter: &Meter,
        create: Create<'_, F>,
    ) -> Result<()> {
        let permutation = Permutation::new(top);
        match self {
            Set::Memory { spare, .. } if permutation.is_identity() => {
                spare.clear();
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

    /// The profile of the table that was prepared.
    fn profile(&mut self, meter: &Meter, create: Create<'_, F>) -> Result<Profile> {
        match self {
            Set::Memory { set, spare } => {
                Ok(Profile::new(if spare.is_empty() { set } else { spare }))
            }
            Set::Spilled(spilled) => {
                let Spilled { parts: Some(parts), buffers, .. } = &mut **spilled else {
                    return Ok(spilled.profile.clone());
                };
                let mut profile = Profile::empty();
                parts.visit(buffers, create, &mut |keys| {
                    profile.extend(keys);
                    meter.wrote(8 * keys.len() as u64);
                    meter.advance(Phase::Count, keys.len() as u64)
                })?;
                Ok(profile)
            }
        }
    }

    /// Gives the keys of the table that was prepared to `sink`, in pieces, in ascending order.
    fn visit(
        &mut self,
        next: Option<&[BitRange]>,
        create: Create<'_, F>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Set::Memory { set, spare } => sink(if spare.is_empty() { set } else { spare }),
            Set::Spilled(spilled) => match &mut **spilled {
                Spilled { parts: Some(parts), buffers, .. } => parts.visit(buffers, create, sink),
                spilled => spilled.visit_set(next, sink),
            },
        }
    }
}

/// A set that segments are written of.
pub(crate) struct SetSource<'a, F> {
    pub(crate) set: Set<F>,
    pub(crate) sum: u128,
    pub(crate) meter: &'a Meter,
    pub(crate) create: Create<'a, F>,
}

impl<F: Spill> KeySource for SetSource<'_, F> {
    fn count(&self) -> u64 {
        self.set.count()
    }

    fn set_sum(&self) -> u128 {
        self.sum
    }

    fn order(&mut self, top: &[BitRange], next: Option<&[BitRange]>) -> Result<()> {
        self.set.prepare(top, next, self.meter, self.create)
    }

    fn profile(&mut self) -> Result<Profile> {
        self.set.profile(self.meter, self.create)
    }

    fn visit(
        &mut self,
        next: Option<&[BitRange]>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        self.set.visit(next, self.create, sink)
    }
}

impl<F: Spill> Spilled<F> {
    fn new(
        file: F,
        extent: Extent,
        profile: Profile,
        buffers: Buffers,
        temporary_bytes: u64,
    ) -> Self {
        Self { file, extent, profile, buffers, parts: None, counts: None, temporary_bytes }
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
    }

    fn prepare(
        &mut self,
        permutation: &Permutation,
        next: Option<&[BitRange]>,
        meter: &Meter,
        create: Create<'_, F>,
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
                    sort::read(&self.file, set, piece.at)?;
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
        let set = (&self.file, self.extent);
        self.parts =
            Some(TableParts::new(set, permutation, &counts, &mut self.buffers, create, &mut seen)?);
        self.counts = count_next.map(|count| count.counts);
        self.temporary_bytes = self.temporary_bytes.max(16 * self.extent.len);
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
            sort::read(&self.file, set, piece.at)?;
            if let Some(count) = &mut count_next {
                count.add(set);
            }
            sink(set)?;
        }
        self.counts = count_next.map(|count| count.counts);
        Ok(())
    }
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
pub(crate) struct Merged<'a, F> {
    meter: &'a Meter,
    file: F,
    profile: Profile,
    sum: u128,
    len: u64,
}

impl<'a, F: Spill> Merged<'a, F> {
    pub(crate) fn new(meter: &'a Meter, file: F) -> Self {
        Self { meter, file, profile: Profile::empty(), sum: 0, len: 0 }
    }

    /// Takes the next fingerprints, which ascend.
    pub(crate) fn push(&mut self, set: &[u64]) -> Result<()> {
        sort::write(&self.file, set, self.len)?;
        self.len += set.len() as u64;
        self.profile.extend(set);
        self.sum = self.sum.wrapping_add(sum_of(set));
        self.meter.wrote(8 * set.len() as u64);
        self.meter.advance(Phase::Merge, set.len() as u64)
    }

    /// The set, and its sum. There were at most `peak` bytes in temporary files before, and `others`
    /// beside the set.
    pub(crate) fn finish(self, buffers: Buffers, peak: u64, others: u64) -> (Set<F>, u128) {
        self.meter.plan(&[(Phase::Merge, self.len)]);
        let extent = Extent { at: 0, len: self.len };
        let temporary_bytes = peak.max(others + 8 * self.len);
        let spilled = Spilled::new(self.file, extent, self.profile, buffers, temporary_bytes);
        (Set::Spilled(Box::new(spilled)), self.sum)
    }
}

/// The set sum of fingerprints.
pub(crate) fn sum_of(set: &[u64]) -> u128 {
    let terms = set.par_iter().with_min_len(1 << 12).map(|&fp| set_sum::term(fp));
    terms.reduce(|| 0, u128::wrapping_add)
}
