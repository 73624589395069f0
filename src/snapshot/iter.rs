//! All fingerprints of a store in order.

use crate::error::{Error, Result};
use crate::segment::Segment;

/// Blocks that are decoded at a time, and fingerprints, unless a single block holds more.
const BATCH_BLOCKS: u64 = 4;
const BATCH_KEYS: u64 = 1 << 16;
/// Fingerprints that are merged at a time from several segments.
const BATCH_MERGED: usize = 1024;

/// An iterator over the fingerprints of a [`Store`](crate::Store), ascending and each once; ends
/// after the first error.
pub struct Iter<'a> {
    cursors: Vec<Cursor<'a>>,
    /// Fingerprints that come next, from `at` on.
    ready: Vec<u64>,
    at: usize,
}

impl<'a> Iter<'a> {
    pub(crate) fn new(segments: &'a [Segment]) -> Self {
        Self { cursors: segments.iter().map(Cursor::new).collect(), ready: Vec::new(), at: 0 }
    }

    /// Brings more fingerprints; `None` at the end.
    #[cold]
    fn refill(&mut self) -> Option<Result<u64>> {
        self.at = 0;
        let refilled = match &mut self.cursors[..] {
            [only] => only.read(&mut self.ready),
            several => merge(several, &mut self.ready),
        };
        if let Err(error) = refilled {
            self.cursors.clear();
            self.ready.clear();
            return Some(Err(error));
        }
        let first = self.ready.first()?;
        self.at = 1;
        Some(Ok(*first))
    }
}

impl Iterator for Iter<'_> {
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

/// A place in the identity table of a segment, whose keys are the fingerprints.
pub(super) struct Cursor<'a> {
    segment: &'a Segment,
    next_block: u64,
    /// Fingerprints that were decoded.
    decoded: u64,
    keys: Vec<u64>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(segment: &'a Segment) -> Self {
        Self { segment, next_block: 0, decoded: 0, keys: Vec::new(), at: 0 }
    }

    /// Decodes the next blocks into `keys`; none at the end.
    fn read(&mut self, keys: &mut Vec<u64>) -> Result<()> {
        let table = self.segment.identity();
        let end = (self.next_block + BATCH_BLOCKS).min(table.block_count());
        let (mut end, _) = table.blocks_within(self.next_block..end, BATCH_KEYS);
        if table.decode_blocks(self.next_block..end, keys).is_err() {
            // What stands before a damaged block is not lost: one by one up to it.
            end = self.next_block + 1;
            table.decode_blocks(self.next_block..end, keys)?;
        }
        self.next_block = end;
        self.decoded += keys.len() as u64;
        if self.decoded > self.segment.count() {
            return Err(table.surplus_error(self.decoded));
        }
        Ok(())
    }

    /// The fingerprint at this place, `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u64>, Error> {
        if self.at == self.keys.len() {
            let mut keys = std::mem::take(&mut self.keys);
            self.at = 0;
            self.read(&mut keys)?;
            self.keys = keys;
        }
        Ok(self.keys.get(self.at).copied())
    }

    /// Goes on behind the fingerprint that was [peeked](Self::peek) at.
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }
}

/// Merges some of the next fingerprints of all segments into `merged`, each once.
fn merge(cursors: &mut [Cursor<'_>], merged: &mut Vec<u64>) -> Result<()> {
    merged.clear();
    while merged.len() < BATCH_MERGED {
        let mut least = None;
        for cursor in cursors.iter_mut() {
            least = [least, cursor.peek()?].into_iter().flatten().min();
        }
        let Some(least) = least else { break };
        // A fingerprint may stand in several segments.
        for cursor in cursors.iter_mut() {
            if cursor.peek()? == Some(least) {
                cursor.advance();
            }
        }
        merged.push(least);
    }
    Ok(())
}
