//! What a pack takes: fingerprints, or pairs of a fingerprint and an id.

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::IdKind;
use crate::names::{NameSorter, SortedNames};
use crate::record::Record;
use crate::sort::{Create, Sorted, Sorter, Spill};

/// Takes records, of one kind.
pub(super) enum Records<F: Fingerprint, T> {
    /// Nothing came so far.
    None,
    Fingerprints(Sorter<F, T>),
    Pairs(Sorter<F::WithId, T>),
    /// Fingerprints by the names that are their ids.
    Names(NameSorter<F, T>),
}

/// All records, sorted.
pub(super) enum SortedRecords<F: Fingerprint, T> {
    Fingerprints(Sorted<F, T>),
    Pairs(Sorted<F::WithId, T>),
    Names(SortedNames<F, T>),
}

impl<F: Fingerprint, T: Spill> Records<F, T> {
    /// Gets ready for records with ids or without, with room for `capacity` words, twice.
    ///
    /// # Errors
    ///
    /// [`Error::MixedIds`] if others came before.
    pub(super) fn admit(&mut self, ids: Option<IdKind>, capacity: usize) -> Result<()> {
        match (&self, ids) {
            (Records::None, None) => *self = Records::Fingerprints(sorter(capacity)),
            (Records::None, Some(IdKind::Number)) => *self = Records::Pairs(sorter(capacity)),
            (Records::None, Some(_)) => {
                // The pairs of fingerprints and numbers of names need as much.
                *self = Records::Names(NameSorter::new(capacity.saturating_mul(size_of::<u64>())));
            }
            (Records::Fingerprints(_), None) => {}
            (Records::Pairs(_) | Records::Names(_), Some(_)) => {}
            _ => return Err(Error::MixedIds),
        }
        Ok(())
    }

    /// Makes room; gives the bytes written.
    pub(super) fn spill(&mut self, create: Create<'_, T>) -> Result<u64> {
        match self {
            Records::None => Ok(0),
            Records::Fingerprints(sorter) => sorter.spill(create),
            Records::Pairs(sorter) => sorter.spill(create),
            Records::Names(sorter) => sorter.spill(create),
        }
    }

    /// Sorts what is there.
    pub(super) fn finish(self, create: Create<'_, T>) -> Result<SortedRecords<F, T>> {
        Ok(match self {
            Records::None => SortedRecords::Fingerprints(Sorted::Memory(Vec::new(), Vec::new())),
            Records::Fingerprints(sorter) => SortedRecords::Fingerprints(sorter.finish(create)?),
            Records::Pairs(sorter) => SortedRecords::Pairs(sorter.finish(create)?),
            Records::Names(sorter) => SortedRecords::Names(sorter.finish(create)?),
        })
    }
}

/// A sorter with room for so many words, twice.
pub(super) fn sorter<R: Record, T: Spill>(words: usize) -> Sorter<R, T> {
    Sorter::new(words / R::BYTES.div_ceil(size_of::<u64>()))
}
