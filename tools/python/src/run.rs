//! Work that takes long: it runs on a thread of its own without the lock of the interpreter, a
//! signal (Ctrl-C) ends it, and a function in Python is told how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fpstore::{Error, Execution};
use fpstore_corpus::{Event, Monitor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::errors;

/// How often it is looked for signals, and the function in Python is told.
const LOOK: Duration = Duration::from_millis(50);

/// A phase, what is done of it, and of how much.
type At = (String, u64, u64);

/// How work runs, as it is said in Python.
#[derive(Default)]
pub struct How {
    pub threads: u16,
    pub memory: Option<u64>,
    pub tmp_dir: Option<std::path::PathBuf>,
    /// Called with phase, done and total.
    pub progress: Option<Py<PyAny>>,
}

impl How {
    /// How the library is to run, until `cancel` is set.
    fn execution(&self, cancel: &Arc<AtomicBool>) -> Execution {
        let mut execution =
            Execution::new().threads(self.threads.into()).cancel(Arc::clone(cancel));
        if let Some(bytes) = self.memory {
            execution = execution.memory(bytes);
        }
        if let Some(path) = &self.tmp_dir {
            execution = execution.scratch_directory(path);
        }
        execution
    }

    /// Runs `work`, and gives what it gives.
    ///
    /// # Errors
    ///
    /// Those of the work; what a signal handler or the function in Python raises, and then the work
    /// has stopped.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Execution) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let (running, execution) = self.start();
        running.finish(py, move || work(execution))
    }

    /// An execution for work that is done bit by bit, and ends with [`Running::finish`].
    pub fn start(&self) -> (Running<'_>, Execution) {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut execution = self.execution(&cancel);
        let mut told = None;
        if self.progress.is_some() {
            let (tell, receiver) = mpsc::channel::<At>();
            // Nobody may listen any more.
            execution = execution.on_progress(move |at| {
                tell.send((at.phase.to_string(), at.done, at.total)).unwrap_or_default();
            });
            told = Some(receiver);
        }
        (Running { cancel, told, progress: self.progress.as_ref() }, execution)
    }
}

impl How {
    /// As [`How::start`], for work on a corpus.
    pub fn watch(&self) -> (Running<'_>, Monitor) {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut monitor = Monitor::new().cancel(Arc::clone(&cancel));
        let mut told = None;
        if self.progress.is_some() {
            let (tell, receiver) = mpsc::channel::<At>();
            monitor = monitor.on_event(move |event| {
                let at = match event {
                    Event::Read { documents, .. } => ("read".to_string(), documents, 0),
                    Event::Step { phase, done, total } => (phase.to_string(), done, total),
                    _ => return,
                };
                tell.send(at).unwrap_or_default();
            });
            told = Some(receiver);
        }
        (Running { cancel, told, progress: self.progress.as_ref() }, monitor)
    }
}

/// Work that was started.
pub struct Running<'a> {
    cancel: Arc<AtomicBool>,
    told: Option<mpsc::Receiver<At>>,
    progress: Option<&'a Py<PyAny>>,
}

impl Running<'_> {
    /// Is true once the work is to end.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }

    /// Does the rest on a thread of its own, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`How::run`].
    pub fn finish<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce() -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let Self { cancel, told, progress } = self;
        py.detach(move || {
            thread::scope(|scope| {
                let (ended, end) = mpsc::channel::<()>();
                let worker = thread::Builder::new().spawn_scoped(scope, move || {
                    let done = work();
                    // Whoever waits is woken.
                    drop(ended);
                    done
                });
                let worker = worker.map_err(|refusal| errors::of(Error::threads(1, refusal)))?;
                let raised = attend(&end, told.as_ref().zip(progress));
                if raised.is_err() {
                    cancel.store(true, Ordering::Relaxed);
                }
                let panicked = |_| Err(PyRuntimeError::new_err("fpstore: a thread panicked"));
                let done = worker.join().unwrap_or_else(panicked);
                raised.and(done)
            })
        })
    }
}

/// Waits until the other end is dropped: looks for signals, and tells the function in Python how
/// far the work is.
fn attend(
    end: &mpsc::Receiver<()>,
    telling: Option<(&mpsc::Receiver<At>, &Py<PyAny>)>,
) -> PyResult<()> {
    loop {
        match end.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            _ => Python::attach(|py| {
                py.check_signals()?;
                // Only the newest counts.
                match telling
                    .and_then(|(told, progress)| told.try_iter().last().zip(Some(progress)))
                {
                    Some((at, progress)) => progress.call1(py, at).map(drop),
                    None => Ok(()),
                }
            })?,
        }
    }
}
