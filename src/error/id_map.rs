//! What can be wrong with the place of an id map, or with the one that was given.

use std::fmt;
use std::path::PathBuf;

use crate::format::IdMapTag;

/// Why an id map is not written to a place, or not read for a store. Damage is a
/// [`Corruption`](crate::Corruption) instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdMapProblem {
    /// A directory stands at the path.
    Directory,
    /// Something that is no id map stands where the map should go. It is never replaced.
    Foreign,
    /// A map stands there, and replacing it was not asked for.
    Exists,
    /// A map stands there that is not the one of the store to be replaced: another store may need it.
    OfOthers {
        /// The store that is to be written.
        store: PathBuf,
    },
    /// Something stands under the name that the map has until its store is visible.
    Pending,
    /// It would lie in the directory of its store.
    InStore,
    /// The session packs into another store than the one that the map was begun for.
    OtherSession {
        /// The store that the map was begun for.
        store: PathBuf,
    },
    /// The store means another map.
    OfOtherStore {
        /// What the map is.
        found: IdMapTag,
        /// What the store means.
        expected: IdMapTag,
    },
    /// The ids of the store are no numbers of strings.
    NotMeant,
    /// The map has no string of this number.
    NoString {
        /// The number.
        number: u64,
        /// How many strings there are.
        strings: u64,
    },
}

impl IdMapProblem {
    /// The rule of `format-spec/ID-MAP.md` that says so, if it is one.
    pub(super) fn rule(&self) -> Option<&'static str> {
        matches!(self, Self::OfOtherStore { .. }).then_some(OTHER_MAP)
    }
}

/// The rule that a map of another store breaks.
pub(crate) const OTHER_MAP: &str = "IDM-3";

impl fmt::Display for IdMapProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("is a directory; give the file of an id map"),
            Self::Foreign => f.write_str("is no id map, and is not replaced; give another file"),
            Self::Exists => {
                f.write_str("an id map exists here already; choose another file, or allow to replace it")
            }
            Self::OfOthers { store } => write!(
                f,
                "is an id map, and not that of {}; another store may need it: give another file, or \
                 move it away",
                store.display()
            ),
            Self::Pending => f.write_str(
                "stands in the way: a pack that writes this id map, or was killed, has left it, and \
                 its store may need it; wait for its end, or give another file",
            ),
            Self::InStore => {
                f.write_str("lies in the directory of the store; give a file outside of it")
            }
            Self::OtherSession { store } => {
                write!(f, "was begun for {}, and cannot be that of another store", store.display())
            }
            Self::OfOtherStore { found, expected } => write!(
                f,
                "[{OTHER_MAP}] is the id map of another store: {} strings in {} bytes with CRC {:08x}, \
                 and the store means {} in {} with {:08x}; give the map that was packed with it",
                found.string_count,
                found.file_bytes,
                found.footer_crc,
                expected.string_count,
                expected.file_bytes,
                expected.footer_crc
            ),
            Self::NotMeant => f.write_str("was packed without an id map; give none"),
            Self::NoString { number, strings } => {
                write!(f, "has {strings} strings, and none with the number {number}")
            }
        }
    }
}
