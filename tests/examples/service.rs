//! Near-duplicate look-ups in a service: worker threads that outlive the scope that opened the
//! store, a store that is replaced while they work, and a deadline for each request.
//!
//! ```sh
//! cargo run --release --example service
//! ```

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fpstore::{Error, Execution, Match, Packer, Store};

/// Requests that wait for a worker; more are held up at [`Service::look_up`].
const WAITING: usize = 64;
/// How old what a worker sees may be.
const REFRESHED: Duration = Duration::from_millis(50);

/// A request, and where its answer goes.
struct Request {
    fingerprint: u64,
    k: u32,
    deadline: Instant,
    answer: mpsc::Sender<Result<Vec<Match>, Error>>,
}

/// Answers requests with some threads. Dropping it ends them.
pub struct Service {
    requests: Option<SyncSender<Request>>,
    workers: Vec<JoinHandle<()>>,
    store: Store,
    execution: Execution,
}

impl Service {
    /// Opens the store, and starts the workers and the thread that keeps the store up to date.
    pub fn start(path: &Path, workers: usize) -> Result<Self, Error> {
        let store = Store::open(path)?;
        let (requests, queue) = mpsc::sync_channel(WAITING);
        let queue = Arc::new(Mutex::new(queue));
        let work = |_| {
            let (store, queue) = (store.clone(), Arc::clone(&queue));
            thread::spawn(move || answer_requests(&store, &queue))
        };
        let workers = (0..workers).map(work).collect();
        // One pool for all batches and joins of the service, instead of one per request.
        Ok(Self { requests: Some(requests), workers, store, execution: Execution::new() })
    }

    /// What is stored within `k` of `fingerprint`, unless that takes longer than `timeout`.
    pub fn look_up(
        &self,
        fingerprint: u64,
        k: u32,
        timeout: Duration,
    ) -> Result<Vec<Match>, Error> {
        let (answer, answers) = mpsc::channel();
        let request = Request { fingerprint, k, deadline: Instant::now() + timeout, answer };
        // The workers live as long as the service.
        let sent = self.requests.as_ref().is_some_and(|requests| requests.send(request).is_ok());
        if sent { answers.recv().unwrap_or(Err(Error::Ended)) } else { Err(Error::Ended) }
    }

    /// Number of pairs within `k` of each other, unless counting them takes longer than `timeout`.
    pub fn count_pairs(&self, k: u32, timeout: Duration) -> Result<u64, Error> {
        let join = self.store.self_join(k).execution(self.execution.clone().timeout(timeout));
        Ok(join.run(|_| ())?.pairs)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Workers end when nobody can send any more.
        self.requests = None;
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// A worker: keeps a searcher, and with it a snapshot, until there is a newer one.
fn answer_requests(store: &Store, queue: &Mutex<Receiver<Request>>) {
    let mut searcher = store.searcher();
    loop {
        let request = queue.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(REFRESHED);
        // Reads a file of some hundred bytes; opens what is new. The old files stay readable until
        // the last searcher that uses them is gone.
        if let Err(error) = store.refresh() {
            eprintln!("still serving the store of before: {error}");
        }
        if store.generation() != searcher.snapshot().generation() {
            searcher = store.searcher();
        }
        match request {
            Ok(Request { fingerprint, k, deadline, answer }) => {
                searcher.deadline(Some(deadline));
                let found = searcher.search(fingerprint, k).map(<[Match]>::to_vec);
                // Whoever asked may have gone.
                let _ = answer.send(found);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Fingerprints that look random.
fn uniform(from: u64, count: u64) -> impl Iterator<Item = u64> {
    (from..from + count).map(|i| {
        let i = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (i ^ i >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    })
}

fn main() -> Result<(), Error> {
    let path = std::env::temp_dir().join("fpstore-service.fps");
    Packer::new().replace(true).pack(&path, uniform(0, 200_000))?;
    let service = Service::start(&path, 2)?;
    let second = Duration::from_secs(1);
    let known = uniform(7, 1).next().unwrap_or_default();
    println!("found {:?}", service.look_up(known ^ 0b101, 3, second)?);

    // The store is replaced while the service runs; it follows within some milliseconds.
    let new = uniform(1 << 40, 1).next().unwrap_or_default();
    assert!(service.look_up(new, 0, second)?.is_empty());
    Packer::new().replace(true).pack(&path, uniform(0, 200_000).chain([new]))?;
    let start = Instant::now();
    while service.look_up(new, 0, second)?.is_empty() {
        assert!(start.elapsed() < 10 * second, "the workers see what was packed");
    }
    println!("a replaced store is seen after {:?}", start.elapsed());

    // All pairs within 40 bits are nearly all pairs: twenty billion. The deadline is kept.
    let start = Instant::now();
    match service.count_pairs(40, Duration::from_millis(200)) {
        Err(Error::DeadlineExceeded) => println!("gave up after {:?}", start.elapsed()),
        other => panic!("this takes longer than the deadline: {other:?}"),
    }
    drop(service);
    // Where the directory cannot be removed, the next run replaces it.
    let _ = std::fs::remove_dir_all(&path);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_service_follows_its_store_and_keeps_its_deadlines() {
        super::main().unwrap();
    }
}
