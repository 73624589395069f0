//! Which records a store does not hold yet.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fpstore::{AsId, Execution, Fingerprint, Snapshot, Writer};

use crate::failure::Failure;

/// Records that are remembered; those with numbers fill a table of a million places, and names take
/// more.
const REMEMBERED: usize = 900_000;
const REMEMBERED_NAMES: usize = 200_000;
/// Records from which on a batch is asked, which begins a thread.
const BATCH: usize = 256;

/// Tells records that are new from such as are stored already: these would change nothing, and take
/// space.
///
/// What the command has inserted itself is remembered, since to look it up in the log takes
/// longest; and what the store held before is asked in batches. The store is looked at anew when it
/// has got a segment, which lets go of the files that merges have replaced, and once many records
/// are remembered.
pub(super) struct Fresh<F: Fingerprint, I = u64> {
    /// What was stored when it was looked at.
    stored: Option<Stored<F>>,
    /// Records since then.
    seen: HashSet<(F, I), BuildHasherDefault<Mixer>>,
}

/// What a store holds in the window of the records, or at all.
struct Stored<F: Fingerprint> {
    snapshot: Snapshot<F>,
    /// When the window begins; 0 without windows.
    since: u64,
}

impl<F: Fingerprint, I: AsId + Hash + Eq + Clone> Fresh<F, I> {
    pub(super) fn new() -> Self {
        Self { stored: None, seen: HashSet::default() }
    }

    /// Leaves of records those that neither the store nor a record before has; in a store with
    /// windows compares with what is stored in the window of `time`. Without ids all of these are
    /// 0.
    pub(super) fn retain_new(
        &mut self,
        records: &mut Vec<(F, I)>,
        writer: &Writer<F>,
        (window, time): (Option<Duration>, SystemTime),
    ) -> Result<(), Failure> {
        let is_named = writer.snapshot().id_kind().is_some_and(fpstore::IdKind::is_named);
        let most = if is_named { REMEMBERED_NAMES } else { REMEMBERED };
        let now = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let since = window.map_or(0, |window| now - now % window.as_secs().max(1));
        let snapshot = writer.snapshot();
        let is_known = |stored: &Stored<F>| {
            (stored.since, stored.snapshot.generation()) == (since, snapshot.generation())
        };
        if self.seen.len() >= most || !self.stored.as_ref().is_some_and(is_known) {
            self.seen.clear();
            let start = UNIX_EPOCH + Duration::from_secs(since);
            let snapshot = match window {
                Some(_) => snapshot.between(start..start + Duration::from_secs(1))?,
                None => snapshot,
            };
            self.stored = Some(Stored { snapshot, since });
        }
        records.retain(|record| self.seen.insert(record.clone()));
        let Some(Stored { snapshot, .. }) = &self.stored else { return Ok(()) };
        if snapshot.is_empty() {
            return Ok(());
        }
        let has_ids = snapshot.has_ids();
        let mut is_stored = vec![false; records.len()];
        if records.len() < BATCH {
            for (is_stored, (fingerprint, _)) in is_stored.iter_mut().zip(&*records) {
                *is_stored = snapshot.contains(*fingerprint)?;
            }
        } else {
            let fingerprints: Vec<F> = records.iter().map(|record| record.0).collect();
            let execution = Execution::new().threads(1);
            let batch = snapshot.batch(0).execution(execution).ordered(false).limit(0);
            batch.run(&fingerprints, |answer| is_stored[answer.query] = answer.count > 0)?;
        }
        for (is_stored, (fingerprint, id)) in is_stored.iter_mut().zip(&*records) {
            *is_stored = *is_stored && (!has_ids || snapshot.contains_id(*fingerprint, id)?);
        }
        let mut is_stored = is_stored.into_iter();
        records.retain(|_| is_stored.next() == Some(false));
        Ok(())
    }
}

/// Mixes the words of records by multiplication: they come from files of the user, which gains
/// nothing by making them meet.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
