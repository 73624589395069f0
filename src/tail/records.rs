//! The operations of a tail, in their order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::index::{Index, IndexEnd, Pages};
use crate::fingerprint::{Fingerprint, shared};
use crate::format::Scope;
use crate::names::LiveNames;
use crate::simd::{Level, Work};

/// To index a record takes as long as to compare so many: it touches a line of the cache or two for
/// each part, and records are compared in the order of memory.
const COMPARED_PER_INDEXED: u32 = 64;

/// Operations that no segment holds yet.
///
/// Searches index the records as they go: each compares those that are not indexed, and spends as
/// much time again on indexing. So who opens a long log for one search builds no index, and however
/// many searches there are, they take at most twice their time.
pub(crate) struct Tail<F: Fingerprint> {
    /// The sequence of the first operation.
    pub(super) first_sequence: u64,
    pub(super) capacity: usize,
    pub(super) records: Pages<SharedRecord<F>>,
    index: OnceLock<Index<F>>,
    /// So many of the first records are indexed.
    indexed: AtomicU32,
    /// Held by who indexes.
    end: Mutex<IndexEnd>,
    /// Of each fingerprint that something was deleted of, in their order.
    pub(super) deletions: RwLock<HashMap<F, Vec<TailDeletion>>>,
    /// The names that ids are numbers of.
    pub(super) names: Option<Arc<LiveNames>>,
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
    /// An empty tail with room for `capacity` insertions, whose first operation has this sequence.
    pub(super) fn new(first_sequence: u64, capacity: usize, names: Option<Arc<LiveNames>>) -> Self {
        Self {
            first_sequence,
            capacity,
            records: Pages::new(capacity),
            index: OnceLock::new(),
            indexed: AtomicU32::new(0),
            end: Mutex::default(),
            deletions: RwLock::default(),
            names,
        }
    }

    /// Gives the insertions, of the first `records`, within `k` of `fingerprint` to `found`, some
    /// perhaps several times.
    pub(super) fn search(&self, fingerprint: F, k: u32, records: u32, found: &mut dyn FnMut(u32)) {
        let indexed = self.indexed.load(Ordering::Acquire).min(records);
        Level::best().run(Searching { tail: self, fingerprint, k, records, indexed, found });
        self.index(records, (records - indexed) / COMPARED_PER_INDEXED);
    }

    /// Indexes at most so many more of the first `records`, unless somebody else does it.
    pub(super) fn index(&self, records: u32, most: u32) {
        if most == 0 {
            return;
        }
        let Ok(mut end) = self.end.try_lock() else { return };
        let index = self.index.get_or_init(|| Index::new(self.capacity));
        let first = self.indexed.load(Ordering::Relaxed);
        for number in first..records.min(first.saturating_add(most)) {
            let Some(record) = self.records.get(number as usize) else { return };
            if !index.add(shared(&record.fingerprint), number, &mut end) {
                return;
            }
            self.indexed.store(number + 1, Ordering::Release);
        }
    }

    #[cfg(test)]
    pub(super) fn indexed(&self) -> u32 {
        self.indexed.load(Ordering::Acquire)
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
        self.records.bytes() + self.index.get().map_or(0, Index::bytes)
    }
}

/// A search among the first records of a tail, of which some are indexed.
struct Searching<'a, F: Fingerprint> {
    tail: &'a Tail<F>,
    fingerprint: F,
    k: u32,
    records: u32,
    indexed: u32,
    found: &'a mut dyn FnMut(u32),
}

impl<F: Fingerprint> Work for Searching<'_, F> {
    type Output = ();

    #[inline(always)]
    fn work(self) {
        let Self { tail, fingerprint, k, records, indexed, found } = self;
        let is_near =
            |record: &SharedRecord<F>| shared::<F>(&record.fingerprint).distance(fingerprint) <= k;
        let mut seen = Vec::new();
        let searched = indexed == 0
            || tail.index.get().is_some_and(|index| {
                index.search(fingerprint, k, indexed, |number| {
                    // The first word of up to 64 bits is all.
                    let record = tail.records.get(number as usize);
                    if number < indexed && (F::BITS <= u64::BITS || record.is_some_and(is_near)) {
                        seen.push(number);
                    }
                })
            });
        let compared = if searched { indexed..records } else { 0..records };
        if searched {
            seen.into_iter().for_each(&mut *found);
        }
        for (first, run) in tail.records.runs(compared.start as usize..compared.end as usize) {
            for (number, record) in (first as u32..).zip(run) {
                if is_near(record) {
                    found(number);
                }
            }
        }
    }
}
