//! Pools of threads.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// The largest number of threads.
const MAX_THREADS: usize = 1024;

/// A pool of so many threads; 0 stands for the number of cores.
///
/// # Errors
///
/// [`Error::InvalidOption`] if there are too many, [`Error::Threads`] if the system cannot start them.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool> {
    check(threads)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|source| Error::Threads { threads, source })
}

/// How many threads so many are; 0 stands for the number of cores.
pub(crate) fn number(threads: usize) -> u64 {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
        _ => threads as u64,
    }
}

/// Refuses more threads than a pool may have.
pub(crate) fn check(threads: usize) -> Result<()> {
    if threads > MAX_THREADS {
        let expected = format!("there are at most {MAX_THREADS}");
        return Err(Error::InvalidOption {
            option: "threads",
            value: threads.to_string(),
            expected,
        });
    }
    Ok(())
}
