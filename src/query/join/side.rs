//! Fingerprints of one side of a join, in memory.

use super::output::Output;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::memory;
use crate::snapshot::cursor::Cursor;

/// Fingerprints in memory, and as much room.
#[derive(Default)]
pub(super) struct Side<F> {
    pub(super) data: Vec<F>,
    pub(super) room: Vec<F>,
}

impl<F: Fingerprint> Side<F> {
    /// Reads up to `limit` fingerprints that are not above `last`; tells whether there are more.
    /// `expected` says for how many to make room at first. Ends early once `output` is to stop.
    pub(super) fn read(
        &mut self,
        cursor: &mut Cursor<F>,
        last: F,
        limit: usize,
        expected: u64,
        output: &Output<F>,
    ) -> Result<bool> {
        self.data.clear();
        let expected = usize::try_from(expected).unwrap_or(limit).min(limit);
        memory::reserve(&mut self.data, expected)?;
        let more = cursor.read(last, limit, &mut self.data, || output.stopped())?;
        if self.room.len() < self.data.len() {
            self.room.clear();
            memory::reserve(&mut self.room, self.data.capacity())?;
        }
        self.room.resize(self.data.len(), F::default());
        Ok(more)
    }

    pub(super) fn len(&self) -> u64 {
        self.data.len() as u64
    }
}
