//! Reads segments, and their fingerprints in order, whatever the index.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use super::path::{AccessPath, MayUse};
use super::tables::Tables;
use crate::access::ReadFiles;
use crate::costs::{Costs, SearchCosts};
use crate::design::Design;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::format::{IndexKind, SegmentEntry};
use crate::ids::IdColumn;
use crate::multi_index::{Base, MultiIndex};
use crate::names::{NameColumn, Naming};
use crate::planning::IndexLayout;
use crate::table::Table;

/// An open segment. Any number of threads may use it.
pub(crate) struct Segment<F = u64> {
    /// What the manifest says of it.
    entry: SegmentEntry,
    index: Index<F>,
    ids: Option<Arc<IdColumn>>,
    /// The names that ids are numbers of.
    names: Option<Arc<NameColumn>>,
}

/// How the fingerprints of a segment are found.
pub(crate) enum Index<F> {
    Tables(Tables),
    Parts(MultiIndex<F>),
}

impl<F: Fingerprint> Segment<F> {
    /// Opens the index and the ids of `entry`.
    pub(crate) fn open(files: &dyn ReadFiles, entry: &SegmentEntry) -> Result<Self> {
        let index = match entry.index {
            IndexKind::Tables => Index::Tables(Tables::open(files, entry, F::BITS)?),
            IndexKind::Parts => Index::Parts(MultiIndex::open(files, entry)?),
        };
        // The rows of a base have their numbers.
        let blocks = match &index {
            Index::Tables(tables) => Some(tables.identity().block_count()),
            Index::Parts(_) => Some(0),
        };
        let ids = entry.ids.as_ref().map(|ids| IdColumn::open(files, entry, ids, blocks));
        let ids = ids.transpose()?.map(Arc::new);
        let names = entry.names.as_ref().map(|at| NameColumn::open(files, entry.number, at));
        let names = names.transpose()?.map(Arc::new);
        Ok(Self { entry: entry.clone(), index, ids, names })
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

    /// How its fingerprints are found.
    pub(crate) fn index(&self) -> &Index<F> {
        &self.index
    }

    /// The fingerprints in their order.
    pub(crate) fn rows(&self) -> Rows<'_, F> {
        match &self.index {
            Index::Tables(tables) => Rows::Table(tables.identity()),
            Index::Parts(index) => Rows::Base(index.base()),
        }
    }

    /// The tables, if it has some.
    pub(crate) fn tables(&self) -> &[Table] {
        match &self.index {
            Index::Tables(tables) => tables.all(),
            Index::Parts(_) => &[],
        }
    }

    /// The design of its tables, if it has some.
    pub(crate) fn design(&self) -> Option<&Design> {
        match &self.index {
            Index::Tables(tables) => Some(tables.design()),
            Index::Parts(_) => None,
        }
    }

    /// Whether it has the tables or the part tables of a layout. Codecs and columns of tables may
    /// differ, and so may the number of part tables where the set has a say in it.
    pub(crate) fn is_laid_out_as(&self, layout: &IndexLayout) -> bool {
        match (&self.index, layout) {
            (Index::Tables(tables), IndexLayout::Tables(layout)) => {
                let is_as_long = |table: &Table| table.geometry().block_bytes == layout.block_bytes;
                *tables.design() == layout.design
                    && tables.all().iter().all(is_as_long)
                    && tables.has_short() == layout.has_short(self.count())
            }
            (Index::Parts(index), IndexLayout::Parts(layout)) => {
                layout.radius.is_some() || index.part_count() == usize::from(layout.count)
            }
            _ => false,
        }
    }

    /// Bytes of all files.
    pub(crate) fn file_bytes(&self) -> u64 {
        let ids = self.ids.as_ref().map_or(0, |ids| ids.file_bytes());
        let names = self.names.as_ref().map_or(0, |names| names.file_bytes());
        ids + names
            + match &self.index {
                Index::Tables(tables) => tables.all().iter().map(Table::file_bytes).sum::<u64>(),
                Index::Parts(index) => index.file_bytes(),
            }
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let ids = self.ids.as_ref().map_or(0, |ids| ids.heap_bytes());
        let names = self.names.as_ref().map_or(0, |names| names.heap_bytes());
        ids + names
            + match &self.index {
                Index::Tables(tables) => tables.heap_bytes(),
                Index::Parts(index) => index.heap_bytes(),
            }
    }

    /// The ids, if it has some.
    pub(crate) fn id_column(&self) -> Option<&Arc<IdColumn>> {
        self.ids.as_ref()
    }

    /// The names that ids are numbers of, if they are.
    pub(crate) fn names(&self) -> Option<&Arc<NameColumn>> {
        self.names.as_ref()
    }

    /// What the numbers of its ids stand for.
    pub(crate) fn naming(&self) -> Naming {
        self.names.as_ref().map_or(Naming::Numbers, |names| Naming::Column(Arc::clone(names)))
    }

    /// The numbers of the ids of a fingerprint in the column; `None` if it has none. Decodes at
    /// most one block.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Option<(&Arc<IdColumn>, Range<u64>)>> {
        let Some(column) = &self.ids else { return Ok(None) };
        let numbers = match &self.index {
            Index::Tables(tables) => {
                let place = tables.place(fingerprint)?;
                place.map(|(block, key)| column.of_position(block, key))
            }
            Index::Parts(index) => {
                index.base().position(fingerprint)?.map(|row| column.of_rank(row))
            }
        };
        Ok(numbers.transpose()?.map(|numbers| (column, numbers)))
    }

    /// The tables that hold whole fingerprints, and how many bits may differ in the top of each, if
    /// it is needed, so that these find all within `k`; `None` where there are no tables, or a scan
    /// of the identity table is less work.
    pub(crate) fn thresholds(&self, k: u32) -> Option<Vec<(&Table, u32)>> {
        let Index::Tables(tables) = &self.index else { return None };
        let thresholds = tables.whole().zip(tables.whole_thresholds(k)?);
        Some(thresholds.filter_map(|(table, threshold)| Some((table, (*threshold)?))).collect())
    }

    /// The tables that hold whole fingerprints; of a base none.
    pub(crate) fn orders(&self) -> impl Iterator<Item = &Table> {
        let tables = match &self.index {
            Index::Tables(tables) => Some(tables.whole()),
            Index::Parts(_) => None,
        };
        tables.into_iter().flatten()
    }

    /// What a search within `k` takes on top if nothing of the tables is in memory, in nanoseconds;
    /// of a base it is not known.
    pub(crate) fn disk_ns(&self, k: u32, costs: &Costs) -> f64 {
        match &self.index {
            Index::Tables(tables) => tables.disk_ns(k, costs),
            Index::Parts(_) => 0.0,
        }
    }

    /// Bytes of the identity table or the base, and of all tables that hold whole fingerprints.
    pub(crate) fn read_bytes(&self) -> [u64; 2] {
        match &self.index {
            Index::Tables(tables) => {
                let all = tables.whole().map(Table::file_bytes).sum();
                [tables.identity().file_bytes(), all]
            }
            Index::Parts(index) => [index.file_bytes(); 2],
        }
    }

    /// The share of the tables that the system would have to read first, by some of their pages; of
    /// a base it is not known.
    pub(crate) fn absent_share(&self) -> f64 {
        match &self.index {
            Index::Tables(tables) => {
                let shares = tables.all().iter().map(Table::absent_share);
                shares.sum::<f64>() / tables.all().len() as f64
            }
            Index::Parts(_) => 0.0,
        }
    }

    /// How a search within `k` goes through it, by what it may use of what is in memory.
    pub(crate) fn path(&self, k: u32, uses: MayUse) -> AccessPath {
        match &self.index {
            Index::Tables(tables) => tables.path(k, uses).into(),
            Index::Parts(index) if index.scans(k) => AccessPath::Scan,
            Index::Parts(_) => AccessPath::Parts,
        }
    }

    /// The predicted time of a search within `k` by this path, with a match, in nanoseconds of one
    /// thread.
    pub(crate) fn path_ns(&self, path: AccessPath, k: u32, costs: &SearchCosts) -> f64 {
        match &self.index {
            Index::Tables(tables) => tables.path_ns(path, k, costs),
            Index::Parts(index) => index.search_ns(k),
        }
    }

    /// The predicted time of a search within `k`, with a match, in nanoseconds of one thread.
    pub(crate) fn search_ns(&self, k: u32, costs: &SearchCosts) -> f64 {
        match &self.index {
            Index::Tables(tables) => tables.search_ns(k, costs),
            Index::Parts(index) => index.search_ns(k),
        }
    }
}

/// Rows of a base that count as a block.
const BLOCK_ROWS: u64 = 256;

/// The fingerprints of a segment, in blocks: those of the identity table, or so many rows of the
/// base each.
pub(crate) enum Rows<'a, F> {
    Table(&'a Table),
    Base(&'a Base<F>),
}

impl<F: Fingerprint> Rows<'_, F> {
    /// Number of blocks.
    pub(crate) fn block_count(&self) -> u64 {
        match self {
            Self::Table(table) => table.block_count(),
            Self::Base(base) => base.count().div_ceil(BLOCK_ROWS),
        }
    }

    /// The rows of some blocks.
    fn rows(base: &Base<F>, blocks: Range<u64>) -> Range<u64> {
        blocks.start * BLOCK_ROWS..base.count().min(blocks.end * BLOCK_ROWS)
    }

    /// The first block that holds a fingerprint from this one on; the number of blocks if none
    /// does.
    pub(crate) fn seek(&self, fingerprint: F) -> Result<u64> {
        match self {
            Self::Table(table) => Ok(table.seek(key_of(fingerprint))),
            Self::Base(base) => match base.find(fingerprint)? {
                row if row == base.count() => Ok(self.block_count()),
                row => Ok(row / BLOCK_ROWS),
            },
        }
    }

    /// The last fingerprint of a block, which there is.
    pub(crate) fn last(&self, block: u64) -> Result<F> {
        match self {
            Self::Table(table) => Ok(of_key(table.last_key(block))),
            Self::Base(base) => base.row(Self::rows(base, block..block + 1).end - 1),
        }
    }

    /// Whether this fingerprint is there. Reads at most one block, or some rows.
    pub(crate) fn contains(&self, fingerprint: F) -> Result<bool> {
        match self {
            Self::Table(table) => table.contains(key_of(fingerprint)),
            Self::Base(base) => Ok(base.position(fingerprint)?.is_some()),
        }
    }

    /// Of some blocks the end of the first ones that hold up to `most` fingerprints together, and
    /// the number of these; one block at least, if there are any.
    pub(crate) fn blocks_within(&self, blocks: Range<u64>, most: u64) -> (u64, u64) {
        match self {
            Self::Table(table) => table.blocks_within(blocks, most),
            Self::Base(base) => {
                let fitting = blocks.start + (most / BLOCK_ROWS).max(1);
                let end = blocks.end.min(fitting).max(blocks.start);
                let rows = Self::rows(base, blocks.start..end);
                (end, rows.end - rows.start)
            }
        }
    }

    /// Asks the system to have these blocks of a table read, and does not wait for them.
    pub(crate) fn will_need(&self, blocks: Range<u64>) {
        if let Self::Table(table) = self {
            table.will_need_blocks(blocks);
        }
    }

    /// Puts the keys of some blocks of fingerprints of up to 64 bits in place of those in `keys`;
    /// of a permuted table its own.
    pub(crate) fn read_keys(&self, blocks: Range<u64>, keys: &mut Vec<u64>) -> Result<()> {
        match self {
            Self::Table(table) => table.decode_blocks(blocks, keys),
            Self::Base(base) => {
                let mut rows = Vec::new();
                base.read(Self::rows(base, blocks), &mut rows)?;
                keys.clear();
                keys.extend(rows.into_iter().map(key_of::<F>));
                Ok(())
            }
        }
    }

    /// Puts the fingerprints of some blocks in place of those in `out`. These keep their length
    /// until then.
    pub(crate) fn read(&self, blocks: Range<u64>, out: &mut Vec<F>) -> Result<()> {
        match self {
            Self::Table(table) => {
                if let Some(keys) = (out as &mut dyn Any).downcast_mut::<Vec<u64>>() {
                    return table.decode_blocks(blocks, keys);
                }
                let mut keys = Vec::new();
                table.decode_blocks(blocks, &mut keys)?;
                out.clear();
                out.extend(keys.into_iter().map(of_key::<F>));
                Ok(())
            }
            Self::Base(base) => {
                out.clear();
                base.read(Self::rows(base, blocks), out)
            }
        }
    }
}
