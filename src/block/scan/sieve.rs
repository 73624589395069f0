//! What is asked of the blocks of a table.

use super::super::candidate::Candidate;
use super::reading::Reading;
use crate::format::Geometry;

/// A query for some blocks of one table.
pub(crate) struct Sieve<'a> {
    pub(in crate::block) geometry: &'a Geometry,
    /// The file of the table.
    pub(in crate::block) file: &'a [u8],
    pub(in crate::block) query: u64,
    pub(in crate::block) k: u32,
    pub(in crate::block) candidates: &'a [Candidate],
    /// The number of the first candidate among those of all tables.
    pub(in crate::block) first: u32,
    /// Whether these are all blocks of the table.
    pub(in crate::block) reading: Reading,
    /// Keys of an average block.
    pub(in crate::block) keys_per_block: usize,
}
