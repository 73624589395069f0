//! The operations of one log, in as many tails as they need.

use super::view::TailView;
use super::writer::TailWriter;
use crate::fingerprint::Fingerprint;
use crate::format::{Change, Operation};

/// Insertions that a further tail has room for, at least and at most.
const LEAST: usize = 1 << 10;
const MOST: usize = 1 << 20;

/// The operations of one log.
pub(crate) struct Generation<F: Fingerprint = u64> {
    /// All but the last are full.
    tails: Vec<TailWriter<F>>,
}

impl<F: Fingerprint> Generation<F> {
    /// None so far; the first will have this sequence. There will be some `expected` insertions.
    pub(crate) fn new(first_sequence: u64, expected: usize) -> Self {
        Self { tails: vec![TailWriter::new(first_sequence, expected.clamp(1, MOST))] }
    }

    /// Adds operations.
    pub(crate) fn push(&mut self, mut operations: &[Operation<F>]) {
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
                self.tails.push(TailWriter::new(sequence, records.clamp(LEAST, MOST)));
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

    /// Number of operations.
    pub(crate) fn operations(&self) -> u64 {
        self.tails.iter().map(TailWriter::operations).sum()
    }

    /// What stands there now, the older first.
    pub(crate) fn views(&self) -> impl Iterator<Item = TailView<F>> {
        self.tails.iter().map(TailWriter::view)
    }
}
