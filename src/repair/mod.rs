//! Saves what is sound of a damaged store.
//!
//! Every block of every table has a checksum, and every table of a segment that is not short holds the same set: so a fingerprint is saved
//! if any of these still has it in a sound block. A base holds each fingerprint once, in chunks with a checksum each: those in
//! sound chunks are saved, and all of them if their sum is right. Its part tables are made of it, so that they are not
//! needed. Ids are stored once, in the order of the fingerprints; which belong to a fingerprint is known where its place in
//! the segment is. What is saved goes into a new store; the damaged one is only read.

mod base;
mod found;
mod outcome;
mod segment;
mod tables;

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

pub use outcome::{RepairReport, SegmentLoss};

use found::{Directory, Found};
use segment::Salvaged;

use crate::error::Result;
use crate::execution::Execution;
use crate::fingerprint::{Fingerprint, by_width};
use crate::format::IndexKind;
use crate::store::{PackSession, Packer};
use crate::tail::Hidden;
use crate::writer::{StoreOptions, Writer};

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
/// let report = fpstore::Repair::new().run(&path, &saved)?;
/// assert!(report.is_whole());
/// assert!(fpstore::Store::open(&saved)?.contains(0b1011)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Repair {
    execution: Execution,
}

/// Where what is saved goes.
enum Output<F: Fingerprint> {
    Packed(PackSession<F>),
    /// A store with windows of time, and their length.
    Windows(Writer<F>, u64),
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

    /// Saves what is sound of the store in the directory `store`, of any width, into a new store in the directory `to`.
    /// Takes twice the bytes of all fingerprints of the largest segment in memory, besides what a pack takes.
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`](crate::Error::NotAStore) where there are neither a manifest nor segments; those of
    /// [`Packer::pack`] for the output.
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
        let mut output = self.output(&found, to)?;
        let with_ids = found.with_ids;
        let files = found.files();
        let mut saved = Vec::new();
        for (number, entry) in found.base.manifest.segments.iter().enumerate() {
            let mut salvaged = Salvaged::<F>::read(&files, entry);
            let window = found.window(number);
            for place in 0..salvaged.fingerprints.len() {
                let fingerprint = salvaged.fingerprints[place];
                let hidden = found.hidden(number, fingerprint);
                if hidden == Hidden::Whole {
                    continue;
                }
                if !with_ids {
                    saved.push((fingerprint, 0));
                    report.fingerprints += 1;
                } else if let Some((ids, lost)) = salvaged.ids(place).filter(|at| !at.0.is_empty())
                {
                    salvaged.loss.ids += lost;
                    let before = saved.len();
                    let is_hidden = |id: &u64| match &hidden {
                        Hidden::Ids(hidden) => hidden.binary_search(id).is_ok(),
                        _ => false,
                    };
                    let seen = ids.into_iter().filter(|id| !is_hidden(id));
                    saved.extend(seen.map(|id| (fingerprint, id)));
                    report.ids += (saved.len() - before) as u64;
                    report.fingerprints += u64::from(saved.len() > before);
                } else {
                    salvaged.loss.without_ids += 1;
                }
                if saved.len() >= PIECE {
                    output.take(&mut saved, with_ids, window)?;
                }
            }
            output.take(&mut saved, with_ids, window)?;
            if salvaged.loss.is_damaged() {
                report.segments.push(salvaged.loss);
            }
        }
        for record in found.tail_records() {
            report.fingerprints += 1;
            report.ids += u64::from(with_ids);
            saved.push((record.fingerprint, record.id));
            output.take(&mut saved, with_ids, record.window)?;
        }
        output.take(&mut saved, with_ids, 0)?;
        output.finish()?;
        Ok(report)
    }

    fn output<F: Fingerprint>(&self, found: &Found<F>, to: &Path) -> Result<Output<F>> {
        let manifest = &found.base.manifest;
        let (radius, recipe) = (u32::from(manifest.radius), manifest.recipe.as_deref());
        // Fingerprints of 32 and 64 bits have a base only where that was asked for.
        let largest = manifest.segments.iter().max_by_key(|segment| segment.count);
        let of_parts = largest.filter(|at| at.index == IndexKind::Parts && F::BITS <= u64::BITS);
        let parts = of_parts.map(|segment| (segment.tables.len() - 1) as u16);
        if let Some(windows) = &manifest.windows {
            let options = StoreOptions::new().width().radius(radius).ids(found.with_ids);
            let options = parts.into_iter().fold(options, StoreOptions::parts);
            let options = recipe.into_iter().fold(options, StoreOptions::recipe);
            let window = Duration::from_secs(windows.seconds);
            let writer = options.window(Some(window)).create(to)?;
            return Ok(Output::Windows(writer, windows.seconds));
        }
        let packer = Packer::new().width().radius(radius).execution(self.execution.clone());
        let packer = parts.into_iter().fold(packer, Packer::parts);
        let packer = recipe.into_iter().fold(packer, Packer::recipe);
        let mut session = packer.start(to)?;
        if let Some(map) = manifest.id_map {
            session.id_map(map);
        }
        Ok(Output::Packed(session))
    }
}

impl<F: Fingerprint> Output<F> {
    /// Takes records of one window, which are gone then.
    fn take(&mut self, saved: &mut Vec<(F, u64)>, with_ids: bool, window: u64) -> Result<()> {
        let fingerprints = || saved.iter().map(|&(fingerprint, _)| fingerprint).collect::<Vec<_>>();
        match self {
            Self::Packed(session) if with_ids => session.extend_with_ids(saved)?,
            Self::Packed(session) => session.extend(&fingerprints())?,
            Self::Windows(writer, seconds) => {
                let since = Duration::from_secs(window.saturating_mul(*seconds));
                let time = UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH);
                match with_ids {
                    true => writer.insert_batch_at(saved, time)?,
                    false => writer.insert_fingerprints_at(&fingerprints(), time)?,
                }
            }
        }
        saved.clear();
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Packed(session) => session.finish().map(drop),
            Self::Windows(writer, _) => {
                writer.flush()?;
                writer.close()
            }
        }
    }
}
