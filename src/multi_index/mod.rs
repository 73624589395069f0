//! The index of wide fingerprints: multi-index hashing (Norouzi, Punjani, Fleet, *Fast search in
//! Hamming space with multi-index hashing*, CVPR 2012) over one sorted copy on the disk.
//!
//! The *base* holds every fingerprint once. Each of several *parts* has a *key*, which is made of
//! some bits; no bit is in two keys. A *part table* holds the numbers of the rows in the order of
//! their keys. Keys are not written: a bit vector has, for one key after the other, a 1 for each of
//! its rows and then a 0 (the upper half of the code of Elias and Fano), which takes as many bits
//! as there are rows and keys, and so little more than the information in them as long as there are
//! about as many of one as of the other. For every 64 keys, a *group*, the number of rows before it
//! is written too: a probe costs one look there, one at the marks, and one at each row.
//!
//! This is less work than decoding a block of coded keys for each probe, and not larger.
//!
//! Which bits make which key is [chosen](choose) by a sample of the set. How far a search goes in
//! each part is [allotted](thresholds) by what it costs there: on average where all keys have about
//! as many rows, else for each query, by the rows around its own keys.

mod base;
mod choose;
mod kernel;
mod keys;
mod mask;
mod part;
mod plan;
mod search;
mod stats;
#[cfg(test)]
mod tests;
mod thresholds;
mod verify;
mod writer;

use crate::access::ReadFiles;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{self, SegmentEntry, TakenBits};
use crate::simd::Level;

pub(crate) use base::Base;
use base::BodyFile;
pub(crate) use choose::{PartLayout, Sampler};
use part::PartTable;
pub use plan::{PartsPlan, plan_parts, recommended_parts};
pub(crate) use search::{Near, Probing, Widening};
pub use stats::{BaseStats, PartStats};
use thresholds::{PartCosts, Steps};
pub(crate) use thresholds::{file_bytes, plan_uniform as plan, predict};
pub(crate) use verify::{SalvageBase, damaged_chunks};
pub(crate) use writer::{BaseWriter, EntrySource, PartOptions, write_part};

/// The open index of a segment. Any number of threads may use it.
pub(crate) struct MultiIndex<F> {
    base: Base<F>,
    parts: Vec<PartTable<F>>,
    costs: PartCosts,
    /// Those of the average query.
    steps: Steps,
    level: Level,
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Opens the base and the part tables of a segment.
    pub(crate) fn open(files: &dyn ReadFiles, segment: &SegmentEntry) -> Result<Self> {
        let Some(part_count) = segment.tables.len().checked_sub(1) else {
            return Err(Error::Ended);
        };
        let names = (0..part_count).map(|part| format::part_name(segment.number, part));
        // All of them before the first is read, so that the disk reads them together.
        let opened: Vec<_> =
            names.map(|name| BodyFile::bytes(files, &name)).collect::<Result<_>>()?;
        let base = Base::open(files, segment)?;
        let (mut parts, mut taken) = (Vec::new(), TakenBits::default());
        for (number, file) in (0..).zip(opened) {
            let part = PartTable::open(file, segment, base.header(), (number, &taken))?;
            taken.take(&part.header);
            parts.push(part);
        }
        let headers: Vec<_> = parts.iter().map(|part: &PartTable<F>| &part.header).collect();
        let costs = PartCosts::new(&headers, F::BITS, base.count());
        let steps = costs.steps();
        Ok(Self { base, parts, costs, steps, level: search::level() })
    }

    /// The fingerprints.
    pub(crate) fn base(&self) -> &Base<F> {
        &self.base
    }

    /// Number of part tables.
    pub(crate) fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// Bytes of all files.
    pub(crate) fn file_bytes(&self) -> u64 {
        let parts = self.parts.iter().map(|part| part.file.bytes.len());
        (self.base.file.bytes.len() + parts.sum::<usize>()) as u64
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let parts = self.parts.iter().map(|part| part.file.chunks.heap_bytes());
        self.base.file.chunks.heap_bytes() + parts.sum::<u64>()
    }

    /// Whether a search within `k` compares every row of the base.
    pub(crate) fn scans(&self, k: u32) -> bool {
        self.steps.within(k).is_none()
    }

    /// The predicted time of a search within `k`, in nanoseconds.
    pub(crate) fn search_ns(&self, k: u32) -> f64 {
        self.steps.search_ns(k)
    }
}
