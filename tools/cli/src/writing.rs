//! What the commands that write a store in place have in common.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use fpstore::{Durability, Error, Execution, Fingerprint, Writer, WriterOptions};

use crate::failure::{Failure, one_line, signal_name};
use crate::interrupt::Interruptible;
use crate::output::say;
use crate::progress::Progress;

/// What a crash keeps while a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durable {
    /// All that was committed.
    Immediate,
    /// All but the last moments.
    Group,
    /// What segments hold.
    Eventual,
}

impl Durable {
    /// What each piece is committed with.
    pub fn of_commits(self) -> Durability {
        match self {
            Durable::Immediate => Durability::Immediate,
            Durable::Group => Durability::Group,
            Durable::Eventual => Durability::Eventual,
        }
    }

    /// How the store is opened for work that a signal may stop.
    pub fn options<F: Fingerprint>(self, work: &Interruptible<Writer<F>>) -> WriterOptions<F> {
        let execution = Execution::new().threads(1).cancel(Arc::clone(&work.cancel));
        WriterOptions::new().width().execution(execution).durability(match self {
            // Each call would wait for the disk, and a piece is committed as a whole.
            Durable::Immediate => Durability::Group,
            _ => self.of_commits(),
        })
    }
}

/// From now on a signal ends the command, and what was written before is durable.
pub fn watch<F: Fingerprint>(
    work: &Interruptible<Writer<F>>,
    progress: &Progress,
) -> Result<(), Failure> {
    let bar = progress.clone();
    work.watch(move |signal, writer| {
        // What the end of a writer does besides may wait for the next one.
        let rest = match writer.commit(Durability::Immediate) {
            Ok(()) => "what was written before is durable".to_string(),
            Err(error) => format!("what was written last may be lost: {error}"),
        };
        bar.finish();
        let line = one_line(&format!("stopped by {}; {rest}", signal_name(signal)));
        say!("fpstore: {line}");
    })
}

/// Does something with the writer, unless a signal took it.
pub fn with<F: Fingerprint, T>(
    work: &Interruptible<Writer<F>>,
    act: impl FnOnce(&Writer<F>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    work.with(|writer| act(writer)).unwrap_or(Err(Error::Cancelled.into()))
}

/// Ends the writer, so that all is durable, also what was written before a failure.
pub fn close<F: Fingerprint, T>(
    work: &Interruptible<Writer<F>>,
    done: Result<T, Failure>,
) -> Result<T, Failure> {
    let closed = work.end(Writer::close);
    if let Some(signal) = work.signal() {
        return Err(Failure::Signal(signal));
    }
    let done = done?;
    closed.unwrap_or(Err(Error::Cancelled))?;
    Ok(done)
}

/// Bytes of the logs of the store at `path`.
pub fn log_bytes(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let logs = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with("log-") && name.ends_with(".fpl"))
    });
    logs.filter_map(|log| log.metadata().ok()).map(|data| data.len()).sum()
}
