//! Why a corpus cannot be cleaned.

use std::io;
use std::path::{Path, PathBuf};

use fpstore::Bytes;
use fpstore::files::Unfit;
use fpstore::remedy_of_limit;
use fpstore_records::InputError;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library of stores refused.
    #[error(transparent)]
    Store(#[from] fpstore::Error),
    /// An input holds something else than documents, or cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file does not do what it should.
    #[error("{}: cannot {action} it: {source}; {}", .path.display(), remedy(source))]
    File {
        /// The file.
        path: PathBuf,
        /// What cannot be done with it.
        action: &'static str,
        /// The words of the system.
        source: io::Error,
    },
    /// The distance does not go with the recipe.
    #[error("k = {k}: {what}")]
    Distance {
        /// The distance.
        k: u32,
        /// Why, and what to do.
        what: String,
    },
    /// There is too little memory to decide.
    #[error("memory cannot be {}: {}; give more", Bytes(*.limit), needs(*.documents, *.needed))]
    Memory {
        /// What may be taken.
        limit: u64,
        /// What is needed at least.
        needed: u64,
        /// Of how many documents; 0 if they have not been read.
        documents: u64,
    },
    /// Documents cannot be added to what an earlier corpus has left.
    #[error("{}: {what}; do not add to it", .path.display())]
    CannotAdd {
        /// The store or the directory.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// No document has a value in the column by which one is kept.
    #[error(
        "`{column}`: none of {documents} documents has a value in it; name a column that they have"
    )]
    NoColumn {
        /// How one is kept, as it was given.
        keep: String,
        /// The column.
        column: String,
        /// How many documents there are.
        documents: u64,
    },
    /// Documents have a column of the name of one that they are to get.
    #[error(
        "{place}: has a column \"{column}\" already, which documents are to get; rename it, or give a \
         prefix for the new ones, such as annotated:dedup_"
    )]
    Taken {
        /// The document, or its file.
        place: String,
        /// The column.
        column: String,
    },
    /// A result of a call that is done was removed.
    #[error(
        "{}: is missing, and the report beside it says that all is done; {remedy}",
        .path.display()
    )]
    Missing {
        /// What is missing.
        path: PathBuf,
        /// What to do.
        remedy: String,
    },
    /// Another process works in the directory.
    #[error("{}: another process works here; wait for it, or name another directory", .path.display())]
    Busy {
        /// The directory of results.
        path: PathBuf,
    },
    /// The directory holds the results of other settings.
    #[error(
        "{}: is the output of another command: these differ: {differ}; give the same again, name another \
         directory, or remove this one", .path.display()
    )]
    OfAnother {
        /// The directory of results.
        path: PathBuf,
        /// What differs, in words.
        differ: String,
    },
    /// It was stopped by [`Monitor::cancel`](crate::Monitor::cancel).
    #[error("stopped; give the same again to go on")]
    Stopped,
    /// The system refused something else, or a file of the work is damaged.
    #[error("{0}")]
    System(String),
    /// Settings that are wrong, or do not go together. Says what, and what to do.
    #[error("{0}")]
    Setting(String),
}

fn needs(documents: u64, needed: u64) -> String {
    match documents {
        0 => format!("it takes {} and 64 bytes for each document at least", Bytes(needed)),
        _ => format!("to decide about {documents} documents takes {} at least", Bytes(needed)),
    }
}

fn remedy(error: &io::Error) -> &'static str {
    let known = Unfit::remedy(error).or_else(|| remedy_of_limit(error));
    known.unwrap_or("look at the disk and at its permissions, or name another place")
}

/// A failure to do something with a file.
pub(crate) fn failure(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::File { path: path.clone(), action, source }
}
