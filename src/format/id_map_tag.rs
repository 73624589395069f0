//! What a manifest says of an id map.

/// Which id map belongs to a store whose ids are the numbers of strings: what the manifest says of
/// that file, which stands wherever its owner keeps it.
///
/// Told by [`Store::id_map`](crate::Store::id_map) and [`IdMap::tag`](crate::IdMap::tag). Section 3.6
/// of `format-spec/FORMAT.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdMapTag {
    /// Number of strings.
    pub string_count: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The CRC at the end of the file, which covers all of it.
    pub footer_crc: u32,
}
