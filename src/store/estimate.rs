//! What a pack will need, before it starts.

use super::pack::Packer;
use super::session;
use crate::design::Design;
use crate::error::Result;
use crate::plan::Planner;

/// Nanoseconds of one thread per fingerprint and table, as measured on one machine at 2^26: in
/// memory, and with temporary files.
const MEMORY_NS: f64 = 31.0;
const SPILLED_NS: f64 = 80.0;
/// The part of that which further threads do not shorten.
const SERIAL: f64 = 0.33;

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
    /// Bytes of temporary files at most; 0 if everything fits into memory. The last table is written
    /// while they are there: the disk needs these and the store together.
    pub temporary_bytes: u64,
    /// Bytes of all files of the store.
    pub store_bytes: u64,
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
        self.check_options()?;
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let (design, block_bytes) = self.layout(count, Ok)?;
        let planner = Planner::new(count).radius(self.radius).designs([design.clone()]);
        let planner = planner.block_bytes(Some(block_bytes)).codec(self.codec);
        let plan = planner.low_bits(self.low_bits).calibration(self.calibration).best()?;
        let store_bytes = plan.map_or(0, |plan| plan.store_bytes);
        let spills = count > session::capacity(self.memory, threads, 0) as u64;
        let in_memory = session::in_memory_bytes(count, threads);
        let memory_bytes = self.memory.filter(|_| spills).unwrap_or(in_memory);
        let nanoseconds = if spills { SPILLED_NS } else { MEMORY_NS };
        let share = SERIAL + (1.0 - SERIAL) / threads as f64;
        let keys = count as f64 * design.table_count() as f64;
        Ok(PackEstimate {
            design,
            block_bytes,
            memory_bytes,
            temporary_bytes: if spills { 16 * count } else { 0 },
            store_bytes,
            seconds: keys * nanoseconds * share / 1e9,
        })
    }
}
