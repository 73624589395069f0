//! What a pack will need, before it starts.

use super::budget;
use super::options::Packer;
use crate::design::Design;
use crate::error::Result;
use crate::format::{IdsHeader, digits};
use crate::plan::Layout;

/// Bytes of a table besides its blocks and their routers.
const TABLE_BYTES: u64 = 4096 + 600;

/// What a pack will probably need, from [`Packer::estimate`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PackEstimate {
    /// The tables.
    pub design: Design,
    /// Bytes per block.
    pub block_bytes: u32,
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

impl Packer {
    /// What a pack of `count` uniform fingerprints will need. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) and
    /// [`Error::TooManyBlocks`](crate::Error::TooManyBlocks).
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

    fn estimate_of(&self, count: u64, greatest: Option<u64>) -> Result<PackEstimate> {
        self.check_options()?;
        let threads = self.execution.thread_count();
        let (layout, planner) = self.choose_layout(count, Ok)?;
        let Layout { design, block_bytes, .. } = layout;
        let planner = planner.designs([design.clone()]).block_bytes(Some(block_bytes));
        let plan = planner.best()?;
        let table_bytes = plan.map_or(0, |plan| plan.store_bytes);
        let tables = design.table_count() as u64;
        let id_bytes = greatest.map_or(0, |greatest| {
            let blocks = (table_bytes / tables).saturating_sub(TABLE_BYTES);
            id_bytes(count, blocks / (u64::from(block_bytes) + 8), greatest)
        });
        let capacity = budget::capacity(self.execution.memory_limit(), threads, 0) as u64;
        let (spills, in_memory, spilled) = match greatest {
            None => (count > capacity, budget::in_memory_bytes(count, threads), 16 * count),
            Some(_) => {
                let in_memory = budget::in_memory_bytes_with_ids(count, threads);
                // While runs are merged: these, the set, the ids and a bit for each.
                (count > capacity / 2, in_memory, 32 * count + count / 8)
            }
        };
        let c = &self.execution.cost().pack;
        let nanoseconds = if spills { c.spilled_ns } else { c.memory_ns };
        let id_nanoseconds = if spills { c.spilled_id_ns } else { c.memory_id_ns };
        let share = c.serial_share + (1.0 - c.serial_share) / threads as f64;
        let ids = greatest.map_or(0, |_| count);
        let work = (count * tables) as f64 * nanoseconds + ids as f64 * id_nanoseconds;
        Ok(PackEstimate {
            design,
            block_bytes,
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
