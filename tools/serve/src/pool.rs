//! The threads that search.
//!
//! Searches take all of a core while they run, so they do not run where connections are served.
//! What waits for a thread is bounded twice: by number, and by the time that it would wait.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, TrySendError, bounded};
use tokio::sync::oneshot;

use crate::refused::Refused;

type Job = Box<dyn FnOnce() + Send>;

/// Threads with a bounded queue. They end when the pool is dropped.
pub struct Pool {
    queue: Sender<Job>,
    threads: usize,
    load: Arc<Load>,
}

#[derive(Default)]
struct Load {
    waiting: AtomicUsize,
    /// What a job took lately, in nanoseconds: a moving average.
    job_ns: AtomicU64,
}

impl Load {
    fn took(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) / 16;
        let before = self.job_ns.load(Relaxed);
        // Another thread may do the same; then one of both is not counted.
        self.job_ns.store((before - before / 16).saturating_add(ns), Relaxed);
    }
}

impl Pool {
    /// # Errors
    ///
    /// The system starts no thread.
    pub fn start(threads: usize, most_waiting: usize) -> io::Result<Self> {
        let (queue, jobs) = bounded::<Job>(most_waiting);
        for number in 0..threads {
            let jobs = jobs.clone();
            let name = format!("search-{number}");
            thread::Builder::new().name(name).spawn(move || {
                // A job that panics is answered as an error; the thread goes on.
                jobs.iter().for_each(|job| drop(catch_unwind(AssertUnwindSafe(job))));
            })?;
        }
        Ok(Self { queue, threads, load: Arc::default() })
    }

    /// Jobs that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.load.waiting.load(Relaxed)
    }

    /// How long a job that came now would wait.
    fn outlook(&self) -> Duration {
        let ns = self.load.job_ns.load(Relaxed).saturating_mul(self.waiting() as u64);
        Duration::from_nanos(ns / self.threads.max(1) as u64)
    }

    /// Runs `work` on a thread of the pool, unless it would begin after the deadline. Nobody waits
    /// for its result any more: then it is not begun.
    ///
    /// # Errors
    ///
    /// Those of `work`; too much waits.
    pub async fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let outlook = self.outlook();
        let refuse = || {
            let seconds = outlook.as_secs().clamp(1, 60);
            Refused::overloaded("too many searches wait", seconds)
        };
        if Instant::now() + outlook > deadline {
            return Err(refuse());
        }
        let (answer, answered) = oneshot::channel();
        let load = Arc::clone(&self.load);
        let job = Box::new(move || {
            load.waiting.fetch_sub(1, Relaxed);
            let begun = Instant::now();
            if answer.is_closed() {
                return;
            }
            if begun > deadline {
                let _ = answer.send(Err(Refused::overloaded("waited too long", 1)));
                return;
            }
            let done = work();
            load.took(begun.elapsed());
            let _ = answer.send(done);
        });
        self.load.waiting.fetch_add(1, Relaxed);
        if let Err(error) = self.queue.try_send(job) {
            self.load.waiting.fetch_sub(1, Relaxed);
            return Err(match error {
                TrySendError::Full(_) => refuse(),
                TrySendError::Disconnected(_) => Refused::unavailable("the server ends"),
            });
        }
        answered.await.unwrap_or_else(|_| Err(failed()))
    }
}

/// What is said of a panic.
pub fn failed() -> Refused {
    let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
    Refused::new(status, "failed", "the request could not be done; the log of the server says why")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn what_does_not_fit_into_the_queue_is_refused_and_the_rest_is_done() {
        let pool = Pool::start(1, 1).unwrap();
        let (go, gate) = bounded::<()>(0);
        let (begun, begins) = bounded::<()>(1);
        runtime().block_on(async {
            let held = pool.run(soon(), move || {
                begun.send(()).unwrap();
                gate.recv().unwrap();
                Ok(1)
            });
            tokio::pin!(held);
            assert!(tokio::time::timeout(Duration::from_millis(1), &mut held).await.is_err());
            begins.recv().unwrap();
            let second = pool.run(soon(), || Ok(2));
            tokio::pin!(second);
            assert!(tokio::time::timeout(Duration::from_millis(1), &mut second).await.is_err());
            let third = pool.run(soon(), || Ok(3)).await.unwrap_err();
            assert_eq!((third.status.as_u16(), third.retry_after), (429, Some(1)));
            go.send(()).unwrap();
            assert_eq!((held.await.unwrap(), second.await.unwrap()), (1, 2));
        });
        assert_eq!(pool.waiting(), 0);
    }

    #[test]
    fn what_would_wait_too_long_is_refused_at_once() {
        let pool = Pool::start(1, 100).unwrap();
        pool.load.job_ns.store(1_000_000_000, Relaxed);
        pool.load.waiting.store(90, Relaxed);
        let refused = runtime().block_on(pool.run(soon(), || Ok(()))).unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.retry_after), (429, Some(60)));
    }

    #[test]
    fn a_panic_is_an_answer_and_the_thread_goes_on() {
        let pool = Pool::start(1, 1).unwrap();
        let refused = runtime().block_on(pool.run::<()>(soon(), || panic!("on purpose")));
        assert_eq!(refused.unwrap_err().status.as_u16(), 500);
        assert_eq!(runtime().block_on(pool.run(soon(), || Ok(5))).unwrap(), 5);
    }
}
