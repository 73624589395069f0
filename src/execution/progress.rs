//! How far work has come.

use std::fmt;
use std::sync::Arc;

/// How far a pack, a batch, a join or a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// How much of this phase is done: queries in [`Phase::Query`], ids in [`Phase::Ids`], else
    /// fingerprints, in those of a pack and in [`Phase::Verify`] counted once per table.
    pub done: u64,
    /// How much there is in this phase, in some about; 0 while it is not known.
    pub total: u64,
    /// Bytes written so far, to the store and to temporary files.
    pub bytes_written: u64,
    /// Steps done of the phases of a pack between the input and the last file, a step being a pass
    /// over one fingerprint or id.
    pub steps_done: u64,
    /// Steps of all these phases; 0 while it is not known.
    pub steps: u64,
}

impl Progress {
    /// That so much of a phase is done, of so much, where nothing is written.
    pub(crate) fn of(phase: Phase, done: u64, total: u64) -> Self {
        Self { phase, done, total, bytes_written: 0, steps_done: 0, steps: 0 }
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Takes fingerprints, and writes sorted runs of them to temporary files.
    Spill,
    /// Brings the set into order, in memory.
    Sort,
    /// Merges sorted runs.
    Merge,
    /// Distributes the set over parts of a table that fit into memory.
    Distribute,
    /// Sorts such parts, and counts what their keys cost.
    Count,
    /// Encodes and writes the tables; sorts them first where they fit into memory.
    Encode,
    /// Writes the ids.
    Ids,
    /// Makes all files durable and visible.
    Sync,
    /// Answers the queries of a batch.
    Query,
    /// Finds pairs.
    Join,
    /// Checks the files of a store.
    Verify,
}

impl Phase {
    /// Phases of a pack.
    pub(super) const PACKING: usize = Phase::Sync as usize + 1;
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Phase::Spill => "spill",
            Phase::Sort => "sort",
            Phase::Merge => "merge",
            Phase::Distribute => "distribute",
            Phase::Count => "count",
            Phase::Encode => "encode",
            Phase::Ids => "ids",
            Phase::Sync => "sync",
            Phase::Query => "query",
            Phase::Join => "join",
            Phase::Verify => "verify",
        })
    }
}

/// A function that is told how far work has come.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;
