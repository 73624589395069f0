//! Stops commands cleanly on SIGINT, SIGTERM and SIGHUP.
//!
//! A signal that was ignored when the process was started stays ignored: that is how `nohup`, and
//! `trap '' INT` in a script, protect what they start.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fpstore::PackSession;

use crate::failure::{Failure, remedy};
use crate::threads;

/// A session that may be taken away by a signal.
pub struct Interruptible<T = PackSession> {
    session: Arc<Mutex<Option<T>>>,
    /// Stops what the session is doing.
    pub cancel: Arc<AtomicBool>,
    /// The signal that came, or 0.
    signal: Arc<AtomicI32>,
    /// Whether somebody is about to end the process because of it.
    ending: Arc<AtomicBool>,
}

impl<T> Clone for Interruptible<T> {
    fn clone(&self) -> Self {
        Self {
            session: Arc::clone(&self.session),
            cancel: Arc::clone(&self.cancel),
            signal: Arc::clone(&self.signal),
            ending: Arc::clone(&self.ending),
        }
    }
}

impl<T> Default for Interruptible<T> {
    fn default() -> Self {
        Self {
            session: Arc::default(),
            cancel: Arc::default(),
            signal: Arc::default(),
            ending: Arc::default(),
        }
    }
}

impl<T: Send + 'static> Interruptible<T> {
    /// Makes `session` the one that signals stop.
    pub fn set(&self, session: T) {
        *self.lock() = Some(session);
    }

    /// Does something with the session; `None` if a signal took it.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock().as_mut().map(work)
    }

    /// Ends the session by `work`; `None` if a signal took it.
    pub fn end<R>(&self, work: impl FnOnce(T) -> R) -> Option<R> {
        let mut session = self.lock();
        session.take().map(work)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<T>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The signal that stopped the session. If another thread is about to end the process because
    /// of it, this one waits for that.
    pub fn signal(&self) -> Option<i32> {
        let signal = Some(self.signal.load(Ordering::SeqCst)).filter(|&signal| signal > 0);
        while signal.is_some() && self.ending.swap(true, Ordering::SeqCst) {
            std::thread::park();
        }
        signal
    }

    /// From now on a signal stops the session, hands it to `end`, and ends the process with the
    /// code 128 + the number of the signal. A second signal ends it at once.
    pub fn watch(&self, end: impl Fn(i32, T) + Send + Sync + 'static) -> Result<(), Failure> {
        let this = self.clone();
        on_signal(move |signal| {
            this.signal.store(signal, Ordering::SeqCst);
            this.cancel.store(true, Ordering::SeqCst);
            // A read of the input may last; the session is free meanwhile.
            let session = this.lock().take();
            let Some(session) = session else { return };
            if !this.ending.swap(true, Ordering::SeqCst) {
                end(signal, session);
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

/// From now on the first signal is handed to `act`; a second one ends the process.
#[cfg(feature = "serve")]
pub fn on_first_signal(act: impl Fn(i32) + Send + Sync + 'static) -> Result<(), Failure> {
    on_signal(act)
}

/// From now on the first signal is handed to `act`, on a thread of its own, and a second SIGINT or
/// SIGTERM ends the process. A second SIGHUP does not: where a terminal is closed, its shell and
/// the system each send one.
#[cfg(unix)]
fn on_signal(act: impl Fn(i32) + Send + Sync + 'static) -> Result<(), Failure> {
    use signal_hook::consts::SIGHUP;

    let signals = signal_hook::iterator::Signals::new(watched());
    let mut signals = signals.map_err(|error| {
        Failure::System(format!("cannot watch for signals: {error}; {}", remedy(&error)))
    })?;
    let act = Arc::new(act);
    threads::spawn(move || {
        for (number, signal) in signals.forever().enumerate() {
            if number > 0 {
                if signal == SIGHUP {
                    continue;
                }
                std::process::exit(128 + signal);
            }
            let acting = act.clone();
            if threads::spawn(move || acting(signal)).is_err() {
                // A second signal comes too late then.
                act(signal);
            }
        }
    })?;
    Ok(())
}

/// The signals that stop a command: those that whoever started the process did not have it ignore.
#[cfg(unix)]
pub fn watched() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored();
    // Where nothing is known, SIGHUP does what it always does: `nohup` is common.
    let (ignored, signals) = match ignored {
        Some(ignored) => (ignored, &[SIGINT, SIGTERM, SIGHUP][..]),
        None => (0, &[SIGINT, SIGTERM][..]),
    };
    signals.iter().copied().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

/// A bit for each signal that is ignored, the lowest one for signal 1. Linux tells it without
/// unsafe code; elsewhere it is not known.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    ignored_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

#[cfg(unix)]
fn ignored_in(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Signals do what they always do.
#[cfg(not(unix))]
fn on_signal(_act: impl Fn(i32) + Send + Sync + 'static) -> Result<(), Failure> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_what_the_system_tells() {
        let status =
            "Name:\tfpstore\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\nSigCgt:\tf\n";
        assert_eq!(ignored_in(status), Some(0x1003));
        assert_eq!(ignored_in("Name:\tfpstore\n"), None);
    }
}
