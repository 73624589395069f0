//! All fingerprints of a store in order.

use crate::error::Result;
use crate::segment::Segment;

/// An iterator over the fingerprints of a [`Store`](crate::Store), ascending and each once; ends
/// after the first error.
pub struct Iter<'a> {
    cursors: Vec<Cursor<'a>>,
}

impl<'a> Iter<'a> {
    pub(super) fn new(segments: &'a [Segment]) -> Self {
        let cursor = |segment| Cursor { segment, next_block: 0, keys: Vec::new(), at: 0 };
        Self { cursors: segments.iter().map(cursor).collect() }
    }
}

impl Iterator for Iter<'_> {
    type Item = Result<u64>;

    fn next(&mut self) -> Option<Result<u64>> {
        let mut least = None;
        for cursor in &mut self.cursors {
            match cursor.peek() {
                Ok(head) => least = [least, head].into_iter().flatten().min(),
                Err(error) => {
                    self.cursors.clear();
                    return Some(Err(error));
                }
            }
        }
        let least = least?;
        // A fingerprint may stand in several segments.
        for cursor in &mut self.cursors {
            cursor.pass(least);
        }
        Some(Ok(least))
    }
}

/// A place in the identity table of a segment, whose keys are the fingerprints.
struct Cursor<'a> {
    segment: &'a Segment,
    next_block: u64,
    keys: Vec<u64>,
    at: usize,
}

impl Cursor<'_> {
    /// The fingerprint at this place, `None` at the end.
    fn peek(&mut self) -> Result<Option<u64>> {
        let table = self.segment.identity();
        while self.at == self.keys.len() {
            if self.next_block == table.block_count() {
                return Ok(None);
            }
            table.decode_block(self.next_block, &mut self.keys)?;
            self.next_block += 1;
            self.at = 0;
        }
        Ok(Some(self.keys[self.at]))
    }

    /// Moves on if the fingerprint at this place, which was looked at, is `fingerprint`.
    fn pass(&mut self, fingerprint: u64) {
        if self.keys.get(self.at) == Some(&fingerprint) {
            self.at += 1;
        }
    }
}
