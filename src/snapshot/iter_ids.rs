//! All fingerprints of a store in order, with their ids.

use super::iter::Cursor;
use crate::error::Result;
use crate::ids::{IdCursor, Ids};
use crate::segment::Segment;

/// An iterator over the fingerprints of a [`Store`](crate::Store) and their ids, ascending by
/// fingerprint and each once; ends after the first error.
///
/// Reads the blocks and the ids in the order of the files, and looks nothing up.
pub struct IterWithIds<'a> {
    places: Vec<Place<'a>>,
}

/// A place in a segment.
struct Place<'a> {
    keys: Cursor<'a>,
    /// The same place among the ids, if there are some.
    ids: Option<IdCursor<'a>>,
}

impl<'a> IterWithIds<'a> {
    pub(crate) fn new(segments: &'a [Segment]) -> Self {
        let place = |segment: &'a Segment| Place {
            keys: Cursor::new(segment),
            ids: segment.id_column().map(IdCursor::new),
        };
        Self { places: segments.iter().map(place).collect() }
    }

    fn advance(&mut self) -> Result<Option<(u64, Ids<'a>)>> {
        let mut least = None;
        for place in &mut self.places {
            least = [least, place.keys.peek()?].into_iter().flatten().min();
        }
        let Some(least) = least else { return Ok(None) };
        let mut runs = Vec::new();
        for place in &mut self.places {
            if place.keys.peek()? == Some(least) {
                place.keys.advance();
                if let Some(ids) = &mut place.ids {
                    runs.push(ids.advance()?);
                }
            }
        }
        Ok(Some((least, Ids::new(runs))))
    }
}

impl<'a> Iterator for IterWithIds<'a> {
    type Item = Result<(u64, Ids<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.places.clear();
        }
        next
    }
}

impl std::iter::FusedIterator for IterWithIds<'_> {}
