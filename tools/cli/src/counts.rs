//! How many fingerprints a store holds, for who prints it.

use fpstore::{Fingerprint, Snapshot};

use crate::failure::Failure;
use crate::units;

/// So many are counted exactly, in a tenth of a second; of more it is told how many they are at
/// most.
const COUNTED: u64 = 1 << 24;

/// A number of distinct fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub fingerprints: u64,
    /// Else there are at most so many: several segments may hold the same ones, and deleted ones
    /// count.
    pub exact: bool,
}

impl Count {
    /// That of a snapshot.
    pub fn of<F: Fingerprint>(snapshot: &Snapshot<F>) -> Result<Self, Failure> {
        let most = snapshot.len();
        if most <= COUNTED || is_immediate(snapshot)? {
            return Ok(Self { fingerprints: snapshot.count()?, exact: true });
        }
        Ok(Self { fingerprints: most, exact: false })
    }
}

/// Whether nothing is read to count.
fn is_immediate<F: Fingerprint>(snapshot: &Snapshot<F>) -> Result<bool, Failure> {
    let stats = snapshot.stats()?;
    let is_settled =
        |living: &fpstore::stats::LivingStats| living.log_operations + living.deletions == 0;
    Ok(stats.segments.len() <= 1 && stats.living.as_ref().is_none_or(is_settled))
}

impl std::fmt::Display for Count {
    /// 1,234 fingerprints.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let most = if self.exact { "" } else { "at most " };
        write!(f, "{most}{}", units::plural(self.fingerprints, "fingerprint"))
    }
}
