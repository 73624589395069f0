//! When work is to stop before its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Error, Result};

/// Flags that somebody else may set, and a time that may pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    pub(super) cancel: Vec<Arc<AtomicBool>>,
    pub(super) deadline: Option<Instant>,
}

impl Stop {
    /// Nothing but a deadline.
    pub(crate) fn at(deadline: Option<Instant>) -> Self {
        Self { cancel: Vec::new(), deadline }
    }

    /// Fails if the work is to stop. Looks at the clock only where there is a deadline.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] and [`Error::DeadlineExceeded`].
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancel.iter().any(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Error::Cancelled);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::DeadlineExceeded);
        }
        Ok(())
    }

    /// Whether the work is to stop.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.check().is_err()
    }
}
