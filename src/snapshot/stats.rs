//! What a snapshot is made of, and what it takes.

use super::contents::Snapshot;
use crate::design::Design;
use crate::error::Result;
use crate::ids::IdStats;
use crate::table::TableStats;

/// The size of a store and what it is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The Hamming radius that the store was planned for.
    pub radius: u32,
    /// The number of fingerprints, as [`Snapshot::len`] gives it.
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

impl Snapshot {
    /// The size of the store and of its parts. Reads headers and histograms only.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a histogram is damaged.
    pub fn stats(&self) -> Result<Stats> {
        let segments = self
            .segments()
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
            radius: self.radius(),
            fingerprints: self.len(),
            bytes: self.manifest().len() as u64 + tables.chain(ids).sum::<u64>(),
            segments,
        })
    }

    /// Bytes of heap that the open files take (router directories and the bitmaps of checked
    /// blocks), besides the files themselves where they are in memory, and some 45 KiB per table for
    /// its codes.
    pub fn heap_bytes(&self) -> u64 {
        let tables = self.segments().iter().flat_map(|segment| segment.tables());
        let ids = self.segments().iter().filter_map(|segment| segment.id_column());
        tables.map(|table| table.heap_bytes()).chain(ids.map(|ids| ids.heap_bytes())).sum()
    }
}
