//! Which records a store does not hold yet.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fpstore::{Fingerprint, Snapshot, Writer};

use crate::failure::Failure;

/// Tells records that are new from such as are stored already: these would change nothing, and take
/// space.
pub(super) struct Fresh<F: Fingerprint> {
    snapshot: Snapshot<F>,
    has_ids: bool,
    seen: HashSet<(F, u64)>,
}

impl<F: Fingerprint> Fresh<F> {
    /// Compares with what is stored now; in a store with windows with what is stored in the window
    /// of `time`.
    pub(super) fn new(
        writer: &Writer<F>,
        window: Option<Duration>,
        time: SystemTime,
    ) -> Result<Self, Failure> {
        let snapshot = writer.snapshot();
        let has_ids = snapshot.has_ids();
        let snapshot = match window {
            Some(_) => {
                let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                let start = UNIX_EPOCH + Duration::from_secs(since);
                snapshot.between(start..start + Duration::from_secs(1))?
            }
            None => snapshot,
        };
        Ok(Self { snapshot, has_ids, seen: HashSet::new() })
    }

    /// Whether neither the store nor a record before has this one. Without ids the id is 0.
    pub(super) fn is_new(&mut self, fingerprint: F, id: u64) -> Result<bool, Failure> {
        Ok(self.seen.insert((fingerprint, id)) && !self.is_stored(fingerprint, id)?)
    }

    fn is_stored(&self, fingerprint: F, id: u64) -> Result<bool, Failure> {
        if self.snapshot.is_empty() {
            return Ok(false);
        }
        match self.has_ids {
            true => has_id(&self.snapshot, fingerprint, id),
            false => Ok(self.snapshot.contains(fingerprint)?),
        }
    }
}

/// Whether an id of a fingerprint is stored.
pub fn has_id<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    fingerprint: F,
    id: u64,
) -> Result<bool, Failure> {
    for stored in snapshot.ids(fingerprint)? {
        let stored = stored?;
        if stored >= id {
            return Ok(stored == id);
        }
    }
    Ok(false)
}
