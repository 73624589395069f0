//! Errors in a word.

use std::io;

use super::Error;

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
