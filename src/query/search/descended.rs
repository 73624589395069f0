//! A table that a search descends.

/// A table that a search descends.
pub(super) struct Descended {
    pub(super) number: usize,
    /// The query in the order of the table.
    pub(super) query: u64,
    pub(super) threshold: u32,
    /// The end of its probes and of its candidates among those of all tables.
    pub(super) probes_end: usize,
    pub(super) candidates_end: usize,
}
