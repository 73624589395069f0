//! What a pack takes: fingerprints, or pairs of a fingerprint and an id.

use crate::error::{Error, Result};
use crate::sort::{Create, Sorted, Sorter, Spill};

/// Takes records, of one kind.
pub(super) enum Records<F> {
    /// Nothing came so far.
    None,
    Fingerprints(Sorter<u64, F>),
    Pairs(Sorter<[u64; 2], F>),
}

/// All records, sorted.
pub(super) enum SortedRecords<F> {
    Fingerprints(Sorted<u64, F>),
    Pairs(Sorted<[u64; 2], F>),
}

impl<F: Spill> Records<F> {
    /// Gets ready for records with ids or without, with room for `capacity` fingerprints, twice.
    ///
    /// # Errors
    ///
    /// [`Error::MixedIds`] if others came before.
    pub(super) fn admit(&mut self, with_ids: bool, capacity: usize) -> Result<()> {
        match (&self, with_ids) {
            (Records::None, false) => *self = Records::Fingerprints(Sorter::new(capacity)),
            (Records::None, true) => *self = Records::Pairs(Sorter::new(capacity / 2)),
            (Records::Fingerprints(_), false) | (Records::Pairs(_), true) => {}
            _ => {
                return Err(Error::MixedIds);
            }
        }
        Ok(())
    }

    /// Makes room; gives the bytes written.
    pub(super) fn spill(&mut self, create: Create<'_, F>) -> Result<u64> {
        match self {
            Records::None => Ok(0),
            Records::Fingerprints(sorter) => sorter.spill(create),
            Records::Pairs(sorter) => sorter.spill(create),
        }
    }

    /// Sorts what is there.
    pub(super) fn finish(self, create: Create<'_, F>) -> Result<SortedRecords<F>> {
        Ok(match self {
            Records::None => SortedRecords::Fingerprints(Sorted::Memory(Vec::new(), Vec::new())),
            Records::Fingerprints(sorter) => SortedRecords::Fingerprints(sorter.finish(create)?),
            Records::Pairs(sorter) => SortedRecords::Pairs(sorter.finish(create)?),
        })
    }
}
