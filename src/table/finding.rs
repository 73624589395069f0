//! What is found out about a table while it is searched: the numbers of keys in blocks are known only once these are decoded, which takes a
//! nanosecond or so per key, so it is done some blocks at a time.

use std::ops::Range;

use super::Table;
use crate::error::Result;

/// Blocks that are decoded together at most, and their keys, unless a single block has more.
pub(super) const DECODED: u64 = 32;
pub(super) const DECODED_KEYS: u64 = 2048;

/// What is gathered from all blocks of a table, in their order. Once it is complete, all of them have been checked.
pub(crate) trait Finding {
    /// Looks at more blocks of the table, a thousand keys or so, or one block, whose keys are left in `keys`. Gives the number of keys; 0 once all
    /// is known, or if the system would have to read the blocks first.
    ///
    /// # Errors
    ///
    /// As [`Table::decode_blocks`].
    fn find_some(&mut self, table: &Table, keys: &mut Vec<u64>) -> Result<u64>;

    /// Whether all blocks have been looked at.
    fn is_complete(&self) -> bool;

    /// Bytes of heap.
    fn heap_bytes(&self) -> u64;
}

/// Decodes some blocks from `start` on, and gives their numbers: none behind the last block, or if the system would have to read them first.
pub(super) fn decode_next(table: &Table, start: u64, keys: &mut Vec<u64>) -> Result<Range<u64>> {
    let end = table.block_count().min(start + DECODED);
    if start == end || table.is_absent(start) {
        return Ok(start..start);
    }
    let (end, _) = table.blocks_within(start..end, DECODED_KEYS);
    table.decode_blocks(start..end, keys)?;
    Ok(start..end)
}
