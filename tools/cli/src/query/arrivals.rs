//! Queries that arrive through a pipe: read by a thread of their own, so that those that are there
//! can be answered while it waits for more.

use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use fpstore::Fingerprint;
use fpstore_records::{InputError, Records, Source};

use crate::failure::Failure;
use crate::threads;

/// What has arrived and was not taken.
pub struct Arrivals<F> {
    shared: Arc<Shared<F>>,
    /// The thread that reads, until its end was told.
    reader: Option<JoinHandle<Result<(), InputError>>>,
}

struct Shared<F> {
    queue: Mutex<Queue<F>>,
    arrived: Condvar,
    taken: Condvar,
    most_queries: usize,
    most_bytes: usize,
}

#[derive(Default)]
struct Queue<F> {
    queries: Records<F>,
    /// Whether nothing more comes.
    has_ended: bool,
}

impl<F: Fingerprint> Arrivals<F> {
    /// Starts to read. About so many queries, and so many bytes of them, wait at most; then the
    /// reading does.
    ///
    /// # Errors
    ///
    /// There is no further thread.
    pub fn of(source: Source<F>, most_queries: usize, most_bytes: usize) -> Result<Self, Failure> {
        let queue = Mutex::new(Queue { queries: Records::default(), has_ended: false });
        let (arrived, taken) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { queue, arrived, taken, most_queries, most_bytes });
        let end = End(Arc::clone(&shared));
        // It is not waited for if the answers end first: nothing may come for ever.
        let reader = threads::spawn(move || end.0.read(source))?;
        Ok(Self { shared, reader: Some(reader) })
    }

    /// Takes all that is there into `to`, which is empty. Waits if there is nothing; gives `false`
    /// at the end.
    ///
    /// # Errors
    ///
    /// Those of the source, behind what stands before them.
    pub fn take(&mut self, to: &mut Records<F>) -> Result<bool, InputError> {
        let nothing = |queue: &mut Queue<F>| !queue.has_ended && queue.queries.is_empty();
        let waited = self.shared.arrived.wait_while(self.shared.lock(), nothing);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        if !queue.queries.is_empty() {
            to.append(&mut queue.queries);
            self.shared.taken.notify_one();
            return Ok(true);
        }
        drop(queue);
        match self.reader.take().map(JoinHandle::join) {
            Some(Ok(read)) => read.map(|()| false),
            Some(Err(panic)) => resume_unwind(panic),
            None => Ok(false),
        }
    }
}

impl<F: Fingerprint> Shared<F> {
    fn lock(&self) -> MutexGuard<'_, Queue<F>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut source: Source<F>) -> Result<(), InputError> {
        let mut piece = Records::default();
        loop {
            let more = source.read(&mut piece);
            let queries = piece.bytes();
            let is_full = |queue: &mut Queue<F>| {
                let there = queue.queries.fingerprints.len();
                there >= self.most_queries
                    || there > 0 && queue.queries.bytes() + queries > self.most_bytes
            };
            let waited = self.taken.wait_while(self.lock(), is_full);
            let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
            queue.queries.append(&mut piece);
            drop(queue);
            self.arrived.notify_one();
            if !more? {
                return Ok(());
            }
        }
    }
}

/// Tells that the reading is over, also where it panicked.
struct End<F: Fingerprint>(Arc<Shared<F>>);

impl<F: Fingerprint> Drop for End<F> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.arrived.notify_one();
    }
}
