//! What a writer does at a given time instead of now.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::handle::{Verdict, Writer};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

impl<F: Fingerprint> Writer<F> {
    /// As [`Self::insert`], at a time: in the window of it.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`]; [`Error::InvalidOption`] if the store has no windows.
    pub fn insert_at(
        &self,
        fingerprint: F,
        id: impl Into<Option<u64>>,
        time: SystemTime,
    ) -> Result<()> {
        self.insert_into(self.window_of(time)?, fingerprint, id.into())
    }

    /// As [`Self::insert_batch`], at a time.
    ///
    /// # Errors
    ///
    /// As [`Self::insert_batch`]; [`Error::InvalidOption`] if the store has no windows.
    pub fn insert_batch_at(&self, pairs: &[(F, u64)], time: SystemTime) -> Result<()> {
        self.insert_batch_into(self.window_of(time)?, pairs)
    }

    /// As [`Self::insert_fingerprints`], at a time.
    ///
    /// # Errors
    ///
    /// As [`Self::insert_batch_at`].
    pub fn insert_fingerprints_at(&self, fingerprints: &[F], time: SystemTime) -> Result<()> {
        self.insert_fingerprints_into(self.window_of(time)?, fingerprints)
    }

    /// As [`Self::check_and_insert`], at a time. What is near counts whenever it was inserted.
    ///
    /// # Errors
    ///
    /// As [`Self::check_and_insert`]; [`Error::InvalidOption`] if the store has no windows.
    pub fn check_and_insert_at(
        &self,
        fingerprint: F,
        id: impl Into<Option<u64>>,
        k: u32,
        time: SystemTime,
    ) -> Result<Verdict<F>> {
        self.check_and_insert_into(self.window_of(time)?, fingerprint, id.into(), k)
    }

    pub(super) fn window_of(&self, time: SystemTime) -> Result<u64> {
        let no_windows = || Error::InvalidOption {
            option: "time",
            value: format!("{time:?}"),
            expected: "the store has no windows of time".to_string(),
        };
        let seconds = self.core().window_seconds.ok_or_else(no_windows)?;
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Ok(since.as_secs() / seconds.max(1))
    }
}
