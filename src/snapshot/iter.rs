//! Iterators over the fingerprints of a snapshot.

use super::contents::Snapshot;
use super::cursor::{Cursor, Decode};
use crate::error::{Error, Result};
use crate::ids::Ids;

/// The fingerprints of a [`Snapshot`], ascending and each once; ends after the first error.
pub struct Iter {
    cursor: Result<Cursor, Option<Error>>,
    /// Fingerprints that come next, from `at` on.
    ready: Vec<u64>,
    at: usize,
}

impl Iter {
    pub(super) fn new(snapshot: &Snapshot, start: u64) -> Self {
        let cursor = Cursor::new(snapshot, start, Decode::Alone).map_err(Some);
        Self { cursor, ready: Vec::new(), at: 0 }
    }

    /// Brings more fingerprints; `None` at the end.
    #[cold]
    fn refill(&mut self) -> Option<Result<u64>> {
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

impl Iterator for Iter {
    type Item = Result<u64>;

    #[inline]
    fn next(&mut self) -> Option<Result<u64>> {
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
    fn fold<B, F: FnMut(B, Result<u64>) -> B>(mut self, init: B, mut f: F) -> B {
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

impl std::iter::FusedIterator for Iter {}

/// The fingerprints of a [`Snapshot`] with their ids, ascending by fingerprint and each once; ends after
/// the first error.
///
/// Reads the blocks and the ids in the order of the files, and looks nothing up.
pub struct IterWithIds {
    cursor: Result<Cursor, Option<Error>>,
}

impl IterWithIds {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self { cursor: Cursor::with_ids(snapshot).map_err(Some) }
    }
}

impl Iterator for IterWithIds {
    type Item = Result<(u64, Ids)>;

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

impl std::iter::FusedIterator for IterWithIds {}

impl Snapshot {
    /// All fingerprints in ascending order, each once. Decodes some blocks per segment at a time.
    pub fn iter(&self) -> Iter {
        Iter::new(self, 0)
    }

    /// As [`Self::iter`], from `fingerprint` on. Finds the first block in O(log n) time.
    pub fn iter_from(&self, fingerprint: u64) -> Iter {
        Iter::new(self, fingerprint)
    }

    /// All fingerprints in ascending order, each once, with their ids: those that [`Self::ids`] gives,
    /// and none where there are none. Reads all files in order, so it takes some 50 ns for each
    /// instead of a look-up.
    pub fn iter_with_ids(&self) -> IterWithIds {
        IterWithIds::new(self)
    }
}

impl IntoIterator for &Snapshot {
    type Item = Result<u64>;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
