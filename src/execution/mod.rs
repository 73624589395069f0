//! How work runs: with which threads, in how much memory, where its temporary files go, what stops
//! it, and who is told how far it is.

pub(crate) mod budget;
mod pool;
mod progress;
mod stop;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

pub(crate) use progress::{Meter, Metered, OnProgress};
pub use progress::{Phase, Progress};
pub(crate) use stop::Stop;

use crate::costs::Costs;
use crate::error::{Error, Result};

/// The largest number of threads.
const MAX_THREADS: usize = 1024;
/// Fingerprints and ids with which one thread is done before a pool has started.
const FEW: u64 = 1 << 14;

/// How a pack, a batch, a join or a clustering runs.
///
/// Clones share the pool of threads, which is started when it is first needed: a server makes one
/// and gives clones of it, each with its own deadline, to what it runs.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use fpstore::{Execution, Packer, Store};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("store");
/// let two = Execution::new().threads(2);
/// Packer::new().execution(two.clone().memory(1 << 30)).pack(&path, [0b1011, 0b0011])?;
///
/// let store = Store::open(&path)?;
/// let soon = two.timeout(Duration::from_secs(60));
/// assert_eq!(store.self_join(1).execution(soon).run(|_| {})?.pairs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Execution {
    threads: usize,
    pool: Arc<OnceLock<Arc<ThreadPool>>>,
    memory: Option<u64>,
    scratch_directory: Option<PathBuf>,
    stop: Stop,
    on_progress: OnProgress,
    costs: Costs,
}

impl Default for Execution {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .field("scratch_directory", &self.scratch_directory)
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}

impl Execution {
    /// All cores, as much memory as is needed, temporary files beside the output, and nothing that
    /// stops it.
    pub fn new() -> Self {
        Self {
            threads: 0,
            pool: Arc::default(),
            memory: None,
            scratch_directory: None,
            stop: Stop::default(),
            on_progress: Arc::new(|_| {}),
            costs: Costs::default(),
        }
    }

    /// Number of threads, up to 1024; 0 stands for the number of cores. The caller's own thread
    /// takes results meanwhile. If the system refuses some of them, the work goes on with half of
    /// those that it starts; if it starts none, the work ends with [`Error::Threads`].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self.pool = Arc::default();
        self
    }

    /// The threads of the caller, instead of a pool of its own. Whoever starts work from one of
    /// these threads gets another pool for it, of as many: the one that starts it waits for the
    /// results, and would be missing.
    pub fn pool(mut self, pool: Arc<ThreadPool>) -> Self {
        self.threads = pool.current_num_threads();
        self.pool = Arc::new(OnceLock::from(pool));
        self
    }

    /// The most bytes of memory that the work takes, from 16 MiB on: its own and that of the
    /// process it runs in, as far as that is usual; and 1 MiB per thread from the seventh on. What
    /// does not fit is done in pieces or in temporary files.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The directory for temporary files; by default the one of the output. Those that a killed
    /// process left there are removed, and none that a running one holds locked.
    pub fn scratch_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.scratch_directory = Some(path.into());
        self
    }

    /// A flag that stops the work with [`Error::Cancelled`] soon after it is set. What a pack has
    /// written is removed.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.stop.cancel = vec![cancel];
        self
    }

    /// The time at which the work stops with [`Error::DeadlineExceeded`], if it has not ended.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.stop.deadline = Some(deadline);
        self
    }

    /// As [`Self::deadline`], so long from now on. What lies too far ahead for the clock is no
    /// deadline.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.stop.deadline = Instant::now().checked_add(timeout);
        self
    }

    /// A function that is told how far the work has come, from any thread.
    pub fn on_progress(mut self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Arc::new(progress);
        self
    }

    /// The constants of the machine, by which it is decided how to work; by default the shipped
    /// ones. No answer depends on them; the design and the size of blocks that a pack chooses do,
    /// and so its files.
    #[doc(hidden)]
    pub fn costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// A further flag that stops the work.
    pub(crate) fn cancelled_also_by(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.stop.cancel.push(cancel);
        self
    }

    /// Refuses more threads than a pool may have.
    pub(crate) fn check_threads(&self) -> Result<()> {
        if self.threads > MAX_THREADS {
            let expected = format!("there are at most {MAX_THREADS}");
            return Err(Error::invalid_option("threads", self.threads, expected));
        }
        Ok(())
    }

    /// The pool, for work that the current thread waits for.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if it would have too many threads, [`Error::Threads`] if the system
    /// starts none.
    #[doc(hidden)]
    pub fn start_pool(&self) -> Result<Arc<ThreadPool>> {
        self.check_threads()?;
        match self.pool.get() {
            Some(pool) if pool.current_thread_index().is_none() => Ok(Arc::clone(pool)),
            Some(_) => pool::start(self.threads),
            None => {
                let pool = pool::start(self.threads)?;
                Ok(Arc::clone(self.pool.get_or_init(|| pool)))
            }
        }
    }

    /// Runs work that waits for nothing but its own tasks, with the threads of the pool: where this
    /// is one of them, at once.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        match self.pool.get().filter(|pool| pool.current_thread_index().is_some()) {
            Some(_) => self.check_threads().map(|()| work()),
            None => Ok(self.start_pool()?.install(work)),
        }
    }

    /// As [`Self::install`], of so many fingerprints and ids: few of them are worked on by the
    /// current thread, and start no others.
    pub(crate) fn install_for<T: Send>(
        &self,
        records: u64,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T> {
        if records < FEW { self.check_threads().map(|()| work()) } else { self.install(work) }
    }

    /// How many threads there are.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Whether it was asked for a single thread.
    pub(crate) fn is_alone(&self) -> bool {
        self.threads == 1
    }

    /// The limit of memory, if there is one.
    pub(crate) fn memory_limit(&self) -> Option<u64> {
        self.memory
    }

    /// Where temporary files go, if not beside the output.
    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.scratch_directory.as_deref()
    }

    /// The constants of the machine.
    pub(crate) fn cost(&self) -> &Costs {
        &self.costs
    }

    /// What stops the work.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Tells how far the work has come.
    pub(crate) fn tell(&self, progress: Progress) {
        (self.on_progress)(progress);
    }

    /// A meter for work of several phases.
    pub(crate) fn meter(&self) -> Meter {
        Meter::new(Arc::clone(&self.on_progress), self.stop.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_a_pool_and_its_own_threads_get_another() {
        let execution = Execution::new().threads(2);
        let pool = execution.clone().memory(1 << 30).start_pool().unwrap();
        assert!(Arc::ptr_eq(&pool, &execution.start_pool().unwrap()));
        let inside = pool.install(|| execution.start_pool().unwrap());
        assert!(!Arc::ptr_eq(&pool, &inside));
        assert_eq!(inside.current_num_threads(), 2);
        let given = Execution::new().pool(Arc::clone(&pool));
        assert!(Arc::ptr_eq(&pool, &given.start_pool().unwrap()));
        assert!(!Arc::ptr_eq(&pool, &given.threads(2).start_pool().unwrap()));
    }

    #[test]
    fn few_records_start_no_threads_and_many_do() {
        let execution = Execution::new().threads(2);
        let threads = || rayon::current_thread_index().map(|_| rayon::current_num_threads());
        assert_eq!(execution.install_for(FEW - 1, threads).unwrap(), None);
        assert!(execution.pool.get().is_none());
        assert_eq!(execution.install_for(FEW, threads).unwrap(), Some(2));
        assert!(execution.threads(MAX_THREADS + 1).install_for(1, threads).is_err());
    }

    #[test]
    fn work_stops_at_its_deadline_and_when_it_is_cancelled() {
        let execution = Execution::new();
        assert!(execution.stop().check().is_ok());
        let late = execution.clone().deadline(Instant::now());
        assert!(matches!(late.stop().check(), Err(Error::DeadlineExceeded)));
        assert!(!execution.clone().timeout(Duration::MAX).stop().is_due());
        let flag = Arc::new(AtomicBool::new(false));
        let cancelled = execution.cancel(Arc::clone(&flag)).timeout(Duration::from_secs(3600));
        assert!(!cancelled.stop().is_due());
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(cancelled.stop().check(), Err(Error::Cancelled)));
    }
}
