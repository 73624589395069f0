//! What a search did.

/// What the last search of a [`Searcher`](crate::Searcher) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchWork {
    /// Blocks whose low columns were compared.
    pub blocks_scanned: u64,
    /// Blocks that were decoded, at least in part.
    pub blocks_decoded: u64,
    /// Segments of which one table was scanned whole, since descending would have touched more, or the base, since looks into
    /// part tables would have taken longer.
    pub full_scans: u64,
    /// Groups of 64 keys of part tables that were looked at.
    pub groups_probed: u64,
    /// Runs of keys, with a prefix in common, that were looked up among those that are kept decoded in memory.
    pub runs_looked_up: u64,
    /// Keys that were compared of those that are kept decoded in memory, as those of small segments are once searches have read them.
    pub keys_compared: u64,
    /// Rows of a base that were compared.
    pub rows_compared: u64,
    /// Bytes of blocks that were read: headers, the columns as far as they were compared, and of
    /// decoded blocks the rest. 0 unless [`Searcher::count_bytes`](crate::Searcher::count_bytes) asked for them.
    pub bytes_touched: u64,
}
