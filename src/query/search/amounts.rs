//! How much of a table a search takes at a time.

use crate::table::{Lead, PrefixFilter, Table};

/// Survivors of the first planes that are gathered before they are looked into. The bytes that this
/// takes are on their way meanwhile.
pub(super) const GATHERED: usize = 256;

/// Blocks that are sifted before the survivors are counted, and keys that these may hold, unless it
/// is a single block: each may survive.
pub(super) const SIFTED: usize = 64;
const SIFTED_KEYS: u64 = 1 << 17;
/// [`SIFTED`] blocks of so many bytes, with a column, hold no more keys than that.
const SMALL_BLOCK_BYTES: u32 = 2048;

/// Blocks of a table with a column that are sifted before the survivors are counted.
#[inline]
pub(super) fn blocks_sifted(table: &Table) -> Option<usize> {
    let geometry = table.geometry();
    // Divisions take as long as some blocks.
    (geometry.planes() > 0).then(|| match geometry.block_bytes {
        ..=SMALL_BLOCK_BYTES => SIFTED,
        _ => (SIFTED_KEYS / geometry.most_keys()).clamp(1, SIFTED as u64) as usize,
    })
}

/// Bytes that a search of a table may take, but for the matches, and 8 for each candidate block.
pub(super) fn most_bytes(table: &Table) -> u64 {
    // Keys, and with a column also survivors, twice.
    let bytes = if table.geometry().planes() == 0 { 8 } else { 24 };
    bytes * most_decoded(table)
}

/// Keys that are decoded before they are looked at.
pub(super) fn most_decoded(table: &Table) -> u64 {
    table.geometry().most_keys().max(1 << 15)
}

/// Bytes that a search with filters takes for what that of a table tells.
pub(super) fn filter_bytes(table: &Table) -> u64 {
    // A list that grows to twice of what it holds.
    (2 * size_of::<Lead>() * (table.most_leads() + PrefixFilter::MOST_OF_GROUP)) as u64
}

/// Bytes that the leads of a search take.
pub(super) fn lead_bytes(identity: &Table) -> u64 {
    // Twice as many until equal ones are removed, in a list that grows to twice of that.
    (4 * size_of::<Lead>() * identity.most_leads()) as u64
}
