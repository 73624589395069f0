//! The ids of all fingerprints of a segment, one after the other.

use std::ops::Range;
use std::sync::Arc;

use super::reader::IdColumn;
use crate::error::Result;

/// A place among the ids of a segment, at first before the first fingerprint.
pub(crate) struct IdCursor {
    column: Arc<IdColumn>,
    /// The number of the first id of the next fingerprint.
    start: u64,
}

impl IdCursor {
    pub(crate) fn new(column: Arc<IdColumn>) -> Self {
        Self { column, start: 0 }
    }

    /// The numbers of the ids of the next fingerprint in the order of the identity table; goes on
    /// to the one after it. Reads the marks in order.
    pub(crate) fn advance(&mut self) -> Result<(&Arc<IdColumn>, Range<u64>)> {
        let start = self.start;
        self.start = self.column.next_start(start)?;
        Ok((&self.column, start..self.start))
    }
}
