//! A store that is written, and not visible yet.

use std::time::Instant;

use super::commit::Commit;
use super::summary::PackSummary;
use crate::error::Result;
use crate::execution::{Meter, Phase};
use crate::storage::Storage;

/// A store whose files are written, and which its manifest would make visible.
pub(super) struct Prepared<S: Storage> {
    pub(super) commit: Commit<S>,
    pub(super) summary: PackSummary,
    pub(super) meter: Meter,
}

impl<S: Storage> Prepared<S> {
    /// Makes the store visible.
    pub(super) fn commit(self) -> Result<PackSummary> {
        let Self { commit, mut summary, meter } = self;
        let start = Instant::now();
        commit.publish()?;
        let keys = summary.distinct * summary.tables.len() as u64;
        meter.tell(Phase::Sync, keys);
        summary.times.sync += start.elapsed();
        Ok(summary)
    }
}
