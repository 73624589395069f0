//! The operations of a tail, in their order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use super::index::Index;
use super::pages::Pages;
use crate::fingerprint::{Fingerprint, shared};
use crate::format::Scope;

/// Operations that no segment holds yet.
pub(crate) struct Tail<F: Fingerprint> {
    /// The sequence of the first operation.
    pub(super) first_sequence: u64,
    pub(super) capacity: usize,
    pub(super) records: Pages<SharedRecord<F>>,
    pub(super) index: Index<F>,
    /// Of each fingerprint that something was deleted of, in their order.
    pub(super) deletions: RwLock<HashMap<F, Vec<TailDeletion>>>,
}

/// An insertion, as threads share it.
#[repr(C, align(32))]
pub(super) struct SharedRecord<F: Fingerprint> {
    pub(super) fingerprint: F::Shared,
    /// Id, window, and number of the operation.
    pub(super) words: [AtomicU64; 3],
}

impl<F: Fingerprint> Default for SharedRecord<F> {
    fn default() -> Self {
        Self { fingerprint: F::Shared::default(), words: Default::default() }
    }
}

/// A deletion in a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TailDeletion {
    /// Number of the operation.
    pub(super) operation: u64,
    pub(super) scope: Scope,
}

/// An insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TailRecord<F = u64> {
    pub(crate) fingerprint: F,
    pub(crate) id: u64,
    pub(crate) window: u64,
    /// Number of the operation.
    pub(crate) operation: u64,
}

impl<F: Fingerprint> Tail<F> {
    /// Gives the insertions, of the first `records`, within `k` of `fingerprint` to `found`, some perhaps
    /// several times.
    pub(super) fn search(&self, fingerprint: F, k: u32, records: u32, found: &mut dyn FnMut(u32)) {
        let is_near = |number: u32| {
            let record = self.records.get(number as usize);
            record.is_some_and(|at| shared::<F>(&at.fingerprint).distance(fingerprint) <= k)
        };
        let mut seen = Vec::new();
        let searched = self.index.search(fingerprint, k, records, |record| {
            // The first word of up to 64 bits is all.
            if record < records && (F::BITS <= u64::BITS || is_near(record)) {
                seen.push(record);
            }
        });
        if searched {
            seen.into_iter().for_each(found);
        } else {
            (0..records).filter(|&number| is_near(number)).for_each(found);
        }
    }

    /// Insertion `number`, which is there.
    pub(super) fn record(&self, number: u32) -> Option<TailRecord<F>> {
        let record = self.records.get(number as usize)?;
        let [id, window, operation] =
            [0, 1, 2].map(|word: usize| record.words[word].load(Ordering::Relaxed));
        Some(TailRecord { fingerprint: shared(&record.fingerprint), id, window, operation })
    }

    /// Whether `wanted` is true of a deletion that concerns `fingerprint`.
    pub(super) fn any_deletion(
        &self,
        fingerprint: F,
        wanted: impl FnMut(&TailDeletion) -> bool,
    ) -> bool {
        let deletions = self.deletions.read().unwrap_or_else(PoisonError::into_inner);
        deletions.get(&fingerprint).is_some_and(|all| all.iter().any(wanted))
    }

    /// All deletions, in any order.
    pub(super) fn deletions(&self) -> Vec<(F, TailDeletion)> {
        let deletions = self.deletions.read().unwrap_or_else(PoisonError::into_inner);
        let all = deletions.iter();
        all.flat_map(|(&fingerprint, some)| {
            some.iter().map(move |&deletion| (fingerprint, deletion))
        })
        .collect()
    }

    /// Bytes of memory, without the deletions.
    pub(super) fn bytes(&self) -> u64 {
        self.records.bytes() + self.index.bytes()
    }
}
