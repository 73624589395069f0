//! A pack into any storage, for who is in the pool of threads that it is to use.

use std::path::Path;
use std::sync::Arc;

use super::intake::Intake;
use super::options::Packer;
use super::standing::Standing;
use super::summary::PackSummary;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::id::AsId;
use crate::storage::Storage;

/// A pack into a directory that is locked. Dropping it leaves what was there before.
pub(crate) struct Packing<F: Fingerprint, S: Storage> {
    intake: Intake<F, S>,
    standing: Standing,
}

impl<F: Fingerprint, S: Storage> Packing<F, S> {
    /// Removes what a stopped writer left, and begins.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io).
    pub(crate) fn start(packer: Packer<F>, path: &Path, storage: Arc<S>) -> Result<Self> {
        let capacity = packer.capacity(rayon::current_num_threads());
        Self::within(packer, path, storage, capacity)
    }

    /// As [`Self::start`], with room for so many words, twice.
    pub(super) fn within(
        packer: Packer<F>,
        path: &Path,
        storage: Arc<S>,
        capacity: usize,
    ) -> Result<Self> {
        let intake = Intake::new(packer, path, storage, capacity);
        let standing = intake.pack.clear()?;
        Ok(Self { intake, standing })
    }

    /// As [`PackSession::extend`](crate::PackSession::extend).
    pub(crate) fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        self.intake.pack.meter.check()?;
        self.intake.admit()?;
        let mut rest = self.intake.fill(fingerprints);
        while !rest.is_empty() {
            self.intake.spill(&self.standing)?;
            rest = self.intake.fill(rest);
        }
        Ok(())
    }

    /// As [`PackSession::extend_with_ids`](crate::PackSession::extend_with_ids).
    pub(crate) fn extend_with_ids<I: AsId>(&mut self, pairs: &[(F, I)]) -> Result<()> {
        self.intake.pack.meter.check()?;
        self.intake.admit_ids(pairs)?;
        let mut rest = self.intake.fill_ids(pairs)?;
        while !rest.is_empty() {
            self.intake.spill(&self.standing)?;
            rest = self.intake.fill_ids(rest)?;
        }
        Ok(())
    }

    /// Writes the store and makes it visible.
    ///
    /// # Errors
    ///
    /// As [`PackSession::finish`](crate::PackSession::finish).
    pub(crate) fn finish(self) -> Result<PackSummary> {
        self.intake.sort()?.write(self.standing)?.commit()
    }
}
