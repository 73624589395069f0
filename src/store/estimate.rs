//! What a pack will need, before it starts.

use super::budget;
use super::options::Packer;
use crate::design::Design;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{IdsHeader, MOST_ROWS, digits};
use crate::multi_index;
use crate::planning::{IndexLayout, TableLayout};

/// Bytes of a table besides its blocks and their routers.
const TABLE_BYTES: u64 = 4096 + 600;

/// What a pack will probably need, from [`Packer::estimate`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PackEstimate {
    /// The tables; `None` where there will be a base.
    pub design: Option<Design>,
    /// Bytes per block of a table.
    pub block_bytes: Option<u32>,
    /// Whether tables behind the first will be [short](crate::Layout::short_tables).
    pub short_tables: bool,
    /// The number of part tables; `None` where there will be tables.
    pub parts: Option<u16>,
    /// Bytes of memory at most.
    pub memory_bytes: u64,
    /// Bytes of temporary files at most; 0 if everything fits into memory. The last table is
    /// written
    /// while they are there: the disk needs these and the store together.
    pub temporary_bytes: u64,
    /// Bytes of all files of the store.
    pub store_bytes: u64,
    /// Bytes of these that are ids.
    pub id_bytes: u64,
    /// Seconds, without those of reading the input: a guess within a factor of two or three.
    pub seconds: f64,
}

impl<F: Fingerprint> Packer<F> {
    /// What a pack of `count` uniform fingerprints will need. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`], [`Error::TooManyBlocks`] and [`Error::TooManyRows`].
    pub fn estimate(&self, count: u64) -> Result<PackEstimate> {
        self.estimate_of(count, None)
    }

    /// What a pack of `pairs` uniform fingerprints with an id each will need, of which `greatest`
    /// is the
    /// greatest one. Where some have several ids, it takes a bit more for each id.
    ///
    /// # Errors
    ///
    /// As [`Self::estimate`].
    pub fn estimate_with_ids(&self, pairs: u64, greatest: u64) -> Result<PackEstimate> {
        self.estimate_of(pairs, Some(greatest))
    }

    /// Whether entries of part tables take more memory than the sort of the set.
    fn has_three_copies(&self) -> bool {
        F::BYTES <= size_of::<u64>() && self.layout.part_layout(F::BITS, 1).is_some()
    }

    /// The words that a pack with so many threads may have in memory twice.
    pub(super) fn capacity(&self, threads: usize) -> usize {
        let capacity = budget::capacity(self.execution.memory_limit(), threads, 0);
        if self.has_three_copies() { budget::capacity_with_parts(capacity) } else { capacity }
    }

    fn estimate_of(&self, count: u64, greatest: Option<u64>) -> Result<PackEstimate> {
        self.check_options()?;
        let threads = self.execution.thread_count();
        let (layout, planner) = self.choose_layout(count, Ok)?;
        let (table_bytes, tables, blocks) = match &layout {
            IndexLayout::Tables(TableLayout { design, block_bytes, .. }) => {
                let planner = planner.designs([design.clone()]).block_bytes(Some(*block_bytes));
                let table_bytes = planner.best()?.map_or(0, |plan| plan.store_bytes);
                let tables = design.table_count() as u64;
                let blocks = (table_bytes / tables).saturating_sub(TABLE_BYTES);
                (table_bytes, tables, blocks / (u64::from(*block_bytes) + 8))
            }
            IndexLayout::Parts(_) if count > MOST_ROWS => {
                return Err(Error::TooManyRows { count, most: MOST_ROWS });
            }
            IndexLayout::Parts(parts) => {
                let parts = parts.count;
                (multi_index::file_bytes(F::BITS, parts, count), 1 + u64::from(parts), 0)
            }
        };
        let id_bytes = greatest.map_or(0, |greatest| id_bytes(count, blocks, greatest));
        let capacity = self.capacity(threads) as u64;
        // A wider fingerprint takes as much as several of 64 bits.
        let words = F::BYTES.div_ceil(size_of::<u64>()) as u64;
        let (spills, in_memory, spilled) = match greatest {
            None => {
                let all = count.saturating_mul(words);
                let entries = if self.has_three_copies() { count.saturating_mul(8) } else { 0 };
                let in_memory = budget::in_memory_bytes(all, threads).saturating_add(entries);
                (all > capacity, in_memory, all.saturating_mul(16))
            }
            Some(_) => {
                let all = count.saturating_mul(words + 1);
                let in_memory = budget::in_memory_bytes_with_ids(all / 2, threads);
                // While runs are merged: these, the set, the ids and a bit for each.
                (all > capacity, in_memory, all.saturating_mul(16).saturating_add(count / 8))
            }
        };
        let c = &self.execution.cost().pack;
        let nanoseconds = if spills { c.spilled_ns } else { c.memory_ns };
        let id_nanoseconds = if spills { c.spilled_id_ns } else { c.memory_id_ns };
        let share = c.serial_share + (1.0 - c.serial_share) / threads as f64;
        let ids = greatest.map_or(0, |_| count);
        let work = count as f64 * tables as f64 * nanoseconds + ids as f64 * id_nanoseconds;
        let short_tables = matches!(&layout, IndexLayout::Tables(of) if of.has_short(count));
        let (design, block_bytes, parts) = match layout {
            IndexLayout::Tables(layout) => (Some(layout.design), Some(layout.block_bytes), None),
            IndexLayout::Parts(parts) => (None, None, Some(parts.count)),
        };
        Ok(PackEstimate {
            design,
            block_bytes,
            short_tables,
            parts,
            memory_bytes: self.execution.memory_limit().filter(|_| spills).unwrap_or(in_memory),
            temporary_bytes: if spills { spilled } else { 0 },
            store_bytes: table_bytes + id_bytes,
            id_bytes,
            seconds: work * share / 1e9,
        })
    }
}

/// Bytes of the ids of so many fingerprints with one each, in so many blocks.
fn id_bytes(count: u64, block_count: u64, greatest: u64) -> u64 {
    let id_bits = digits(greatest) as u8;
    let header = IdsHeader {
        header_bytes: IdsHeader::HEADER_BYTES,
        table_crc: 0,
        count,
        block_count,
        id_count: count,
        id_bits,
    };
    header.geometry().file_bytes()
}
