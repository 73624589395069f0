//! What a snapshot is made of, and what it takes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::contents::Snapshot;
use crate::design::Design;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::LogSection;
use crate::ids::IdStats;
use crate::multi_index::BaseStats;
use crate::segment::Index;
use crate::table::TableStats;

/// The size of a store and what it is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Bits of a fingerprint.
    pub bits: u32,
    /// The Hamming radius that the store was planned for.
    pub radius: u32,
    /// The number of fingerprints, as [`Snapshot::len`] gives it.
    pub fingerprints: u64,
    /// Bytes of all files but logs.
    pub bytes: u64,
    /// The segments.
    pub segments: Vec<SegmentStats>,
    /// Of a store that is written to.
    pub living: Option<LivingStats>,
}

/// What a store that is written to is made of besides its segments.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LivingStats {
    /// Whether every fingerprint has ids; else none has.
    pub ids: bool,
    /// The length of a window of time, if it has windows.
    pub window: Option<Duration>,
    /// The number of the last operation that is seen. Insertions and deletions are counted from 1
    /// on.
    pub sequence: u64,
    /// Operations that stand in the log and in no segment yet.
    pub log_operations: u64,
    /// Of these the insertions.
    pub log_insertions: u64,
    /// Deletions of segments that other segments may need to know.
    pub deletions: u64,
    /// Bytes that were written to the store, with its logs and manifests, up to the last segment.
    pub written_bytes: u64,
    /// Bytes of the records that were inserted until then: those of each fingerprint, and 8 for
    /// each id.
    pub inserted_bytes: u64,
}

impl LivingStats {
    /// How often each byte that was inserted was written; `None` if nothing was.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.inserted_bytes > 0).then(|| self.written_bytes as f64 / self.inserted_bytes as f64)
    }
}

/// The size of a segment and what it is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// Number of the segment, part of the names of its files.
    pub number: u64,
    /// The design of its tables; `None` where it has a base and part tables instead.
    pub design: Option<Design>,
    /// The number of distinct fingerprints.
    pub count: u64,
    /// The tables.
    pub tables: Vec<TableStats>,
    /// The base and the part tables, where it has these.
    pub base: Option<BaseStats>,
    /// The ids, if it has some.
    pub ids: Option<IdStats>,
    /// When its window of time begins, if the store has windows.
    pub since: Option<SystemTime>,
    /// Deletions of records that were written before it.
    pub deletions: u64,
}

impl<F: Fingerprint> Snapshot<F> {
    /// The size of the store and of its parts. Reads headers and histograms only.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a histogram is damaged.
    pub fn stats(&self) -> Result<Stats> {
        let base = &self.parts().base;
        let windows = base.manifest.windows.as_ref();
        let since = |place: usize| {
            let windows = windows?;
            let seconds = windows.windows.get(place)?.checked_mul(windows.seconds)?;
            UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
        };
        let deletions = |number: u64| {
            let of_segment = base.lists().filter(|(entry, _)| entry.segment == number);
            of_segment.map(|(_, list)| list.len() as u64).sum()
        };
        let segments = self
            .segments()
            .iter()
            .enumerate()
            .map(|(place, segment)| {
                let tables = segment.tables().iter().map(|table| table.stats());
                Ok(SegmentStats {
                    number: segment.number(),
                    design: segment.design().cloned(),
                    count: segment.count(),
                    tables: tables.collect::<Result<_>>()?,
                    base: match segment.index() {
                        Index::Tables(_) => None,
                        Index::Parts(index) => Some(index.stats()),
                    },
                    ids: segment.id_column().map(|ids| ids.stats()),
                    since: since(place),
                    deletions: deletions(segment.number()),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let files = self.segments().iter().map(|segment| segment.file_bytes());
        let lists = base.manifest.deletions.iter().map(|entry| entry.file_bytes);
        Ok(Stats {
            bits: F::BITS,
            radius: self.radius(),
            fingerprints: self.len(),
            bytes: self.manifest().len() as u64 + files.chain(lists).sum::<u64>(),
            segments,
            living: base.manifest.log.map(|log| self.living_stats(&log)),
        })
    }

    fn living_stats(&self, log: &LogSection) -> LivingStats {
        let tails = &self.parts().tails;
        let last = tails.last().map_or(log.sequence, |tail| tail.next_sequence() - 1);
        let base = &self.parts().base;
        LivingStats {
            ids: log.shape.ids,
            window: base.manifest.windows.as_ref().map(|at| Duration::from_secs(at.seconds)),
            sequence: last,
            log_operations: last.saturating_sub(log.sequence),
            log_insertions: tails.iter().map(|tail| tail.len()).sum(),
            deletions: base.lists().map(|(_, list)| list.len() as u64).sum(),
            written_bytes: log.written_bytes,
            inserted_bytes: log.inserted_bytes,
        }
    }

    /// Bytes of heap that the open files take: routers, the bitmaps of checked blocks, some 45 KiB
    /// per table for its codes, and the files themselves where they are in memory. And what stands
    /// in no segment yet, deletions, and what searches have built (see
    /// [`OpenOptions::memory`](crate::OpenOptions::memory)).
    pub fn heap_bytes(&self) -> u64 {
        let opened = self.segments().iter().map(|segment| segment.heap_bytes());
        let tails = self.parts().tails.iter().map(|tail| tail.heap_bytes());
        opened.chain(tails).sum::<u64>() + self.parts().base.hiding.heap_bytes()
    }
}
