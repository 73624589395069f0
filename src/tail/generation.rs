//! The operations of one log, in as many tails as they need.

use std::sync::Arc;

use super::view::TailView;
use super::writer::TailWriter;
use crate::fingerprint::Fingerprint;
use crate::format::{Change, LoggedId, LoggedOperation, Operation};
use crate::names::LiveNames;

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
