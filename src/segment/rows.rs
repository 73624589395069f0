//! The fingerprints of a segment in their order, whatever its index.

use std::any::Any;
use std::ops::Range;

use crate::error::Result;
use crate::fingerprint::{Fingerprint, key_of, of_key};
use crate::multi_index::Base;
use crate::table::Table;

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
