//! The ways in which a search may go through a segment, of which it takes one.

use std::fmt;

use crate::hot_index::HotIndex;
use crate::table::PrefixFilter;

/// How a search goes through a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessPath {
    /// Looks up runs of fingerprints in the hot index, or compares all of them there.
    HotIndex,
    /// Descends the routers of the tables to blocks, and scans and decodes these.
    Tables,
    /// As [`Self::Tables`], to those blocks alone in which by prefix filters something may be near:
    /// while searches wait for the disk.
    Filters,
    /// Follows part tables to rows of the base.
    Parts,
    /// Reads every block of the identity table, or every row of the base.
    Scan,
}

/// Which of what a segment has in memory a search may use.
#[derive(Clone, Copy)]
pub(crate) struct MayUse {
    pub(crate) hot_index: bool,
    pub(crate) filters: bool,
}

/// The path that a search takes through tables, and what it goes by.
pub(crate) enum ChosenPath<'a> {
    HotIndex(&'a HotIndex),
    /// Of all tables.
    Filters(&'a [PrefixFilter]),
    Tables,
    Scan,
}

impl From<ChosenPath<'_>> for AccessPath {
    fn from(path: ChosenPath<'_>) -> Self {
        match path {
            ChosenPath::HotIndex(_) => Self::HotIndex,
            ChosenPath::Filters(_) => Self::Filters,
            ChosenPath::Tables => Self::Tables,
            ChosenPath::Scan => Self::Scan,
        }
    }
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
