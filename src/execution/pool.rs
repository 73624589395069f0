//! Pools of threads: as large as was asked for, or as the system lets them be.

use std::io;
use std::sync::{Arc, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};
use crate::machine::room_for_thread;

/// Threads that are to be left beside a pool, for who reads, writes, waits or watches meanwhile.
const SPARE: usize = 2;
/// How often, and after what time, a thread is asked for again while those of an earlier try go.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// A pool of so many threads; 0 stands for one per core. Where the system starts fewer, or none
/// beside them, it has half of those that are started.
///
/// A pool without a thread of its own, which works in the thread that waits for it, is no way out:
/// what is shared by several threads, or takes from a channel meanwhile, would wait for ever.
///
/// # Errors
///
/// [`Error::Threads`] if the system starts none.
pub(super) fn start(wanted: usize) -> Result<Arc<ThreadPool>> {
    start_by(wanted, |work| room_for_thread().and_then(|()| thread::Builder::new().spawn(work)))
}

/// As [`start`], with threads that `spawn` starts.
fn start_by(
    wanted: usize,
    mut spawn: impl FnMut(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
) -> Result<Arc<ThreadPool>> {
    let (mut threads, mut tries) = (wanted, 0);
    loop {
        let mut started = Vec::new();
        let pool = ThreadPoolBuilder::new().num_threads(threads).spawn_handler(|thread| {
            started.push(spawn(Box::new(|| thread.run()))?);
            Ok(())
        });
        let built = pool.build();
        let mut granted = started.len();
        let refusal = match built {
            Ok(pool) if granted == 1 => return Ok(Arc::new(pool)),
            Ok(pool) => match spare(&mut spawn) {
                (_, None) => return Ok(Arc::new(pool)),
                (spare, Some(refusal)) => {
                    granted += spare;
                    refusal
                }
            },
            Err(refusal) => io::Error::other(refusal),
        };
        end(started);
        if granted > 0 {
            (threads, tries) = ((granted / 2).max(1), TRIES);
        } else if tries > 0 {
            // A thread counts a moment longer than it can be waited for.
            tries -= 1;
            thread::sleep(PAUSE);
        } else {
            return Err(Error::threads(wanted, refusal));
        }
    }
}

/// How many further threads can be started up to [`SPARE`], and why no more.
fn spare(
    spawn: &mut impl FnMut(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
) -> (usize, Option<io::Error>) {
    // All of them wait, so that they are there together.
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    let (mut started, mut refusal) = (Vec::new(), None);
    while started.len() < SPARE && refusal.is_none() {
        let gate = Arc::clone(&gate);
        match spawn(Box::new(move || drop(gate.read()))) {
            Ok(thread) => started.push(thread),
            Err(error) => refusal = Some(error),
        }
    }
    drop(closed);
    let count = started.len();
    end(started);
    (count, refusal)
}

/// Waits until threads are gone that have nothing to do.
fn end(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // What does nothing does not panic.
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A pool where the system lets `most` threads be at a time.
    fn start_within(wanted: usize, most: usize) -> Result<Arc<ThreadPool>> {
        let there = Arc::new(AtomicUsize::new(0));
        start_by(wanted, |work| {
            if there.load(Ordering::SeqCst) == most {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            there.fetch_add(1, Ordering::SeqCst);
            let there = Arc::clone(&there);
            thread::Builder::new().spawn(move || {
                work();
                there.fetch_sub(1, Ordering::SeqCst);
            })
        })
    }

    #[test]
    fn a_pool_has_as_many_threads_as_the_system_starts_and_leaves_some() {
        for (wanted, most, expected) in [
            (4, 6, 4),
            (4, 5, 2),
            (4, 4, 2),
            (4, 3, 1),
            (9, 8, 4),
            (2, 1, 1),
            (1, 1, 1),
            (100, 21, 10),
        ] {
            let pool = start_within(wanted, most).unwrap();
            assert_eq!(pool.current_num_threads(), expected, "{wanted} of {most}");
            assert_eq!(pool.install(|| 2 + 2), 4);
        }
    }

    #[test]
    fn a_system_without_threads_is_an_error_that_tells_what_to_do() {
        for wanted in [1, 4] {
            let error = start_within(wanted, 0).unwrap_err();
            assert!(matches!(error, Error::Threads { threads, .. } if threads == wanted));
            assert!(error.to_string().contains("ulimit -u"), "{error}");
        }
    }

    #[test]
    fn a_thread_of_an_earlier_try_that_still_counts_is_waited_for() {
        let calls = AtomicUsize::new(0);
        let pool = start_by(2, |work| match calls.fetch_add(1, Ordering::SeqCst) {
            // The second of two, then the one for a while.
            1..=4 => Err(io::ErrorKind::WouldBlock.into()),
            _ => thread::Builder::new().spawn(work),
        });
        assert_eq!(pool.unwrap().current_num_threads(), 1);
        assert_eq!(calls.into_inner(), 6);
    }
}
