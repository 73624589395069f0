//! Iterators over the fingerprints of a snapshot.

use super::contents::Snapshot;
use super::cursor::{Cursor, Decode};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::ids::Ids;

/// The fingerprints of a [`Snapshot`], ascending and each once; ends after the first error.
pub struct Iter<F: Fingerprint = u64> {
    cursor: Result<Cursor<F>, Option<Error>>,
    /// Fingerprints that come next, from `at` on.
    ready: Vec<F>,
    at: usize,
}

impl<F: Fingerprint> Iter<F> {
    pub(super) fn new(snapshot: &Snapshot<F>, start: F) -> Self {
        let cursor = Cursor::new(snapshot, start, Decode::Alone).map_err(Some);
        Self { cursor, ready: Vec::new(), at: 0 }
    }

    /// Brings more fingerprints; `None` at the end.
    #[cold]
    fn refill(&mut self) -> Option<Result<F>> {
        self.at = 0;
        let filled = match &mut self.cursor {
            Ok(cursor) => cursor.next_piece(&mut self.ready),
            Err(error) => error.take().map_or(Ok(()), Err),
        };
        if let Err(error) = filled {
            self.cursor = Err(None);
            self.ready.clear();
            return Some(Err(error));
        }
        let first = self.ready.first()?;
        self.at = 1;
        Some(Ok(*first))
    }
}

impl<F: Fingerprint> Iterator for Iter<F> {
    type Item = Result<F>;

    #[inline]
    fn next(&mut self) -> Option<Result<F>> {
        match self.ready.get(self.at) {
            Some(&fingerprint) => {
                self.at += 1;
                Some(Ok(fingerprint))
            }
            None => self.refill(),
        }
    }

    /// As calling [`Self::next`] again and again, and faster.
    #[inline]
    fn fold<B, G: FnMut(B, Result<F>) -> B>(mut self, init: B, mut f: G) -> B {
        let mut folded = init;
        loop {
            for &fingerprint in self.ready.get(self.at..).unwrap_or_default() {
                folded = f(folded, Ok(fingerprint));
            }
            self.at = self.ready.len();
            match self.refill() {
                Some(next) => folded = f(folded, next),
                None => return folded,
            }
        }
    }
}

impl<F: Fingerprint> std::iter::FusedIterator for Iter<F> {}

/// The fingerprints of a [`Snapshot`] with their ids, ascending by fingerprint and each once; ends after
/// the first error.
///
/// Reads the blocks and the ids in the order of the files, and looks nothing up.
pub struct IterWithIds<F: Fingerprint = u64> {
    cursor: Result<Cursor<F>, Option<Error>>,
}

impl<F: Fingerprint> IterWithIds<F> {
    pub(super) fn new(snapshot: &Snapshot<F>) -> Self {
        Self { cursor: Cursor::with_ids(snapshot).map_err(Some) }
    }
}

impl<F: Fingerprint> Iterator for IterWithIds<F> {
    type Item = Result<(F, Ids)>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.cursor {
            Ok(cursor) => cursor.next_with_ids().transpose(),
            Err(error) => error.take().map(Err),
        };
        if !matches!(next, Some(Ok(_))) {
            self.cursor = Err(None);
        }
        next
    }
}

impl<F: Fingerprint> std::iter::FusedIterator for IterWithIds<F> {}

impl<F: Fingerprint> Snapshot<F> {
    /// All fingerprints in ascending order, each once. Decodes some blocks per segment at a time.
    pub fn iter(&self) -> Iter<F> {
        Iter::new(self, F::default())
    }

    /// As [`Self::iter`], from `fingerprint` on. Finds the first block in O(log n) time.
    pub fn iter_from(&self, fingerprint: F) -> Iter<F> {
        Iter::new(self, fingerprint)
    }

    /// All fingerprints in ascending order, each once, with their ids: those that [`Self::ids`] gives,
    /// and none where there are none. Reads all files in order, so it takes some 50 ns for each
    /// instead of a look-up.
    pub fn iter_with_ids(&self) -> IterWithIds<F> {
        IterWithIds::new(self)
    }
}

impl<F: Fingerprint> IntoIterator for &Snapshot<F> {
    type Item = Result<F>;
    type IntoIter = Iter<F>;

    fn into_iter(self) -> Iter<F> {
        self.iter()
    }
}
