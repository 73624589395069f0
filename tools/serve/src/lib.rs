//! Serves stores over HTTP: JSON for one fingerprint, Arrow for many.
//!
//! ```text
//!   connection ──► tokens, limits ──► search  ──► threads that search, one per core ──► snapshot
//!   (tokio)        (app, bodies)      batch   ──► threads of batches                ──► snapshot
//!                                     write   ──► one thread per store: all that came meanwhile,
//!                                                 one commit, all answers; then a new snapshot
//! ```
//!
//! A search takes the snapshot that stands ready ([`held`]) and waits for nobody who writes, merges
//! or opens what has come to the path of the store. What waits is bounded, and what would wait too
//! long is refused at once ([`pool`], [`writing`]). All bodies share a bounded memory ([`bodies`]).
//!
//! A library for the tool of this workspace; it promises nothing to others but the interface over
//! HTTP, which `/openapi.json` describes.
//!
//! [`held`]: self
//! [`pool`]: self
//! [`writing`]: self
//! [`bodies`]: self

mod app;
mod batches;
mod bodies;
mod config;
mod held;
mod ids;
mod listen;
mod log;
mod messages;
mod metrics;
mod openapi;
mod page;
mod pool;
mod refused;
mod served;
mod tokens;
mod writing;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use config::{Config, Limits, LogRequests, NamedStore};
pub use listen::{Server, Stopper};

/// Why stores are not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The library refused.
    #[error(transparent)]
    Store(#[from] fpstore::Error),
    /// A store has no name that stands in a path of a URL.
    #[error(
        "{0:?}: has no name to ask for it by; give NAME=PATH, with a NAME of up to 64 letters, digits, \
         dots, hyphens and underscores"
    )]
    Name(String),
    /// Two stores have one name.
    #[error(
        "{} and {}: are both called {name:?}; give one of them another name, NAME=PATH",
        .paths[0].display(), .paths[1].display()
    )]
    SameName {
        /// The name.
        name: String,
        /// Their directories.
        paths: [PathBuf; 2],
    },
    /// The fingerprints of a store have a width that is not known.
    #[error("{}: has fingerprints of {bits} bits, which are not known", .path.display())]
    Bits {
        /// The store.
        path: PathBuf,
        /// Their bits.
        bits: u32,
    },
    /// Others could ask without a token.
    #[error(
        "{listen}: others than this machine can reach that; give {option} FILE with a token, or listen on \
         127.0.0.1"
    )]
    Open {
        /// The address.
        listen: SocketAddr,
        /// The option that is missing.
        option: &'static str,
    },
    /// A file of tokens cannot be read.
    #[error("{}: cannot read the token: {source}; check the path and the permissions", .path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The words of the system.
        source: io::Error,
    },
    /// A file of tokens holds something else.
    #[error("{}: {what}", .path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The address cannot be listened on.
    #[error("{listen}: cannot listen there: {source}; choose another address or port (--listen)")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The words of the system.
        source: io::Error,
    },
    /// The system starts no thread.
    #[error(
        "cannot start a thread: {0}; allow more processes (`ulimit -u`, the limit of the container)"
    )]
    Thread(io::Error),
}
