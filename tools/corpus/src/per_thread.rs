//! What threads of a pool need for themselves.

use std::sync::{Mutex, PoisonError};

/// Things of which each thread of a pool has its own.
pub struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    pub fn new(threads: usize, make: impl Fn() -> T) -> Self {
        Self((0..threads.max(1)).map(|_| Mutex::new(make())).collect())
    }

    /// Does something with that of this thread.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let thread = rayon::current_thread_index().unwrap_or_default() % self.0.len();
        work(&mut self.0[thread].lock().unwrap_or_else(PoisonError::into_inner))
    }
}
