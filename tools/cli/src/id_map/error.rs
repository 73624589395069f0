//! What is wrong with an id map, each as one line.

use std::io;
use std::path::PathBuf;

use fpstore::IdMapTag;

use crate::failure::remedy;

/// Why an id map cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The system refused.
    #[error("{}: cannot {action}: {source}; {}", .path.display(), remedy(.source))]
    Io { path: PathBuf, action: &'static str, source: io::Error },
    /// A directory stands where the map should be.
    #[error("{}: is a directory; give the FILE that `pack --id-map FILE` wrote", .0.display())]
    Directory(PathBuf),
    /// Something else stands where the map should go.
    #[error("{}: is no id map, and is not replaced; give another FILE to --id-map", .0.display())]
    Foreign(PathBuf),
    /// A map stands there.
    #[error("{}: an id map exists; give --force to replace it, or another FILE", .0.display())]
    Exists(PathBuf),
    /// A map stands there that the store to be replaced does not mean.
    #[error("{}: is an id map, and not that of {}; another store may need it: give another FILE, or \
             move it away", .0.display(), .1.display())]
    OfOthers(PathBuf, PathBuf),
    /// Something stands under the pending name.
    #[error("{}: stands in the way: a pack that writes this id map, or was killed, has left it, and \
             its store may need it; wait for its end, or give another FILE", .0.display())]
    Pending(PathBuf),
    /// It would lie in the directory of the store.
    #[error("{}: lies in the directory of the store; give a FILE outside of it", .0.display())]
    InStore(PathBuf),
    /// The bytes break a rule.
    #[error("{}: byte {at}: [{rule}] {what}; the id map is damaged: restore it from a copy, or \
             pack again", .path.display())]
    Corrupt { path: PathBuf, at: u64, rule: &'static str, what: String },
    /// A version that is not known.
    #[error("{}: [PRE-5] id map of version {found}, where 1 is known; use a newer fpstore", .path.display())]
    Version { path: PathBuf, found: u16 },
    /// Fields that are not known.
    #[error("{}: [PRE-7] the header of the id map has more fields than version 1 defines; use a newer fpstore", .path.display())]
    Tail { path: PathBuf },
    /// The store means another map.
    #[error(
        "{}: [IDM-3] is the id map of another store: {} strings in {} bytes with CRC {:08x}, and the store \
         means {} in {} with {:08x}; give the map that was packed with it",
        .path.display(), .found.string_count, .found.file_bytes, .found.footer_crc,
        .expected.string_count, .expected.file_bytes, .expected.footer_crc
    )]
    OfOtherStore { path: PathBuf, found: IdMapTag, expected: IdMapTag },
    /// The ids of the store are no numbers of strings.
    #[error("{}: was packed without --id-map; leave --id-map out", .0.display())]
    NoMap(PathBuf),
    /// The store has an id that is no number of a string.
    #[error("{}: has {strings} strings, and the store the id {number} [MAP-3]; pack again", .path.display())]
    Number { path: PathBuf, number: u64, strings: u64 },
}
