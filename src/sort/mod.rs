//! Sorts sets, in memory and, where they are larger, in temporary files.

mod memory;
mod parts;
mod runs;
mod spill;
#[cfg(test)]
mod spill_memory;
#[cfg(test)]
mod tests;

pub(crate) use memory::{partition_keys, scratch_records, sort_lists, sort_permuted, sort_tops};
pub(crate) use parts::{Buffers, Counts, ReadKeys, TableParts};
pub(crate) use runs::{Sorted, SortedRuns, Sorter};
pub(crate) use spill::{Create, Extent, Spill, pieces, read, write};
#[cfg(test)]
pub(crate) use spill_memory::Memory;
