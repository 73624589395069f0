//! Iterators over the fingerprints of a snapshot.

use std::collections::HashMap;
use std::marker::PhantomData;

use super::contents::Snapshot;
use super::cursor::{Cursor, Decode};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::{AsId, FromId, Id, IdKind};
use crate::ids::{Ids, Numbering, check_kind};

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

/// The fingerprints of a [`Snapshot`] with their ids, ascending by fingerprint and each once; ends
/// after the first error.
///
/// Reads the blocks and the ids in the order of the files, and looks nothing up.
pub struct IterWithIds<F: Fingerprint = u64, I = u64> {
    cursor: Result<Cursor<F>, Option<Error>>,
    kind: IdKind,
    taken: PhantomData<fn() -> I>,
}

impl<F: Fingerprint, I: FromId> IterWithIds<F, I> {
    pub(super) fn new(snapshot: &Snapshot<F>) -> Self {
        let kind = snapshot.parts().base.id_kind();
        let checked = if snapshot.has_ids() { Ids::<I>::check(kind) } else { Ok(()) };
        let cursor = checked.and_then(|()| Cursor::with_ids(snapshot)).map_err(Some);
        Self { cursor, kind, taken: PhantomData }
    }
}

impl<F: Fingerprint, I: FromId> Iterator for IterWithIds<F, I> {
    type Item = Result<(F, Ids<I>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.cursor {
            Ok(cursor) => cursor.next_with_ids().transpose(),
            Err(error) => error.take().map(Err),
        };
        let kind = self.kind;
        let next = next.map(|next| {
            let (fingerprint, runs) = next?;
            Ok((fingerprint, Ids::unchecked(runs, kind)))
        });
        if !matches!(next, Some(Ok(_))) {
            self.cursor = Err(None);
        }
        next
    }
}

impl<F: Fingerprint, I: FromId> std::iter::FusedIterator for IterWithIds<F, I> {}

impl<F: Fingerprint> Snapshot<F> {
    /// All fingerprints in ascending order, each once. Decodes some blocks per segment at a time.
    pub fn iter(&self) -> Iter<F> {
        Iter::new(self, F::default())
    }

    /// As [`Self::iter`], from `fingerprint` on. Finds the first block in O(log n) time.
    pub fn iter_from(&self, fingerprint: F) -> Iter<F> {
        Iter::new(self, fingerprint)
    }

    /// All fingerprints in ascending order, each once, with their ids: those that [`Self::ids`]
    /// gives, and none where there are none. Reads all files in order, so it takes some 50 ns for
    /// each instead of a look-up; a name takes a look-up.
    pub fn iter_with_ids<I: FromId>(&self) -> IterWithIds<F, I> {
        IterWithIds::new(self)
    }

    /// The fingerprints that have one of some ids, ascending, each with the place of the id in
    /// `ids`. Nothing is found by its id, so this reads all fingerprints and ids, some 50 ns for
    /// each; names are looked up once for each segment.
    ///
    /// # Errors
    ///
    /// As [`Self::ids`]; [`Error::IdKinds`] if the store has ids of another kind.
    pub fn with_ids<I: AsId>(&self, ids: &[I]) -> Result<Vec<(F, usize)>> {
        let Some(kind) = self.id_kind() else { return Ok(Vec::new()) };
        let settled = self.settled()?;
        // For each segment the places of the ids by their numbers there.
        let mut wanted: Vec<HashMap<u64, usize>> = vec![HashMap::new(); settled.segments().len()];
        for (place, id) in ids.iter().enumerate() {
            let Some(id) = id.as_id() else { continue };
            check_kind(kind, id)?;
            let name = id.name();
            for (segment, wanted) in settled.segments().iter().zip(&mut wanted) {
                if let Some(number) = segment.naming().find((id.number(), &name))? {
                    wanted.entry(number).or_insert(place);
                }
            }
        }
        let mut found = Vec::new();
        if wanted.iter().all(HashMap::is_empty) {
            return Ok(found);
        }
        let mut cursor = Cursor::with_numbered_ids(&settled, |_| Numbering::Common)?;
        while let Some((fingerprint, mut ids)) = cursor.next_with_ids()? {
            let start = found.len();
            ids.visit_numbers(|segment, number| {
                found.extend(wanted[segment].get(&number).map(|&place| (fingerprint, place)));
                Ok(())
            })?;
            found[start..].sort_unstable();
        }
        found.dedup();
        Ok(found)
    }

    /// The same fingerprints and ids in segments alone, so that [`Ids::visit_numbers`] knows the
    /// segment of each.
    #[doc(hidden)]
    pub fn in_segments(&self) -> Result<Self> {
        self.settled()
    }

    /// The id that [`Ids::visit_numbers`] gave by a segment and a number; `None` if there is none.
    #[doc(hidden)]
    pub fn id_by_number(&self, segment: usize, number: u64) -> Result<Option<Id>> {
        let kind = self.parts().base.id_kind();
        if !kind.is_named() {
            return Ok(Some(Id::Number(number)));
        }
        let Some(segment) = self.segments().get(segment) else { return Ok(None) };
        let mut name = Vec::new();
        segment.naming().name_of_kind(number, &mut name, kind)?;
        Ok(kind.id_of(&name).map(|id| id.to_id()))
    }
}

impl<F: Fingerprint> IntoIterator for &Snapshot<F> {
    type Item = Result<F>;
    type IntoIter = Iter<F>;

    fn into_iter(self) -> Iter<F> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Id, IdKind, Packer, Store, StoreOptions};

    #[test]
    fn ids_by_their_numbers_are_those_that_names_say() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let writer = StoreOptions::new().ids(IdKind::Text).create(&path).unwrap();
        writer.insert_batch(&[(1u64, "b"), (1, "d"), (2, "c")]).unwrap();
        writer.flush().unwrap();
        writer.close().unwrap();
        Packer::new().append(true).pack_with_ids(&path, [(1u64, "a"), (3, "b")]).unwrap();
        let writer = Store::open_writer(&path).unwrap();
        writer.delete(1, "d").unwrap();
        writer.insert_batch(&[(1, "e"), (3, "a")]).unwrap();
        // Two segments, and a log with a deletion.
        let snapshot = writer.snapshot().in_segments().unwrap();
        let mut found = Vec::new();
        for next in snapshot.iter_with_ids::<Id>() {
            let (fingerprint, mut ids) = next.unwrap();
            ids.visit_numbers(|segment, number| found.push((fingerprint, segment, number)))
                .unwrap();
            let mut of_one = Vec::new();
            let visit = |segment, number| of_one.push((fingerprint, segment, number));
            snapshot.ids::<Id>(fingerprint).unwrap().visit_numbers(visit).unwrap();
            assert!(found.ends_with(&of_one));
        }
        let named = found.iter().map(|&(fingerprint, segment, number)| {
            let id = snapshot.id_by_number(segment, number).unwrap().unwrap();
            (fingerprint, id.to_string())
        });
        let mut named: Vec<(u64, String)> = named.collect();
        named.sort();
        let expected = [(1, "a"), (1, "b"), (1, "e"), (2, "c"), (3, "a"), (3, "b")];
        assert_eq!(named, expected.map(|(fingerprint, id)| (fingerprint, id.to_string())));
        assert_eq!(snapshot.id_by_number(9, 0).unwrap(), None);
    }
}
