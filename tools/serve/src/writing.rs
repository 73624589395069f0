//! The thread that writes a store.
//!
//! It takes what has come from all clients meanwhile, does one after the other, makes all of it
//! durable by one commit, and answers. So a thousand clients share a flush of the disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use fpstore::{Durability, Fingerprint, Id, Snapshot, Verdict, Writer};
use tokio::sync::oneshot;

use crate::messages::Durable;
use crate::refused::Refused;

/// Records that one commit makes durable, at most; those of one request may be more.
const TOGETHER: usize = 32_768;
/// How often what merges have changed is looked at while nobody writes.
const LOOK: Duration = Duration::from_millis(100);

/// What is to be done.
pub enum Change<F> {
    Insert(Vec<(F, Option<Id>)>),
    /// Pairs, and fingerprints with all their ids.
    Delete(Vec<(F, Id)>, Vec<F>),
    CheckAndInsert(F, Option<Id>, u32),
}

impl<F> Change<F> {
    fn records(&self) -> usize {
        match self {
            Self::Insert(pairs) => pairs.len(),
            Self::Delete(pairs, whole) => pairs.len() + whole.len(),
            Self::CheckAndInsert(..) => 1,
        }
    }
}

struct Job<F: Fingerprint> {
    change: Change<F>,
    durable: Durable,
    answer: oneshot::Sender<Result<Verdict<F>, Refused>>,
}

/// What the writers of all stores count.
#[derive(Default)]
pub struct WriteCounts {
    pub commits: AtomicU64,
    pub records: AtomicU64,
    pub failures: AtomicU64,
}

/// Hands changes to the thread of a store.
pub struct WriteQueue<F: Fingerprint> {
    jobs: Sender<Job<F>>,
}

impl<F: Fingerprint> WriteQueue<F> {
    /// Starts the thread. It hands what the store holds to `publish` after each commit, and ends,
    /// with all durable, once the queue is dropped.
    ///
    /// # Errors
    ///
    /// The system starts no thread.
    pub fn start(
        writer: Writer<F>,
        most_waiting: usize,
        counts: Arc<WriteCounts>,
        publish: impl Fn(Snapshot<F>) + Send + 'static,
    ) -> io::Result<(Self, JoinHandle<fpstore::Result<()>>)> {
        let (jobs, waiting) = bounded(most_waiting);
        let thread = thread::Builder::new().name("writer".to_string());
        let thread = thread.spawn(move || run(writer, &waiting, &counts, &publish))?;
        Ok((Self { jobs }, thread))
    }

    /// Changes that wait.
    pub fn waiting(&self) -> usize {
        self.jobs.len()
    }

    /// Does a change, and returns when it is as durable as is asked for.
    ///
    /// # Errors
    ///
    /// 429 if too many wait; 500 if the disk refuses: then it is not known whether it is kept.
    pub async fn change(&self, change: Change<F>, durable: Durable) -> Result<Verdict<F>, Refused> {
        let (answer, answered) = oneshot::channel();
        match self.jobs.try_send(Job { change, durable, answer }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                return Err(Refused::overloaded("too many writes wait", 1));
            }
            Err(TrySendError::Disconnected(_)) => {
                return Err(Refused::unavailable("the writer of this store has ended"));
            }
        }
        answered.await.unwrap_or_else(|_| Err(crate::pool::failed()))
    }
}

fn run<F: Fingerprint>(
    writer: Writer<F>,
    waiting: &Receiver<Job<F>>,
    counts: &WriteCounts,
    publish: &dyn Fn(Snapshot<F>),
) -> fpstore::Result<()> {
    let mut answers = Vec::new();
    loop {
        let first = match waiting.recv_timeout(LOOK) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => {
                publish(writer.snapshot());
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let (mut records, mut to_disk) = (0, false);
        let mut next = Some(first);
        while let Some(Job { change, durable, answer }) = next {
            records += change.records();
            to_disk |= durable == Durable::Disk;
            let done = apply(&writer, change);
            answers.push((answer, done));
            next = if records < TOGETHER { waiting.try_recv().ok() } else { None };
        }
        let durability = if to_disk { Durability::Immediate } else { Durability::Group };
        let committed = writer.commit(durability);
        counts.commits.fetch_add(1, Relaxed);
        counts.records.fetch_add(records as u64, Relaxed);
        // Whoever was answered sees it.
        publish(writer.snapshot());
        let failure = committed.err().map(|error| {
            counts.failures.fetch_add(1, Relaxed);
            Refused::from(error)
        });
        for (answer, done) in answers.drain(..) {
            let done = match &failure {
                Some(failure) => Err(Refused::new(
                    failure.status,
                    failure.code,
                    format!("not known to be durable: {}", failure.message),
                )),
                None => done.map_err(Refused::from),
            };
            // Whoever is gone does not hear it.
            let _ = answer.send(done);
        }
    }
    writer.commit(Durability::Immediate)
}

fn apply<F: Fingerprint>(writer: &Writer<F>, change: Change<F>) -> fpstore::Result<Verdict<F>> {
    match change {
        Change::Insert(pairs) => writer.insert_batch(&pairs).map(|()| Verdict::Inserted),
        Change::Delete(pairs, whole) => {
            if !pairs.is_empty() {
                writer.delete_batch(&pairs)?;
            }
            if !whole.is_empty() {
                writer.delete_fingerprints(&whole)?;
            }
            Ok(Verdict::Inserted)
        }
        Change::CheckAndInsert(fingerprint, id, k) => writer.check_and_insert(fingerprint, id, k),
    }
}
