//! What a call tells while it works, and how it is stopped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;

/// What is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Files of so many bytes in all are about to be read.
    Start {
        /// Bytes, compressed where files are.
        bytes: u64,
    },
    /// So much was read.
    Read {
        /// Bytes of files.
        bytes: u64,
        /// Documents.
        documents: u64,
    },
    /// A phase that reads no files is so far.
    Step {
        /// What is being done, in one word.
        phase: &'static str,
        /// Documents that are done.
        done: u64,
        /// Of how many.
        total: u64,
    },
    /// A bad record was skipped: the message, of one line for each.
    Skipped(&'a str),
    /// What another call had begun in the directory has no result yet, and is given up: what
    /// differs.
    StartsAgain(&'a str),
    /// A store was created to add documents to.
    Created(&'a Path),
    /// Something is not as it should be, and it goes on all the same.
    Warning(&'a str),
}

type Tell = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Who is told, and who may stop it. The default tells nobody and is never stopped.
#[derive(Clone, Default)]
pub struct Monitor {
    tell: Option<Tell>,
    cancel: Arc<AtomicBool>,
}

impl Monitor {
    /// Tells nobody, and is never stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `tell` now and then; from one thread at a time, but not always from the same.
    #[must_use]
    pub fn on_event(mut self, tell: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.tell = Some(Arc::new(tell));
        self
    }

    /// Stops with [`Error::Stopped`] soon after `cancel` is true. What was done stays, and the next
    /// call goes on.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = cancel;
        self
    }

    pub(crate) fn tell(&self, event: Event<'_>) {
        if let Some(tell) = &self.tell {
            tell(event);
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }

    pub(crate) fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }
}
