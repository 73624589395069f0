//! What a pack says of itself.

use crate::design::Design;
use crate::planning::{IndexLayout, Planner};
use crate::segment::PackTimes;
use crate::table::TableStats;

/// What a pack has written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PackSummary {
    /// Fingerprints read, duplicates included.
    pub read: u64,
    /// Distinct fingerprints.
    pub distinct: u64,
    /// Distinct pairs of a fingerprint and an id; `None` without ids.
    pub ids: Option<u64>,
    /// Bytes of the file of the ids; 0 without.
    pub id_bytes: u64,
    /// Bytes of the file of the names; 0 where ids are numbers.
    pub name_bytes: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// The tables; none where there is a base.
    pub tables: Vec<TableStats>,
    pub(super) layout: IndexLayout,
    /// Predicts what other designs would take for this set. It knows the options of the packer and,
    /// where something was left to choose, a sample of the set; it looks at those designs and sizes
    /// that the packer had to choose from.
    pub planner: Planner,
    /// Bytes of temporary files, at most at any time; 0 where everything was in memory.
    pub temporary_bytes: u64,
    /// What took how long.
    pub times: PackTimes,
}

impl PackSummary {
    /// The design of the tables, given or chosen; `None` where there is a base.
    pub fn design(&self) -> Option<&Design> {
        match &self.layout {
            IndexLayout::Tables(layout) => Some(&layout.design),
            IndexLayout::Parts(_) => None,
        }
    }

    /// Bytes per block, given or chosen; `None` where there is a base.
    pub fn block_bytes(&self) -> Option<u32> {
        match &self.layout {
            IndexLayout::Tables(layout) => Some(layout.block_bytes),
            IndexLayout::Parts(_) => None,
        }
    }

    /// The number of part tables, given or chosen; `None` where there are tables.
    pub fn parts(&self) -> Option<u16> {
        match self.layout {
            IndexLayout::Tables(_) => None,
            IndexLayout::Parts(parts) => Some(parts.count),
        }
    }
}
