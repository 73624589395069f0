//! How a writer loses its store.

use std::fmt;

/// What has happened to the directory that a writer, or a backup, works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Displacement {
    /// It was moved or removed: nothing stands at its path.
    Moved,
    /// Another directory stands at its path.
    Replaced,
    /// The file that it locked was removed.
    Unlocked,
    /// Its manifest is not the one that the next one replaces, or is gone.
    Rewritten,
}

impl fmt::Display for Displacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Moved => {
                "the store was moved or removed while it was written; what was committed before is \
                 where the store is now; run the command again on its new path"
            }
            Self::Replaced => {
                "another directory took the place of the store while it was written, and is as it was; \
                 what was committed before is where the store is now; run the command again on the one \
                 that is meant"
            }
            Self::Unlocked => {
                "its file `lock` was removed while the store was written, so that another writer could \
                 begin; let that file be, it is free when its writer ends, and run the command again"
            }
            Self::Rewritten => {
                "another program replaced or removed its manifest while the store was written; end that \
                 program, and look at the store (verify) before it is written again"
            }
        })
    }
}
