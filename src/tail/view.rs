//! A tail at some moment, and what deletions leave of a fingerprint.

use std::ops::Range;
use std::sync::Arc;

use super::records::{Tail, TailRecord};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::{Deletion, Scope};
use crate::names::Naming;

/// The first operations of a tail.
#[derive(Clone)]
pub(crate) struct TailView<F: Fingerprint = u64> {
    tail: Arc<Tail<F>>,
    operations: u64,
    records: u32,
    next_id: u64,
    /// Only insertions with a window in this range are seen.
    windows: Range<u64>,
}

impl<F: Fingerprint> TailView<F> {
    pub(super) fn new(tail: Arc<Tail<F>>, operations: u64, records: u32, next_id: u64) -> Self {
        Self { tail, operations, records, next_id, windows: 0..u64::MAX }
    }

    /// What of it lies in these windows; its deletions hold for all.
    pub(crate) fn within(&self, windows: Range<u64>) -> Self {
        Self { windows, ..self.clone() }
    }

    /// Whether there are no operations.
    pub(crate) fn is_empty(&self) -> bool {
        self.operations == 0
    }

    /// Number of insertions, also of those that are deleted.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.records)
    }

    /// The sequence behind the last operation.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.tail.first_sequence + self.operations
    }

    /// Greater than all ids that were inserted, also those that are deleted; 0 if none were.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Whether there are deletions.
    #[inline]
    pub(crate) fn has_deletions(&self) -> bool {
        self.operations > u64::from(self.records)
    }

    /// Whether a record is of the windows, and not deleted later in this tail.
    fn is_alive(&self, record: &TailRecord<F>) -> bool {
        self.windows.contains(&record.window)
            && !(self.has_deletions()
                && self.tail.any_deletion(record.fingerprint, |deletion| {
                    (record.operation..self.operations).contains(&deletion.operation)
                        && [Scope::Whole, Scope::Id(record.id)].contains(&deletion.scope)
                }))
    }

    /// Gives the insertions that hold and are within `k` of `fingerprint`, some perhaps several
    /// times.
    pub(crate) fn search(&self, fingerprint: F, k: u32, found: &mut dyn FnMut(TailRecord<F>)) {
        self.tail.search(fingerprint, k, self.records, &mut |number| {
            if let Some(record) = self.tail.record(number).filter(|record| self.is_alive(record)) {
                found(record);
            }
        });
    }

    /// All insertions that hold, in their order.
    pub(crate) fn records(&self) -> impl Iterator<Item = TailRecord<F>> {
        let records = (0..self.records).filter_map(|number| self.tail.record(number));
        records.filter(|record| self.is_alive(record))
    }

    /// Whether anything is deleted of `fingerprint` that was written before this tail.
    pub(crate) fn touches(&self, fingerprint: F) -> bool {
        self.has_deletions()
            && self.tail.any_deletion(fingerprint, |deletion| deletion.operation < self.operations)
    }

    /// Whether a record that was written before this tail, to `earlier`, is deleted.
    pub(crate) fn deletes(&self, record: &TailRecord<F>, earlier: &Self) -> bool {
        if !self.touches(record.fingerprint) {
            return false;
        }
        let id = match (&earlier.tail.names, &self.tail.names) {
            (Some(of), Some(own)) if !Arc::ptr_eq(of, own) => {
                of.with(record.id, |name| own.find(name))
            }
            _ => Some(record.id),
        };
        self.tail.any_deletion(record.fingerprint, |deletion| {
            deletion.operation < self.operations
                && (deletion.scope == Scope::Whole || id.map(Scope::Id) == Some(deletion.scope))
        })
    }

    /// What the numbers of its ids stand for.
    pub(crate) fn naming(&self) -> Naming {
        match &self.tail.names {
            Some(names) => Naming::Live(Arc::clone(names)),
            None => Naming::Numbers,
        }
    }

    /// What is hidden of a fingerprint in a segment with this naming that was written before this
    /// tail.
    pub(crate) fn hides(&self, fingerprint: F, naming: &Naming) -> Result<Hidden> {
        let mut ids = Vec::new();
        let is_whole = self.tail.any_deletion(fingerprint, |deletion| {
            let counts = deletion.operation < self.operations;
            if let Scope::Id(id) = deletion.scope {
                ids.extend(counts.then_some(id));
            }
            counts && deletion.scope == Scope::Whole
        });
        if is_whole {
            return Ok(Hidden::Whole);
        }
        Hidden::of_ids(ids.iter().map(|&id| (id, self.naming())), naming)
    }

    /// The deletions, ascending, of each fingerprint and scope the last.
    pub(crate) fn deletions(&self) -> Vec<Deletion<F>> {
        if !self.has_deletions() {
            return Vec::new();
        }
        let all = self.tail.deletions().into_iter();
        let mut all: Vec<Deletion<F>> = all
            .filter(|(_, deletion)| deletion.operation < self.operations)
            .map(|(fingerprint, deletion)| Deletion {
                fingerprint,
                scope: deletion.scope,
                sequence: self.tail.first_sequence + deletion.operation,
            })
            .collect();
        all.sort_unstable_by_key(|deletion| (deletion.key(), std::cmp::Reverse(deletion.sequence)));
        all.dedup_by_key(|deletion| deletion.key());
        all
    }

    /// Bytes of memory, without the deletions.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.tail.bytes()
    }
}

/// What is hidden of a fingerprint where it was written before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    Nothing,
    /// All of it.
    Whole,
    /// The ids with these numbers, ascending.
    Ids(Vec<u64>),
}

impl Hidden {
    /// Some ids, each by a naming of its own, in a segment with the naming `to`.
    pub(crate) fn of_ids(ids: impl Iterator<Item = (u64, Naming)>, to: &Naming) -> Result<Self> {
        let mut numbers = Vec::new();
        for (id, naming) in ids {
            numbers.extend(naming.translate(id, to)?);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(if numbers.is_empty() { Self::Nothing } else { Self::Ids(numbers) })
    }

    /// What is hidden by both.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, hidden) | (hidden, Self::Nothing) => hidden,
            (Self::Ids(mut ids), Self::Ids(others)) => {
                ids.extend(others);
                ids.sort_unstable();
                ids.dedup();
                Self::Ids(ids)
            }
            _ => Self::Whole,
        }
    }
}
