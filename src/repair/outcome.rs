//! What a repair has saved, and what is lost.

use crate::format::SegmentEntry;

/// What a [`Repair`](crate::maintenance::Repair) has saved, and what it could not.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Fingerprints that the new store holds, each counted once.
    pub fingerprints: u64,
    /// Ids of these.
    pub ids: u64,
    /// What is wrong with the manifest, if it cannot be used. Then all segment files that are there
    /// were, also such as a merge has replaced; deletions, windows of time and logs are not known,
    /// nor are the recipe and the radius, which is 3 then.
    pub manifest: Option<String>,
    /// What is wrong with deletions or logs: what was deleted may be back, and what came behind the
    /// damage is lost.
    pub problems: Vec<String>,
    /// The segments of which something is lost or damaged.
    pub segments: Vec<SegmentLoss>,
}

/// What is damaged of a segment, and what is lost by that.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SegmentLoss {
    /// Its number.
    pub segment: u64,
    /// Fingerprints that it held.
    pub count: u64,
    /// Tables of which nothing can be read; a base, and tables of parts, count as such.
    pub tables: u64,
    /// Blocks that are damaged, of the other tables, or chunks of a base and of tables of parts.
    pub blocks: u64,
    /// Fingerprints that no table, and no base, holds in a sound block.
    pub fingerprints: u64,
    /// Fingerprints that were read, and left out since none of their ids is known.
    pub without_ids: u64,
    /// Ids that were not read: those of these fingerprints, of such as are lost, and others in
    /// damaged parts of the file of ids. `None` where the store has ids, and nobody can tell how
    /// many the segment held.
    pub ids: Option<u64>,
    /// Why tables or ids cannot be read.
    pub reasons: Vec<String>,
}

impl SegmentLoss {
    /// Nothing yet.
    pub(super) fn of(entry: &SegmentEntry) -> Self {
        let ids = entry.ids.is_none().then_some(0);
        Self { segment: entry.number, count: entry.count, ids, ..Self::default() }
    }

    /// Whether anything is damaged.
    pub(super) fn is_damaged(&self) -> bool {
        self.tables + self.blocks + self.fingerprints + self.without_ids > 0
            || self.ids != Some(0)
            || !self.reasons.is_empty()
    }
}

impl RepairReport {
    /// Whether all that was stored is in the new store, and nothing else.
    pub fn is_whole(&self) -> bool {
        let is_saved =
            |at: &SegmentLoss| at.fingerprints == 0 && at.without_ids == 0 && at.ids == Some(0);
        self.manifest.is_none() && self.problems.is_empty() && self.segments.iter().all(is_saved)
    }
}
