//! The ways in which a search may go through a segment, of which it takes one.

use std::fmt;

/// How a search goes through a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessPath {
    /// Looks up runs of fingerprints in the hot index, or compares all of them there.
    HotIndex,
    /// Descends the routers of the tables to blocks, and scans and decodes these.
    Tables,
    /// As [`Self::Tables`], to those blocks alone in which by prefix filters something may be near.
    Filters,
    /// Follows part tables to rows of the base.
    Parts,
    /// Reads every block of the identity table, or every row of the base.
    Scan,
}

impl fmt::Display for AccessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::HotIndex => "hot index",
            Self::Tables => "tables",
            Self::Filters => "filters",
            Self::Parts => "parts",
            Self::Scan => "scan",
        })
    }
}
