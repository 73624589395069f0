//! Reads segments.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::access::ReadFiles;
use crate::costs::SearchCosts;
use crate::design::Design;
use crate::error::Result;
use crate::format::SegmentEntry;
use crate::ids::IdColumn;
use crate::plan::{self, Touched};
use crate::table::Table;
use crate::thresholds::shared::Solved;
use crate::thresholds::solver::Thresholds;

/// An open segment. Any number of threads may use it.
pub(crate) struct Segment {
    /// What the manifest says of it.
    entry: SegmentEntry,
    design: Design,
    tables: Vec<Table>,
    ids: Option<Arc<IdColumn>>,
    solved: Arc<Solved>,
    /// For each radius what a search touches on average, once it was asked for.
    touched: Vec<OnceLock<Touched>>,
}

impl Segment {
    /// Opens the tables and the ids of `entry`.
    pub(crate) fn open(files: &dyn ReadFiles, entry: &SegmentEntry) -> Result<Self> {
        let tables = (0..entry.tables.len())
            .map(|number| Table::open(files, entry, number))
            .collect::<Result<Vec<_>>>()?;
        let ids = entry.ids.as_ref();
        let open_ids = |ids| IdColumn::open(files, entry, ids, tables[0].block_count());
        let ids = ids.map(open_ids).transpose()?;
        let tops = tables.iter().map(|table| table.header().top.clone()).collect();
        let design = Design::from_tops(tops)?;
        Ok(Self {
            entry: entry.clone(),
            solved: Solved::of(&design, tables[0].block_count()),
            design,
            tables,
            ids: ids.map(Arc::new),
            touched: (0..=u64::BITS).map(|_| OnceLock::new()).collect(),
        })
    }

    /// What the manifest says of it: equal entries stand for equal files.
    pub(crate) fn entry(&self) -> &SegmentEntry {
        &self.entry
    }

    /// The number in the manifest.
    pub(crate) fn number(&self) -> u64 {
        self.entry.number
    }

    /// Number of distinct fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.entry.count
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

    /// Bytes of all files.
    pub(crate) fn file_bytes(&self) -> u64 {
        let ids = self.ids.as_ref().map_or(0, |ids| ids.file_bytes());
        ids + self.tables.iter().map(Table::file_bytes).sum::<u64>()
    }

    /// The ids, if it has some.
    pub(crate) fn id_column(&self) -> Option<&Arc<IdColumn>> {
        self.ids.as_ref()
    }

    /// The numbers of the ids of a fingerprint in the column; `None` if it has none. Decodes at most
    /// one block.
    pub(crate) fn ids(&self, fingerprint: u64) -> Result<Option<(&Arc<IdColumn>, Range<u64>)>> {
        let Some(column) = &self.ids else { return Ok(None) };
        let table = self.identity();
        let Some((block, key)) = table.position(table.permutation().key(fingerprint))? else {
            return Ok(None);
        };
        Ok(Some((column, column.of_position(block, key)?)))
    }

    /// How many bits may differ in the top of each table for a search within `k`; `None` where a
    /// scan of the identity table is less work.
    pub(crate) fn thresholds(&self, k: u32) -> Option<&Thresholds> {
        self.solved.thresholds(k)
    }

    /// The predicted time of a search within `k`, which is up to 64, with a match, in nanoseconds of
    /// one thread.
    pub(crate) fn search_ns(&self, k: u32, costs: &SearchCosts) -> f64 {
        let predict = || {
            let (table, count) = (self.identity(), self.count());
            let (codec, geometry) = (table.header().codec, table.geometry());
            plan::search_touches(&self.design, count, codec, geometry, k, self.thresholds(k))
        };
        let touched = self.touched.get(k as usize).map(|touched| touched.get_or_init(predict));
        touched.map_or(f64::INFINITY, |touched| touched.warm_ns(costs))
    }
}
