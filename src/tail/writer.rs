//! Appends the operations of a log to its tails.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::records::{Tail, TailDeletion};
use super::view::TailView;
use crate::fingerprint::{Fingerprint, share};
use crate::format::{Change, LoggedId, LoggedOperation, Operation, Scope};
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

/// Insertions that a further tail has room for, at least and at most.
const LEAST: usize = 1 << 10;
const MOST: usize = 1 << 20;

/// The operations of one log.
pub(crate) struct Generation<F: Fingerprint = u64> {
    /// All but the last are full.
    tails: Vec<TailWriter<F>>,
    /// The names that ids are numbers of, in all of them.
    names: Option<Arc<LiveNames>>,
    /// Room for operations whose names have numbers.
    numbered: Vec<Operation<F>>,
}

impl<F: Fingerprint> Generation<F> {
    /// None so far; the first will have this sequence. There will be some `expected` insertions,
    /// whose ids are names or not.
    pub(crate) fn new(first_sequence: u64, expected: usize, named: bool) -> Self {
        let names = named.then(Arc::default);
        let first = TailWriter::new(first_sequence, expected.clamp(1, MOST), names.clone());
        Self { tails: vec![first], names, numbered: Vec::new() }
    }

    /// Adds operations.
    pub(crate) fn push(&mut self, operations: &[LoggedOperation<'_, F>]) {
        let mut numbered = std::mem::take(&mut self.numbered);
        numbered.clear();
        numbered.extend(operations.iter().map(|operation| {
            operation.with_id(match (operation.id, &self.names) {
                (LoggedId::Number(number), _) => number,
                // Of a fingerprint that is deleted with all its ids nobody asks which.
                (LoggedId::Name(_), None) => 0,
                (LoggedId::Name(name), Some(names)) => names.intern(name),
            })
        }));
        self.push_numbered(&numbered);
        self.numbered = numbered;
    }

    fn push_numbered(&mut self, mut operations: &[Operation<F>]) {
        while !operations.is_empty() {
            let records = self.records() as usize;
            let next_sequence = self.next_sequence();
            let Some(last) = self.tails.last_mut() else { return };
            let mut room = last.room();
            let fits = |operation: &&Operation<F>| {
                let takes = usize::from(operation.change == Change::Insert);
                room >= takes && {
                    room -= takes;
                    true
                }
            };
            let (some, rest) = operations.split_at(operations.iter().take_while(fits).count());
            last.push(some);
            operations = rest;
            if !rest.is_empty() {
                let sequence = next_sequence + some.len() as u64;
                let expected = records.clamp(LEAST, MOST);
                self.tails.push(TailWriter::new(sequence, expected, self.names.clone()));
            }
        }
    }

    /// The sequence of its first operation.
    pub(crate) fn first_sequence(&self) -> u64 {
        self.tails.first().map_or(0, TailWriter::first_sequence)
    }

    /// The sequence of the next operation.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.tails.last().map_or(0, TailWriter::next_sequence)
    }

    /// Number of insertions.
    pub(crate) fn records(&self) -> u64 {
        self.tails.iter().map(|tail| u64::from(tail.records())).sum()
    }

    /// Bytes of the names, each counted once.
    pub(crate) fn name_bytes(&self) -> u64 {
        self.names.as_ref().map_or(0, |names| names.name_bytes())
    }

    /// Bytes of memory that the names take.
    pub(crate) fn name_memory_bytes(&self) -> u64 {
        self.names.as_ref().map_or(0, |names| names.memory_bytes())
    }

    /// Number of operations.
    pub(crate) fn operations(&self) -> u64 {
        self.tails.iter().map(TailWriter::operations).sum()
    }

    /// What stands there now, the older first.
    pub(crate) fn views(&self) -> impl Iterator<Item = TailView<F>> {
        self.tails.iter().map(TailWriter::view)
    }
}
