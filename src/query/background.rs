//! Results of work that runs in a thread of its own, as an iterator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::vec;

use crate::error::{Error, Result};

/// Pieces on their way to the caller.
const QUEUED: usize = 4;

/// What work in the background has found, piece by piece. Dropping it stops the work soon.
pub(super) struct Background<T> {
    receiver: Receiver<Vec<T>>,
    ready: vec::IntoIter<T>,
    /// Gone once its end was seen.
    worker: Option<JoinHandle<Result<()>>>,
    dropped: Arc<AtomicBool>,
}

/// Takes pieces of results, and says when nobody wants any more.
pub(super) struct Pieces<T> {
    sender: SyncSender<Vec<T>>,
    /// Set when the iterator is gone.
    pub(super) dropped: Arc<AtomicBool>,
}

impl<T> Pieces<T> {
    /// Hands on a piece; false if nobody takes it.
    pub(super) fn send(&self, piece: Vec<T>) -> bool {
        self.sender.send(piece).is_ok()
    }
}

impl<T: Send + 'static> Background<T> {
    /// Starts `work`.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`] if the system cannot start a thread.
    pub(super) fn start(
        work: impl FnOnce(Pieces<T>) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let (sender, receiver) = mpsc::sync_channel(QUEUED);
        let dropped = Arc::new(AtomicBool::new(false));
        let pieces = Pieces { sender, dropped: Arc::clone(&dropped) };
        let worker = thread::Builder::new().name("fpstore".to_string()).spawn(move || work(pieces));
        let worker = worker.map_err(|source| Error::threads(1, source))?;
        Ok(Self { receiver, ready: Vec::new().into_iter(), worker: Some(worker), dropped })
    }
}

impl<T> Iterator for Background<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        loop {
            if let Some(item) = self.ready.next() {
                return Some(Ok(item));
            }
            match self.receiver.recv() {
                Ok(piece) => self.ready = piece.into_iter(),
                // The work has ended, well or not.
                Err(_) => {
                    let ended = self.worker.take()?.join();
                    let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    return ended.err().map(Err);
                }
            }
        }
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}
