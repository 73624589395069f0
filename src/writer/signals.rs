//! What wakes the threads of a writer.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Hand operations to the log.
    Log,
    /// Make a segment of a log that has its end.
    Flush,
    /// See whether segments are to be merged.
    Merge,
}

/// Which tasks wait.
#[derive(Default)]
pub(super) struct Signals {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    wanted: [bool; 3],
    stopped: bool,
}

impl Signals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a task, unless that was asked for already.
    pub(super) fn request(&self, task: Task) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.wanted[task as usize], true) {
            drop(state);
            self.wake.notify_all();
        }
    }

    /// Waits until a task is asked for; false once all is to end.
    pub(super) fn wait_for(&self, task: Task) -> bool {
        let waits = |state: &mut State| !state.stopped && !state.wanted[task as usize];
        let state = self.wake.wait_while(self.state(), waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.wanted[task as usize] = false;
        !state.stopped
    }

    /// As [`Self::wait_for`], for at most so long.
    pub(super) fn wait_for_or_idle(&self, task: Task, time: Duration) -> bool {
        let waits = |state: &mut State| !state.stopped && !state.wanted[task as usize];
        let waited = self.wake.wait_timeout_while(self.state(), time, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.wanted[task as usize] = false;
        !state.stopped
    }

    /// Waits so long, or until all is to end.
    pub(super) fn pause(&self, time: Duration) {
        // What lies too far ahead for the clock does not come.
        let end = Instant::now().checked_add(time);
        let mut state = self.state();
        loop {
            let left =
                end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if state.stopped || left.is_zero() {
                return;
            }
            let waited = self.wake.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends all waiting, now and later.
    pub(super) fn stop(&self) {
        self.state().stopped = true;
        self.wake.notify_all();
    }
}
