//! Stops commands cleanly on SIGINT and SIGTERM.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fpstore::PackSession;

use crate::failure::Failure;

/// A session that may be taken away by a signal.
#[derive(Clone, Default)]
pub struct Interruptible {
    session: Arc<Mutex<Option<PackSession>>>,
    /// Stops what the session is doing.
    pub cancel: Arc<AtomicBool>,
    /// The signal that came, or 0.
    signal: Arc<AtomicI32>,
    /// Whether somebody is about to end the process because of it.
    ending: Arc<AtomicBool>,
}

impl Interruptible {
    /// Makes `session` the one that signals stop.
    pub fn set(&self, session: PackSession) {
        *self.lock() = Some(session);
    }

    /// Does something with the session; `None` if a signal took it.
    pub fn with<T>(&self, work: impl FnOnce(&mut PackSession) -> T) -> Option<T> {
        self.lock().as_mut().map(work)
    }

    /// Ends the session by `work`; `None` if a signal took it.
    pub fn end<T>(&self, work: impl FnOnce(PackSession) -> T) -> Option<T> {
        let mut session = self.lock();
        session.take().map(work)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<PackSession>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The signal that stopped the session. If another thread is about to end the process because of
    /// it, this one waits for that.
    pub fn signal(&self) -> Option<i32> {
        let signal = Some(self.signal.load(Ordering::SeqCst)).filter(|&signal| signal > 0);
        while signal.is_some() && self.ending.swap(true, Ordering::SeqCst) {
            std::thread::park();
        }
        signal
    }

    /// From now on a signal stops the session, removes what it wrote, and ends the process with the
    /// code 128 + the number of the signal, after `last_words`. A second signal ends it at once.
    pub fn watch(&self, last_words: impl Fn(i32) + Send + Sync + 'static) -> Result<(), Failure> {
        let this = self.clone();
        on_signal(move |signal| {
            this.signal.store(signal, Ordering::SeqCst);
            this.cancel.store(true, Ordering::SeqCst);
            // A read of the input may last; the session is free meanwhile.
            let session = this.lock().take();
            if session.is_some() && !this.ending.swap(true, Ordering::SeqCst) {
                drop(session);
                last_words(signal);
                std::process::exit(128 + signal);
            }
        })
    }
}

/// Ends the process on a signal, at once and cleanly: whoever commits a result is either before it
/// or behind it.
#[derive(Clone, Default)]
pub struct Stopper {
    committed: Arc<Mutex<bool>>,
}

impl Stopper {
    /// Makes the result of the process what it is to be; signals wait for that, and come too late
    /// then.
    pub fn commit<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut committed = self.committed.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work();
        *committed = result.is_ok();
        result
    }

    /// From now on a signal ends the process with the code 128 + the number of the signal, after
    /// `last_words`, unless the result is committed. A second signal ends it in any case.
    pub fn watch(&self, last_words: impl Fn(i32) + Send + Sync + 'static) -> Result<(), Failure> {
        let this = self.clone();
        on_signal(move |signal| {
            let committed = this.committed.lock().unwrap_or_else(PoisonError::into_inner);
            if !*committed {
                last_words(signal);
                // Nobody can commit meanwhile.
                std::process::exit(128 + signal);
            }
        })
    }
}

/// From now on the first SIGINT or SIGTERM is handed to `act`, on a thread of its own, and the
/// second ends the process.
#[cfg(unix)]
fn on_signal(act: impl Fn(i32) + Send + Sync + 'static) -> Result<(), Failure> {
    use std::thread;

    use signal_hook::consts::{SIGINT, SIGTERM};

    let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]);
    let mut signals =
        signals.map_err(|error| Failure::System(format!("cannot watch for signals: {error}")))?;
    let act = Arc::new(act);
    thread::spawn(move || {
        for (number, signal) in signals.forever().enumerate() {
            if number > 0 {
                std::process::exit(128 + signal);
            }
            let act = act.clone();
            thread::spawn(move || act(signal));
        }
    });
    Ok(())
}

/// Signals do what they always do.
#[cfg(not(unix))]
fn on_signal(_act: impl Fn(i32) + Send + Sync + 'static) -> Result<(), Failure> {
    Ok(())
}
