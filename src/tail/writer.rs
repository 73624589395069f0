//! Appends operations to a tail.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::records::{Tail, TailDeletion};
use super::view::TailView;
use crate::fingerprint::{Fingerprint, share};
use crate::format::{Change, Operation, Scope};
use crate::names::LiveNames;

/// Writes a tail; there is one for each.
pub(crate) struct TailWriter<F: Fingerprint> {
    tail: Arc<Tail<F>>,
    operations: u64,
    records: u32,
    /// Greater than all ids that were inserted; 0 if there are none.
    next_id: u64,
}

impl<F: Fingerprint> TailWriter<F> {
    /// An empty tail with room for `capacity` insertions, whose first operation has this sequence.
    /// Its ids are numbers of `names`, if there are some.
    pub(crate) fn new(first_sequence: u64, capacity: usize, names: Option<Arc<LiveNames>>) -> Self {
        let capacity = capacity.clamp(1, u32::MAX as usize - 1);
        Self {
            tail: Arc::new(Tail::new(first_sequence, capacity, names)),
            operations: 0,
            records: 0,
            next_id: 0,
        }
    }

    /// The sequence of the next operation.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.tail.first_sequence + self.operations
    }

    /// The sequence of its first operation.
    pub(crate) fn first_sequence(&self) -> u64 {
        self.tail.first_sequence
    }

    /// Number of operations.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Number of insertions.
    pub(crate) fn records(&self) -> u32 {
        self.records
    }

    /// Insertions that there is room for.
    pub(crate) fn room(&self) -> usize {
        self.tail.capacity - self.records as usize
    }

    /// Adds operations, which are seen together. There is [room](Self::room) for them.
    pub(crate) fn push(&mut self, operations: &[Operation<F>]) {
        for operation in operations {
            let number = self.operations;
            match operation.change {
                Change::Insert => self.insert(operation, number),
                Change::Delete => {
                    self.delete(operation.fingerprint, Scope::Id(operation.id), number)
                }
                Change::DeleteFingerprint => {
                    self.delete(operation.fingerprint, Scope::Whole, number);
                }
            }
            self.operations += 1;
        }
    }

    fn insert(&mut self, operation: &Operation<F>, number: u64) {
        let Operation { fingerprint, id, window, .. } = *operation;
        let Some(record) = self.tail.records.get_or_grow(self.records as usize) else { return };
        share(fingerprint, &record.fingerprint);
        for (word, value) in record.words.iter().zip([id, window, number]) {
            word.store(value, Ordering::Relaxed);
        }
        // Whoever gets a view with it gets it by a lock, which makes the words above visible.
        self.records += 1;
        if self.tail.names.is_none() {
            self.next_id = self.next_id.max(id.saturating_add(1));
        }
    }

    fn delete(&mut self, fingerprint: F, scope: Scope, operation: u64) {
        let deletions = self.tail.deletions.write();
        let mut deletions = deletions.unwrap_or_else(PoisonError::into_inner);
        deletions.entry(fingerprint).or_default().push(TailDeletion { operation, scope });
    }

    /// Indexes so many more records, as far as they are there.
    #[cfg(test)]
    pub(super) fn index(&self, more: u32) {
        self.tail.index(self.records, more);
    }

    /// How many records are indexed.
    #[cfg(test)]
    pub(super) fn indexed(&self) -> u32 {
        self.tail.indexed()
    }

    /// What stands there now.
    pub(crate) fn view(&self) -> TailView<F> {
        TailView::new(Arc::clone(&self.tail), self.operations, self.records, self.next_id)
    }
}
