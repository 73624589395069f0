//! Segments: one set, as the tables of one design.

use std::path::Path;
use std::sync::OnceLock;

use crate::design::Design;
use crate::design::threshold::{SCAN_RADIUS, Thresholds};
use crate::error::Result;
use crate::format::SegmentEntry;
use crate::table::{Access, Table};

/// An open segment. Any number of threads may use it.
pub(crate) struct Segment {
    number: u64,
    count: u64,
    design: Design,
    tables: Vec<Table>,
    /// For each radius the thresholds, once they were asked for; `None` means to scan.
    thresholds: Vec<OnceLock<Option<Thresholds>>>,
}

impl Segment {
    /// Opens the tables of `entry` in `directory`.
    pub(crate) fn open(directory: &Path, entry: &SegmentEntry, access: Access) -> Result<Self> {
        let tables = (0..entry.tables.len())
            .map(|number| Table::open(directory, entry, number, access))
            .collect::<Result<Vec<_>>>()?;
        let tops = tables.iter().map(|table| table.header().top.clone()).collect();
        Ok(Self {
            number: entry.number,
            count: entry.count,
            design: Design::from_tops(tops)?,
            tables,
            thresholds: (0..SCAN_RADIUS).map(|_| OnceLock::new()).collect(),
        })
    }

    /// The number in the manifest.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Number of distinct fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The design.
    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// The tables; there is at least one.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table in the order of the fingerprints.
    pub(crate) fn identity(&self) -> &Table {
        // The manifest rule [SEG-2] gives every segment a table.
        &self.tables[0]
    }

    /// How many bits may differ in the top of each table for a search within `k`; `None` where a
    /// scan of the identity table is less work.
    pub(crate) fn thresholds(&self, k: u32) -> Option<&Thresholds> {
        let blocks = self.identity().block_count();
        self.thresholds.get(k as usize)?.get_or_init(|| self.design.thresholds(k, blocks)).as_ref()
    }
}
