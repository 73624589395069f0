//! What a search touches, and the time that this takes.

use crate::costs::{Costs, SearchCosts};

/// What a search touches on average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    /// Whether it scans one table whole.
    pub(crate) scans: bool,
    /// Tables in which it looks at some block.
    pub(super) tables: f64,
    pub(super) blocks: f64,
    /// Bytes of the columns of these blocks, as far as they are compared.
    pub(super) column_bytes: f64,
    pub(super) decoded_blocks: f64,
    /// Keys of a decoded block up to the one that is looked for.
    pub(super) decoded_keys: f64,
    /// Bytes that searches come back to, all together.
    pub(super) hot_bytes: f64,
    /// Reads from a disk, and bytes of them and of the blocks.
    pub(super) reads: f64,
    pub(super) read_bytes: f64,
    pub(super) block_bytes: f64,
}

impl Touched {
    /// Nanoseconds of one thread where all is in memory.
    pub(crate) fn warm_ns(&self, c: &SearchCosts) -> f64 {
        let missing = c.missing(self.hot_bytes);
        let paths = if self.scans { 0.0 } else { (self.blocks - self.tables).max(0.0) };
        let descents =
            if self.scans { 0.0 } else { self.tables * (c.table_ns + missing * c.table_dram_ns) };
        c.query_ns
            + descents
            + paths * c.path_ns
            + self.blocks * c.block_ns
            + if self.scans { 0.0 } else { self.blocks * missing * c.block_dram_ns }
            + self.column_bytes * (c.column_byte_ns + missing * c.column_byte_dram_ns)
            + self.decoded_blocks * (c.decode_block_ns + self.decoded_keys * c.decode_key_ns)
    }

    /// The same where filters leave so many blocks to a search.
    pub(crate) fn filtered(self, blocks: f64) -> Self {
        if blocks >= self.blocks {
            return self;
        }
        let share = blocks / self.blocks;
        // Those that are left are apart.
        let reads = self.reads.min(blocks);
        Self { blocks, reads, read_bytes: share * self.read_bytes, ..self }
    }

    /// The same where all blocks are on the disk.
    pub(crate) fn cold_ns(&self, costs: &Costs) -> f64 {
        let Costs { search, disk, .. } = costs;
        // A scan reads ahead, and waits once; the reads of a descent are in flight together.
        let waits = if self.scans { 1.0 } else { f64::max(self.reads / disk.reads_in_flight, 1.0) };
        self.warm_ns(search)
            + waits.min(self.reads) * disk.read_ns
            + self.read_bytes * disk.byte_ns
            + self.blocks * self.block_bytes * search.crc_byte_ns
    }
}
