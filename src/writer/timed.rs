//! What a writer does at a given time instead of now.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::handle::{Verdict, Writer};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::AsId;

impl<F: Fingerprint> Writer<F> {
    /// As [`Self::insert`], at a time: in the window of it.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`]; [`Error::InvalidOption`] if the store has no windows.
    pub fn insert_at(&self, fingerprint: F, id: impl AsId, time: SystemTime) -> Result<()> {
        self.insert_batch_at(&[(fingerprint, id)], time)
    }

    /// As [`Self::insert_batch`], at a time.
    ///
    /// # Errors
    ///
    /// As [`Self::insert_batch`]; [`Error::InvalidOption`] if the store has no windows.
    pub fn insert_batch_at<I: AsId>(&self, pairs: &[(F, I)], time: SystemTime) -> Result<()> {
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
        id: impl AsId,
        k: u32,
        time: SystemTime,
    ) -> Result<Verdict<F>> {
        self.check_and_insert_into(self.window_of(time)?, fingerprint, id, k, None)
    }

    /// As [`Self::check_and_insert_at`], compared with nothing older than `since`: with the windows
    /// from that of `since` on, which are those of [`Snapshot::between`](crate::Snapshot::between)
    /// that begin there.
    ///
    /// # Errors
    ///
    /// As [`Self::check_and_insert_at`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use fpstore::{StoreOptions, Verdict};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// let writer = StoreOptions::new().window(Some(day)).create(directory.path().join("news"))?;
    /// let now = SystemTime::now();
    /// writer.insert_at(0b1011, 1, now - 30 * day)?;
    ///
    /// let verdict = writer.check_and_insert_since(0b1010, 2, 3, now, now - 7 * day)?;
    /// assert_eq!(verdict, Verdict::Inserted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_and_insert_since(
        &self,
        fingerprint: F,
        id: impl AsId,
        k: u32,
        time: SystemTime,
        since: SystemTime,
    ) -> Result<Verdict<F>> {
        let (window, first) = (self.window_of(time)?, self.window_of(since)?);
        self.check_and_insert_into(window, fingerprint, id, k, Some(first))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::simulated::Random;
    use crate::{StoreOptions, WriterOptions};

    #[test]
    fn what_is_near_and_not_too_old_is_what_a_list_of_all_records_tells() {
        const WINDOW: u64 = 10;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let options = WriterOptions::new().background(false).tail_records(64);
        let create = StoreOptions::new().window(Some(Duration::from_secs(WINDOW))).writer(options);
        let writer = create.create(&path).unwrap();
        let at = |second: u64| UNIX_EPOCH + Duration::from_secs(second);
        let mut random = Random::new(5);
        let mut stored: Vec<(u64, u64)> = Vec::new();
        let (mut near, mut expired) = (0, 0);
        for id in 0..1500 {
            // Few values, so that most of them are near others.
            let fingerprint = random.next() & 0x1f1;
            let (time, since) = (random.next() % 200, random.next() % 200);
            let k = (random.next() % 3) as u32;
            let mut expected: Vec<(u32, u64)> = stored
                .iter()
                .filter(|(_, time)| time / WINDOW >= since / WINDOW)
                .map(|(stored, _)| ((stored ^ fingerprint).count_ones(), *stored))
                .filter(|(distance, _)| *distance <= k)
                .collect();
            expected.sort_unstable();
            expected.dedup();
            let verdict =
                writer.check_and_insert_since(fingerprint, id, k, at(time), at(since)).unwrap();
            match verdict {
                Verdict::Inserted => {
                    assert_eq!(expected, [], "{id}");
                    stored.push((fingerprint, time));
                }
                Verdict::Near(found) => {
                    near += 1;
                    let found: Vec<_> =
                        found.iter().map(|found| (found.distance, found.fingerprint)).collect();
                    assert_eq!(found, expected, "{id}");
                }
            }
            match random.next() % 40 {
                0 => writer.flush().unwrap(),
                1 => writer.merge().unwrap(),
                2 => {
                    writer.delete_fingerprint(fingerprint).unwrap();
                    stored.retain(|(stored, _)| *stored != fingerprint);
                }
                3 => {
                    // What is dropped are whole windows of segments.
                    writer.flush().unwrap();
                    let before = id / 20;
                    writer.expire(at(before)).unwrap();
                    expired += stored.len();
                    stored.retain(|(_, time)| (time / WINDOW + 1) * WINDOW > before);
                    expired -= stored.len();
                }
                _ => {}
            }
        }
        assert!(near > 100 && stored.len() > 50 && expired > 0, "{near} {expired}");
    }
}
