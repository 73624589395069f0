//! With how many threads a command runs, and how they are started: what the system refuses is an
//! error, and work for which it starts fewer goes on with those.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use fpstore::machine::room_for_thread;
use fpstore::{Error, Execution};
use rayon::ThreadPool;

use crate::failure::Failure;

/// The option.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ThreadArgs {
    /// Threads to use, up to 1024; 0 for all cores. Fewer where the system refuses some
    #[arg(short = 'j', long, default_value_t = 0, value_name = "N", global = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
}

impl ThreadArgs {
    /// How many; 0 stands for one per core.
    pub fn count(self) -> usize {
        self.threads.into()
    }

    /// A pool of so many, or of as many as the system starts.
    ///
    /// # Errors
    ///
    /// It starts none.
    pub fn start_pool(self) -> Result<Arc<ThreadPool>, Failure> {
        start_pool(self.count())
    }
}

/// A pool of so many threads, 0 for one per core, or of as many as the system starts.
///
/// # Errors
///
/// It starts none.
pub fn start_pool(threads: usize) -> Result<Arc<ThreadPool>, Failure> {
    Ok(Execution::new().threads(threads).start_pool()?)
}

/// Starts a thread for `work`.
///
/// # Errors
///
/// The system refuses it.
pub fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    room_for_thread().and_then(|()| Builder::new().spawn(work)).map_err(refused)
}

/// As [`spawn`], within a scope.
///
/// # Errors
///
/// The system refuses it.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    let spawned = room_for_thread().and_then(|()| Builder::new().spawn_scoped(scope, work));
    spawned.map_err(refused)
}

/// A thread was refused.
fn refused(source: io::Error) -> Failure {
    Error::threads(1, source).into()
}
