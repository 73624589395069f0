//! The operations of a tail, in their order.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, RwLock};

use super::index::Index;
use super::pages::Pages;
use crate::format::Scope;

/// Operations that no segment holds yet.
pub(crate) struct Tail {
    /// The sequence of the first operation.
    pub(super) first_sequence: u64,
    pub(super) capacity: usize,
    /// Fingerprint, id, window, and number of the operation, of each insertion.
    pub(super) records: Pages<4>,
    pub(super) index: Index,
    /// Of each fingerprint that something was deleted of, in their order.
    pub(super) deletions: RwLock<HashMap<u64, Vec<TailDeletion>>>,
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
pub(crate) struct TailRecord {
    pub(crate) fingerprint: u64,
    pub(crate) id: u64,
    pub(crate) window: u64,
    /// Number of the operation.
    pub(crate) operation: u64,
}

impl Tail {
    /// Gives the insertions, of the first `records`, within `k` of `fingerprint` to `found`, some perhaps
    /// several times.
    pub(super) fn search(
        &self,
        fingerprint: u64,
        k: u32,
        records: u32,
        found: &mut dyn FnMut(u32, u64),
    ) {
        let mut seen = Vec::new();
        let searched = self.index.search(fingerprint, k, records, |record, stored| {
            if record < records {
                seen.push((record, stored));
            }
        });
        if searched {
            seen.into_iter().for_each(|(record, stored)| found(record, stored));
            return;
        }
        for number in 0..records {
            let Some(record) = self.records.get(number as usize) else { return };
            let stored = record[0].load(Ordering::Relaxed);
            if (stored ^ fingerprint).count_ones() <= k {
                found(number, stored);
            }
        }
    }

    /// Insertion `number`, which is there.
    pub(super) fn record(&self, number: u32) -> Option<TailRecord> {
        let record = self.records.get(number as usize)?;
        let [fingerprint, id, window, operation] =
            [0, 1, 2, 3].map(|word: usize| record[word].load(Ordering::Relaxed));
        Some(TailRecord { fingerprint, id, window, operation })
    }

    /// Whether `wanted` is true of a deletion that concerns `fingerprint`.
    pub(super) fn any_deletion(
        &self,
        fingerprint: u64,
        wanted: impl FnMut(&TailDeletion) -> bool,
    ) -> bool {
        let deletions = self.deletions.read().unwrap_or_else(PoisonError::into_inner);
        deletions.get(&fingerprint).is_some_and(|all| all.iter().any(wanted))
    }

    /// All deletions, in any order.
    pub(super) fn deletions(&self) -> Vec<(u64, TailDeletion)> {
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
