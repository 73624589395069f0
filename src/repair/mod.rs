//! Saves what is sound of a damaged store.
//!
//! Every block of every table has a checksum, and every table of a segment that is not short holds
//! the same set: so a fingerprint is saved if any of these still has it in a sound block. A base
//! holds each fingerprint once, in chunks with a checksum each: those in sound chunks are saved,
//! and all of them if their sum is right. Its part tables are made of it, so that they are not
//! needed. Ids are stored once, in the order of the fingerprints; which belong to a fingerprint is
//! known where its place in the segment is. What is saved goes into a new store; the damaged one is
//! only read.

mod base;
mod found;
mod outcome;
mod segment;
mod tables;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use outcome::{RepairReport, SegmentLoss};

use found::{Directory, Found};
use segment::Salvaged;

use crate::error::Result;
use crate::execution::Execution;
use crate::fingerprint::{Fingerprint, by_width};
use crate::format::IndexKind;
use crate::id::Id;
use crate::names::Naming;
use crate::planning::Layout;
use crate::snapshot::Snapshot;
use crate::storage::{self, Storage};
use crate::store::target::{Target, check_apart, check_other};
use crate::store::{OpenOptions, Packer, Packing};
use crate::tail::Hidden;
use crate::writer::{StagedStore, StoreOptions};

/// What messages call the output.
const OUTPUT: &str = "the output of a repair";

/// Records that are handed on together.
const PIECE: usize = 1 << 15;

/// Saves what is sound of a damaged store into a new one.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let (path, saved) = (directory.path().join("store"), directory.path().join("saved"));
/// fpstore::Packer::new().pack(&path, [0b1011, 0b0011])?;
/// let report = fpstore::maintenance::Repair::new().run(&path, &saved)?;
/// assert!(report.is_whole());
/// assert!(fpstore::Store::open(&saved)?.contains(0b1011)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Repair {
    execution: Execution,
}

/// Where what is saved goes.
enum Output<F: Fingerprint, S: Storage> {
    /// With ids or without.
    Packed(Box<Packing<F, S>>, bool),
    /// A store with windows of time.
    Windows(Box<StagedStore<F, S>>),
}

impl Repair {
    /// With all cores.
    pub fn new() -> Self {
        Self::default()
    }

    /// How the new store is packed.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Saves what is sound of the store in the directory `store`, of any width, into a new store in
    /// the directory `to`. Takes twice the bytes of all fingerprints of the largest segment in
    /// memory, besides what a pack takes.
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`](crate::Error::NotAStore) where there are neither a manifest nor
    /// segments; those of [`Packer::pack`] for the output, which is refused if it is the store
    /// itself or lies in it ([`Error::InvalidOption`](crate::Error::InvalidOption)).
    pub fn run(&self, store: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<RepairReport> {
        self.run_at(store.as_ref(), to.as_ref())
    }

    fn run_at(&self, store: &Path, to: &Path) -> Result<RepairReport> {
        let (report, directory) = Directory::look(store)?;
        by_width!(directory.bits(), F => self.save::<F>(directory, report, to))
    }

    fn save<F: Fingerprint>(
        &self,
        directory: Directory,
        mut report: RepairReport,
        to: &Path,
    ) -> Result<RepairReport> {
        let found = Found::<F>::read(directory, &mut report);
        check_apart(found.directory().path(), to, OUTPUT)?;
        let target = Target::lock(to, false)?;
        check_other(found.directory(), &target.hold(), OUTPUT)?;
        let scratch = self.execution.scratch();
        let storage = Arc::new(storage::Directory::held(target.hold(), scratch));
        self.execution.install_for(found.record_count(), || {
            self.save_into(&found, &mut report, to, storage)
        })??;
        count_saved(&OpenOptions::new().width::<F>().open(to)?.snapshot(), &mut report)?;
        Ok(report)
    }

    /// Saves what was found into a directory that is locked. Nothing is seen of it before the last
    /// step.
    fn save_into<F: Fingerprint, S: Storage>(
        &self,
        found: &Found<F>,
        report: &mut RepairReport,
        to: &Path,
        storage: Arc<S>,
    ) -> Result<()> {
        let mut output = self.output(found, to, storage)?;
        let files = found.files();
        let kind = found.base.id_kind();
        let mut name = Vec::new();
        // `None` for an id whose name cannot be read.
        let mut id_of = |naming: &Naming, number: u64| {
            if !kind.is_named() {
                return Some(Id::Number(number));
            }
            let is_read = !naming.is_numbers() && naming.name(number, &mut name).is_ok();
            is_read.then(|| kind.id_of(&name).map(|id| id.to_id())).flatten()
        };
        let mut saved = Vec::new();
        for (number, entry) in found.base.manifest.segments.iter().enumerate() {
            let mut salvaged = Salvaged::<F>::read(&files, entry);
            let window = found.window(number);
            let mut ids_read = 0;
            for place in 0..salvaged.fingerprints.len() {
                let fingerprint = salvaged.fingerprints[place];
                let hidden = found.hidden(number, fingerprint);
                let numbers = salvaged.ids(place).unwrap_or_default();
                let is_hidden = |id: &u64| match &hidden {
                    Hidden::Nothing => false,
                    Hidden::Whole => true,
                    Hidden::Ids(hidden) => hidden.binary_search(id).is_ok(),
                };
                let naming = found.naming(number);
                let ids: Vec<_> = numbers.iter().map(|&id| id_of(naming, id)).collect();
                let known = ids.iter().flatten().count();
                ids_read += known as u64;
                match hidden {
                    Hidden::Whole => continue,
                    _ if !found.with_ids => saved.push((fingerprint, None)),
                    _ if known == 0 => salvaged.loss.without_ids += 1,
                    _ => {
                        let seen = numbers.iter().zip(ids).filter(|(id, _)| !is_hidden(id));
                        let seen = seen.filter_map(|(_, id)| id);
                        saved.extend(seen.map(|id| (fingerprint, Some(id))));
                    }
                }
                if saved.len() >= PIECE {
                    self.execution.stop().check()?;
                    output.take(&mut saved, window)?;
                }
            }
            if found.with_ids {
                let lost = salvaged.id_count().map(|count| count.saturating_sub(ids_read));
                salvaged.loss.ids = lost;
            }
            output.take(&mut saved, window)?;
            if salvaged.loss.is_damaged() {
                report.segments.push(salvaged.loss);
            }
        }
        for (records, naming) in found.tail_records() {
            for record in records {
                let id = found.with_ids.then(|| id_of(&naming, record.id)).flatten();
                saved.push((record.fingerprint, id));
                output.take(&mut saved, record.window)?;
            }
        }
        output.take(&mut saved, 0)?;
        output.finish()
    }

    fn output<F: Fingerprint, S: Storage>(
        &self,
        found: &Found<F>,
        to: &Path,
        storage: Arc<S>,
    ) -> Result<Output<F, S>> {
        let manifest = &found.base.manifest;
        let ids = found.with_ids.then(|| found.base.id_kind());
        let (radius, recipe) = (u32::from(manifest.radius), manifest.recipe.as_deref());
        // Fingerprints of 32 and 64 bits have a base only where that was asked for.
        let largest = manifest.segments.iter().max_by_key(|segment| segment.count);
        let of_parts = largest.filter(|at| at.index == IndexKind::Parts && F::BITS <= u64::BITS);
        let parts = of_parts.map(|segment| (segment.tables.len() - 1) as u16);
        let layout = parts.into_iter().fold(Layout::new().k(radius), Layout::parts);
        if let Some(windows) = &manifest.windows {
            let options = StoreOptions::new().width().layout(layout).ids(ids);
            let options = recipe.into_iter().fold(options, StoreOptions::recipe);
            let options = options.window(Some(Duration::from_secs(windows.seconds)));
            let execution = self.execution.clone();
            let store = StagedStore::create(&options, to, storage, execution)?;
            return Ok(Output::Windows(Box::new(store)));
        }
        let packer = Packer::new().width().layout(layout).execution(self.execution.clone());
        let packer = recipe.into_iter().fold(packer, Packer::recipe);
        let packer = ids.into_iter().fold(packer, Packer::ids);
        let packing = Packing::start(packer, to, storage)?;
        Ok(Output::Packed(Box::new(packing), found.with_ids))
    }
}

/// Counts what a new store holds: several segments of the damaged one may have held the same.
fn count_saved<F: Fingerprint>(saved: &Snapshot<F>, report: &mut RepairReport) -> Result<()> {
    if !saved.has_ids() {
        report.fingerprints = saved.count()?;
        return Ok(());
    }
    for entry in saved.iter_with_ids::<Id>() {
        report.fingerprints += 1;
        let mut ids = entry?.1;
        report.ids += ids.try_fold(0, |count, id| id.map(|_| count + 1))?;
    }
    Ok(())
}

impl<F: Fingerprint, S: Storage> Output<F, S> {
    /// Takes records of one window, which are gone then.
    fn take(&mut self, saved: &mut Vec<(F, Option<Id>)>, window: u64) -> Result<()> {
        match self {
            Self::Packed(packing, true) => packing.extend_with_ids(saved)?,
            Self::Packed(packing, false) => {
                let fingerprint = |(fingerprint, _): &(F, Option<Id>)| *fingerprint;
                packing.extend(&saved.iter().map(fingerprint).collect::<Vec<_>>())?;
            }
            Self::Windows(store) => store.insert(saved, window)?,
        }
        saved.clear();
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Packed(packing, _) => packing.finish().map(drop),
            Self::Windows(store) => store.finish(),
        }
    }
}
