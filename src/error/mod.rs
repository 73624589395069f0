//! What can go wrong, with the data that a caller needs to act on it.
//!
//! Every message is one line that names the file, the place, what was found and what to do next.
//! Each [`Corruption`] and [`Unsupported`] stands for one rule of the format specification
//! (`format-spec/FORMAT.md`), whose tag begins its message.

mod rules;

use std::path::{Path, PathBuf};
use std::{fmt, io};

pub use rules::{Corruption, Unsupported};

use crate::files::Unfit;
use crate::fingerprint::Hex;
use crate::id::{IdKind, MOST_NAME_BYTES};

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of this crate. [`kind`](Self::kind) tells in a word what a caller may do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[non_exhaustive]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as a verb phrase.
        action: &'static str,
        /// The answer of the operating system.
        source: io::Error,
    },
    /// The directory holds no store.
    #[non_exhaustive]
    NotAStore {
        /// The path that was opened.
        path: PathBuf,
        /// What is there instead.
        found: &'static str,
    },
    /// A file of the store is not what a writer wrote.
    #[non_exhaustive]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Offset in the file at which the broken rule was found.
        offset: u64,
        /// The broken rule.
        corruption: Corruption,
    },
    /// A file of the store is sound and uses something that this version does not know.
    #[non_exhaustive]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Offset in the file of the field.
        offset: u64,
        /// What is not supported.
        feature: Unsupported,
    },
    /// The output of a pack is a store already, and replacing it was not asked for.
    #[non_exhaustive]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The output of a pack holds something that is not a store. It is never replaced.
    #[non_exhaustive]
    Foreign {
        /// The directory, or the file that stands in its place.
        path: PathBuf,
        /// One thing that was found there.
        entry: String,
    },
    /// Another writer holds the lock of the store.
    #[non_exhaustive]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// What was written to is not the store at its path any more, or not locked by this writer.
    /// What stands at the path now was not touched, and what was acknowledged before is where the
    /// store is.
    #[non_exhaustive]
    Displaced {
        /// The path.
        path: PathBuf,
        /// What has happened.
        by: Displacement,
    },
    /// What stands at the output of an incremental backup is no earlier state of the store.
    #[non_exhaustive]
    OtherStore {
        /// The directory.
        path: PathBuf,
    },
    /// A segment cannot be appended to a store while its log holds something: deletions there came
    /// before, and would hide some of it.
    #[non_exhaustive]
    Unflushed {
        /// The directory.
        path: PathBuf,
        /// Insertions and deletions in the log.
        operations: u64,
    },
    /// The manifest of the store to be replaced says that all segment numbers or all generations
    /// are used up.
    #[non_exhaustive]
    NoSegmentNumber {
        /// The directory.
        path: PathBuf,
    },
    /// A store would have more files or windows of time than one may have.
    #[non_exhaustive]
    TooMany {
        /// The directory.
        path: PathBuf,
        /// Of what.
        what: &'static str,
        /// How many a store may have.
        most: u64,
    },
    /// An option has a value that it cannot have.
    #[non_exhaustive]
    InvalidOption {
        /// The option's name.
        option: &'static str,
        /// The value given.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// The fingerprints of a store have another width than those that were asked for.
    #[non_exhaustive]
    Width {
        /// Directory of the store.
        path: PathBuf,
        /// Bits of its fingerprints.
        found: u32,
        /// Bits of those that were asked for.
        expected: u32,
    },
    /// A segment would have more fingerprints than a base can hold.
    #[non_exhaustive]
    TooManyRows {
        /// Number of fingerprints.
        count: u64,
        /// How many a base holds.
        most: u64,
    },
    /// Some fingerprints of a pack came with ids and others without.
    MixedIds,
    /// Ids of one kind were given to, or asked of, a store with another kind.
    #[non_exhaustive]
    IdKinds {
        /// What the store, or the pack, has.
        stored: IdKind,
        /// What was given or asked for.
        other: IdKind,
    },
    /// A name that cannot be stored.
    #[non_exhaustive]
    Name {
        /// Its bytes.
        bytes: usize,
        /// What names of the store are.
        kind: IdKind,
    },
    /// Fingerprints of different recipes would be mixed.
    #[non_exhaustive]
    Recipes {
        /// Directory of the store that has the first, where that is known.
        path: Option<PathBuf>,
        /// The recipe of the store.
        stored: String,
        /// The recipe of the others.
        other: String,
    },
    /// A fingerprint that must be stored is not.
    #[non_exhaustive]
    NotStored {
        /// The fingerprint.
        fingerprint: Hex,
    },
    /// It was asked to stop.
    Cancelled,
    /// The deadline has passed.
    DeadlineExceeded,
    /// An earlier call of this session failed, so it takes no more.
    Ended,
    /// More memory is needed than was allowed.
    #[non_exhaustive]
    MemoryLimit {
        /// What needs it.
        what: String,
        /// Bytes that were allowed.
        limit: u64,
        /// Bytes that would do.
        needed: u64,
    },
    /// A query of a batch has more matches than the memory that was allowed holds.
    #[non_exhaustive]
    TooManyMatches {
        /// The query.
        query: Hex,
        /// How many stored fingerprints match it.
        matches: u64,
        /// Bytes that were allowed.
        limit: u64,
        /// Bytes that would do.
        needed: u64,
    },
    /// The system has not so much memory.
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// The system starts no thread. Where it starts some of those that were asked for, work goes on
    /// with them.
    #[non_exhaustive]
    Threads {
        /// How many were asked for; 0 stands for one per core.
        threads: usize,
        /// Why.
        source: io::Error,
    },
    /// The set needs more than the format allows.
    #[non_exhaustive]
    TooManyBlocks {
        /// Number of fingerprints.
        count: u64,
        /// Bytes per block.
        block_bytes: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, action, source } => {
                write!(f, "{}: cannot {action}: {source}; {}", path.display(), remedy(source))
            }
            Self::NotAStore { path, found } => write!(
                f,
                "{}: [{NOT_A_STORE}] not a store: {found}; give the directory that a pack has written",
                path.display()
            ),
            Self::Corrupt { path, offset, corruption } => write!(
                f,
                "{}: corrupt at byte {offset}: {corruption}; restore the store from a copy or pack it again",
                path.display()
            ),
            Self::Unsupported { path, offset, feature } => write!(
                f,
                "{}: unsupported at byte {offset}: {feature}; read it with a newer version of fpstore",
                path.display()
            ),
            Self::Exists { path } => write!(
                f,
                "{}: a store exists here already; choose another output, or allow to replace it",
                path.display()
            ),
            Self::Foreign { path, entry } => write!(
                f,
                "{}: not a store, and not empty (it holds {entry:?}); choose a new or empty directory",
                path.display()
            ),
            Self::Busy { path } => write!(
                f,
                "{}: another writer is open here, of this process or another; close it, or wait until it ends",
                path.display()
            ),
            Self::Displaced { path, by } => write!(f, "{}: {by}", path.display()),
            Self::OtherStore { path } => write!(
                f,
                "{}: holds another store, or this one in a later or changed state; choose another output",
                path.display()
            ),
            Self::Unflushed { path, operations } => write!(
                f,
                "{}: its log holds {operations} insertions and deletions; flush the store, then append to it",
                path.display()
            ),
            Self::NoSegmentNumber { path } => write!(
                f,
                "{}: all segment numbers or generations are used up; write the store to another place",
                path.display()
            ),
            Self::TooMany { path, what, most } => write!(
                f,
                "{}: a store has at most {most} {what}; merge its segments, expire old windows, or create it with longer ones",
                path.display()
            ),
            Self::InvalidOption { option, value, expected } => {
                write!(f, "{option} cannot be {value}: {expected}")
            }
            Self::Width { path, found, expected } => write!(
                f,
                "{}: fingerprints of {found} bits, and {expected} were asked for; open it as a store of that width",
                path.display()
            ),
            Self::TooManyRows { count, most } => write!(
                f,
                "{count} fingerprints are more than the {most} of one segment; pack them into several stores, or append"
            ),
            Self::IdKinds { stored, other } => {
                write!(f, "the ids are {stored}, and these are {other}")
            }
            Self::Name { bytes, kind } => match kind {
                IdKind::Bytes(width) => {
                    write!(f, "a key of {bytes} bytes, where all have {width}")
                }
                _ => write!(f, "a name of {bytes} bytes; the most is {MOST_NAME_BYTES}"),
            },
            Self::MixedIds => f.write_str(
                "some fingerprints have ids and others none; give an id with each fingerprint, or with none",
            ),
            Self::Recipes { path, stored, other } => {
                if let Some(path) = path {
                    write!(f, "{}: ", path.display())?;
                }
                write!(
                    f,
                    "fingerprints of different recipes are not to be mixed: `{stored}` here, and `{other}`; \
                     make those of one set again by the recipe of the other"
                )
            }
            Self::NotStored { fingerprint } => write!(
                f,
                "fingerprint {fingerprint} is not stored; give pairs of the same store"
            ),
            Self::Cancelled => f.write_str("stopped, as was asked for"),
            Self::DeadlineExceeded => {
                f.write_str("the deadline has passed; allow more time, or a smaller distance")
            }
            Self::Ended => f.write_str("an earlier call of this pack has failed; start a new one"),
            Self::MemoryLimit { what, limit, needed } => write!(
                f,
                "{what} at least {} of memory, and {} are allowed; allow more",
                Bytes(*needed),
                Bytes(*limit)
            ),
            Self::TooManyMatches { query, matches, limit, needed } => write!(
                f,
                "query {query} has {matches} matches, which need {} of memory, and {} are allowed; allow more, \
                 limit the matches of a query, or only count them (a limit of 0)",
                Bytes(*needed),
                Bytes(*limit)
            ),
            Self::OutOfMemory { bytes } => write!(
                f,
                "cannot get {bytes} bytes of memory; set a limit of memory, so that the work is done in pieces"
            ),
            Self::Threads { source, .. } => write!(
                f,
                "cannot start a thread: {source}; allow more processes (`ulimit -u`, the limit of the container), \
                 or more memory (`ulimit -v`)"
            ),
            Self::TooManyBlocks { count, block_bytes } => write!(
                f,
                "{count} fingerprints need more than 2^32 - 1 blocks of {block_bytes} bytes; choose larger blocks"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Corrupt { corruption, .. } => Some(corruption),
            Self::Unsupported { feature, .. } => Some(feature),
            Self::Threads { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What to do about an error of the operating system.
fn remedy(error: &io::Error) -> &'static str {
    if let Some(remedy) = Unfit::remedy(error).or_else(|| remedy_of_limit(error)) {
        return remedy;
    }
    match error.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::NotADirectory => "check the path: a part of it is a file",
        io::ErrorKind::PermissionDenied => "check the permissions",
        io::ErrorKind::ReadOnlyFilesystem => "choose a place that can be written to",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or choose another place"
        }
        _ => "check the disk and the file system, then try again",
    }
}

/// What to do where the system refuses memory.
const MORE_MEMORY: &str = "allow more memory (`ulimit -v`, the limit of the container)";

/// What to do about an error of the operating system, if it is a limit that is reached.
#[doc(hidden)]
pub fn remedy_of_limit(error: &io::Error) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        // Who wraps an error may keep its words alone.
        let code = error.raw_os_error().or_else(|| {
            let words = error.to_string();
            let (_, code) = words.split_once("(os error ")?;
            code.split_once(')')?.0.parse().ok()
        });
        if error.kind() == io::ErrorKind::OutOfMemory {
            return Some(MORE_MEMORY);
        }
        match code.map(Errno::from_raw_os_error)? {
            Errno::MFILE => Some("allow more open files (`ulimit -n`)"),
            Errno::NFILE => Some("allow more open files in the system (`sysctl fs.file-max`)"),
            Errno::NOMEM => Some(MORE_MEMORY),
            _ => None,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        None
    }
}

/// A number of bytes as messages say it, rounded up, so that giving as much is enough.
#[doc(hidden)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes < 1 << 10 => write!(f, "{bytes} bytes"),
            bytes if bytes < 1 << 20 => write!(f, "{} KiB", bytes.div_ceil(1 << 10)),
            bytes if bytes < 100 << 30 => write!(f, "{} MiB", bytes.div_ceil(1 << 20)),
            bytes => write!(f, "{} GiB", bytes.div_ceil(1 << 30)),
        }
    }
}

/// The rule that a directory without a manifest breaks.
pub(crate) const NOT_A_STORE: &str = "DIR-1";

impl Error {
    /// So many threads were asked for, and the system starts none.
    #[doc(hidden)]
    pub fn threads(threads: usize, source: io::Error) -> Self {
        Self::Threads { threads, source }
    }

    /// An option cannot have this value.
    #[doc(hidden)]
    pub fn invalid_option(
        option: &'static str,
        value: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Self::InvalidOption { option, value: value.to_string(), expected: expected.into() }
    }

    /// The tag of the rule of the format specification that is broken or not supported, such as
    /// `BLK-4`; `None` where the error is no matter of a file's bytes.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Corrupt { corruption, .. } => Some(corruption.rule()),
            Self::Unsupported { feature, .. } => Some(feature.rule()),
            Self::NotAStore { .. } => Some(NOT_A_STORE),
            _ => None,
        }
    }

    /// Wraps an I/O error on `path`; meant for `map_err`.
    pub(crate) fn io(
        path: impl AsRef<Path>,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { path: path.as_ref().to_path_buf(), action, source }
    }
}

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
                "another directory took the place of the store while it was written, and is as it \
                 was; what was committed before is where the store is now; run the command again on \
                 the one that is meant"
            }
            Self::Unlocked => {
                "its file `lock` was removed while the store was written, so that another writer \
                 could begin; let that file be, it is free when its writer ends, and run the command \
                 again"
            }
            Self::Rewritten => {
                "another program replaced or removed its manifest while the store was written; end \
                 that program, and look at the store (verify) before it is written again"
            }
        })
    }
}

/// What kind of failure an [`Error`] is, for who acts on it rather than shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing stands at the path that was given, or no store.
    NotFound,
    /// Bytes of a file are damaged: restore it from a copy.
    Corrupt,
    /// A newer version of fpstore has written it.
    Unsupported,
    /// Something stands where the output was to go.
    AlreadyExists,
    /// Another process writes there: it may go later.
    Busy,
    /// The store is not at its path any more, or not locked: open it where it is now.
    Displaced,
    /// An option or an argument is wrong: it will fail again.
    InvalidInput,
    /// It was asked to stop, or its time has passed.
    Stopped,
    /// It needs more memory, threads or space than there is or was allowed.
    OutOfResources,
    /// The operating system refused, for another reason.
    Io,
}

impl Error {
    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::OutOfMemory => ErrorKind::OutOfResources,
                _ => ErrorKind::Io,
            },
            Self::NotAStore { .. } => ErrorKind::NotFound,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Exists { .. } | Self::Foreign { .. } | Self::OtherStore { .. } => {
                ErrorKind::AlreadyExists
            }
            Self::Displaced { .. } => ErrorKind::Displaced,
            Self::Busy { .. } | Self::Unflushed { .. } => ErrorKind::Busy,
            Self::InvalidOption { .. }
            | Self::Width { .. }
            | Self::TooManyRows { .. }
            | Self::MixedIds
            | Self::IdKinds { .. }
            | Self::Name { .. }
            | Self::Recipes { .. }
            | Self::NotStored { .. }
            | Self::Ended
            | Self::TooManyBlocks { .. } => ErrorKind::InvalidInput,
            Self::Cancelled | Self::DeadlineExceeded => ErrorKind::Stopped,
            Self::MemoryLimit { .. }
            | Self::TooManyMatches { .. }
            | Self::OutOfMemory { .. }
            | Self::Threads { .. }
            | Self::TooMany { .. }
            | Self::NoSegmentNumber { .. } => ErrorKind::OutOfResources,
        }
    }
}
