//! A store that is written, and not visible yet.

use std::time::Instant;

use super::commit::Commit;
use super::summary::PackSummary;
use super::target::Target;
use crate::error::Result;
use crate::execution::{Meter, Phase};
use crate::storage::{Directory, Storage};

/// A pack whose store is written and durable, and not visible yet, from
/// [`PackSession::prepare`](crate::PackSession::prepare). Dropping it leaves what was there before.
pub struct PreparedPack {
    // Goes first: the directory goes only if it is empty.
    prepared: Prepared<Directory>,
    /// Locked until the end.
    _target: Target,
}

impl PreparedPack {
    pub(super) fn new(prepared: Prepared<Directory>, target: Target) -> Self {
        Self { prepared, _target: target }
    }

    /// Makes the store visible, in place of the one that was there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) where the file system refuses. There is no new store then, unless only the last
    /// sync failed.
    pub fn commit(self) -> Result<PackSummary> {
        self.prepared.commit()
    }
}

impl std::fmt::Debug for PreparedPack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedPack").finish_non_exhaustive()
    }
}

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
