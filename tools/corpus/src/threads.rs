//! How threads are started: what the system refuses is an error, and no panic.

use std::io;
use std::sync::Mutex;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use fpstore::machine::room_for_thread;

use crate::error::Error;

/// Starts a thread for `work` within a scope.
///
/// # Errors
///
/// The system refuses it.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    let spawned = room_for_thread().and_then(|()| Builder::new().spawn_scoped(scope, work));
    spawned.map_err(refused)
}

/// A thread was refused.
fn refused(source: io::Error) -> Error {
    fpstore::Error::threads(1, source).into()
}

/// How many of so many threads a library may start that does not tell what it was refused: all, or
/// half of those that the system starts now.
///
/// # Errors
///
/// It starts none.
pub fn granted(wanted: usize) -> Result<usize, Error> {
    let gate = Mutex::new(());
    std::thread::scope(|scope| {
        let closed = gate.lock();
        let mut started = Vec::new();
        let mut refusal = None;
        while started.len() < wanted && refusal.is_none() {
            match spawn_scoped(scope, || drop(gate.lock())) {
                Ok(thread) => started.push(thread),
                Err(failure) => refusal = Some(failure),
            }
        }
        drop(closed);
        let count = started.len();
        for thread in started {
            // It has only waited.
            let _ = thread.join();
        }
        match refusal {
            None => Ok(wanted),
            Some(failure) if count == 0 => Err(failure),
            Some(_) => Ok((count / 2).max(1)),
        }
    })
}
