//! Why the tool ends with an error, each as one line.

use std::io;
use std::path::{Path, PathBuf};

use fpstore::files::Unfit;
use fpstore::remedy_of_limit;
use fpstore_records::InputError;

use crate::command_line::quoted_path;

/// The reason why a subcommand did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The library refused.
    #[error("{}", in_words_of_the_tool(.0))]
    Store(#[from] fpstore::Error),
    /// An input holds something else than fingerprints, or cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Standard output does not take the results.
    #[error("standard output: cannot write: {0}; free space there or choose another output")]
    Output(io::Error),
    /// Standard output was closed before the start.
    #[error("standard output: is closed, and takes no results; redirect it to a file (> FILE)")]
    NoOutput,
    /// The reader of standard output has closed it: an end, not an error.
    #[error("standard output was closed")]
    ClosedPipe,
    /// A file of results or of pairs does not do what it should.
    #[error("{}: cannot {action} it: {source}; {}", .path.display(), remedy(source))]
    File {
        /// The file.
        path: PathBuf,
        /// What cannot be done with it.
        action: &'static str,
        /// The words of the system.
        source: io::Error,
    },
    /// A file of pairs holds something else.
    #[error("{name}: {place}: {what}")]
    Pairs {
        /// The file, or standard input.
        name: String,
        /// The line or the byte.
        place: String,
        /// What is wrong there, and what to do.
        what: String,
    },
    /// A signal stopped it.
    #[error("stopped by {}; nothing was changed", signal_name(*.0))]
    Signal(i32),
    /// The system refused something else.
    #[error("{0}")]
    System(String),
    /// Arguments that each are right and together are not.
    #[error("{0}")]
    Usage(String),
}

impl From<fpstore_corpus::Error> for Failure {
    fn from(error: fpstore_corpus::Error) -> Self {
        use fpstore::Bytes;
        use fpstore_corpus::Error;
        match error {
            Error::Store(error) => Self::Store(error),
            Error::Input(error) => Self::Input(error),
            Error::File { path, action, source } => Self::File { path, action, source },
            Error::System(what) => Self::System(what),
            Error::Memory { limit, needed, documents: 0 } => Self::Usage(format!(
                "memory cannot be {}: corpus dedup takes {} and 64 bytes for each document at least; give \
                 more (--memory)",
                Bytes(limit),
                Bytes(needed)
            )),
            Error::Memory { limit, needed, documents } => Self::Usage(format!(
                "memory cannot be {}: to decide about {documents} documents takes {} at least; give more \
                 (--memory)",
                Bytes(limit),
                Bytes(needed)
            )),
            Error::Distance { k, what } => Self::Usage(format!("-k {k}: {what}")),
            Error::Taken { place, column } => Self::Usage(format!(
                "{place}: has a column \"{column}\" already, which documents are to get; rename it, or give a \
                 prefix for the new ones (--write annotated:dedup_)"
            )),
            Error::CannotAdd { path, what } => {
                Self::Usage(format!("{}: {what}; leave --add out", path.display()))
            }
            Error::NoColumn { keep, column, documents } => Self::Usage(format!(
                "--keep {keep}: none of {documents} documents has a value in `{column}`; give the \
                 command again with a column that they have"
            )),
            other => Self::Usage(other.to_string()),
        }
    }
}

/// The message of the library, with the options of the tool where one of them is the remedy.
fn in_words_of_the_tool(error: &fpstore::Error) -> String {
    use fpstore::{Bytes, Error};
    match error {
        Error::Exists { path, .. } => format!(
            "{}: a store exists here already; choose another output, or replace it (--force)",
            path.display()
        ),
        Error::NotAStore { path, found, .. } => format!(
            "{}: [DIR-1] not a store: {found}; give the directory that `fpstore pack -o` wrote",
            path.display()
        ),
        Error::MemoryLimit { what, limit, needed, .. } => format!(
            "memory cannot be {}: {what} at least {}; give more (--memory)",
            Bytes(*limit),
            Bytes(*needed)
        ),
        Error::Width { path, found, expected, .. } => format!(
            "{}: has fingerprints of {found} bits, where {expected} are wanted; give a store of those",
            path.display()
        ),
        Error::Corrupt { path, .. } => {
            let store = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let store = quoted_path(store.unwrap_or(Path::new(".")));
            format!("{error}, or save what is sound: `fpstore repair {store} DEST`")
        }
        Error::Cancelled => "stopped; nothing was changed".to_string(),
        other => other.to_string(),
    }
}

/// What to do about an error of the system.
pub fn remedy(error: &io::Error) -> &'static str {
    if let Some(remedy) = Unfit::remedy(error).or_else(|| remedy_of_limit(error)) {
        return remedy;
    }
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space there, or name another place"
        }
        io::ErrorKind::NotFound => "name one that is there",
        io::ErrorKind::PermissionDenied => "allow it, or name another place",
        _ => "look at the disk, or name another place",
    }
}

/// The name of a signal that stops the tool.
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        _ => "SIGTERM",
    }
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Signal(signal) => 128 + *signal as u8,
            _ => 2,
        }
    }

    /// The message, kept to one line whatever a path in it holds.
    pub fn line(&self) -> String {
        one_line(&self.to_string())
    }
}

/// A message with everything escaped that would end its line.
pub fn one_line(message: &str) -> String {
    let mut line = String::new();
    for c in message.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}
