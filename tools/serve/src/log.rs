//! The log: lines on standard error, which no request waits for.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use crossbeam_channel::{Sender, bounded};

use crate::metrics::Metrics;

/// Lines that wait to be written. What comes on top is dropped, and counted.
const WAITING: usize = 8192;

/// Takes lines.
#[derive(Clone)]
pub struct Log {
    lines: Sender<String>,
    metrics: Arc<Metrics>,
}

/// Writes lines until all [`Log`]s are gone.
pub struct LogWriter(JoinHandle<()>);

impl LogWriter {
    /// Waits until all is written.
    pub fn finish(self) {
        // It does not panic.
        let _ = self.0.join();
    }
}

impl Log {
    /// # Errors
    ///
    /// The system starts no thread.
    pub fn start(metrics: Arc<Metrics>) -> io::Result<(Self, LogWriter)> {
        let (lines, written) = bounded::<String>(WAITING);
        let thread = thread::Builder::new().name("log".to_string()).spawn(move || {
            for first in written.iter() {
                // Those that are there go by one call.
                let more: String = written.try_iter().take(WAITING).collect();
                // Nothing can be done if standard error is closed.
                let _ = io::stderr().write_all((first + &more).as_bytes());
            }
        })?;
        Ok((Self { lines, metrics }, LogWriter(thread)))
    }

    /// Writes a line, with the time in front and everything escaped that would end it.
    pub fn line(&self, text: &str) {
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        let mut line = format!("{time} ");
        for c in text.chars() {
            match c.is_control() {
                true => line.extend(c.escape_default()),
                false => line.push(c),
            }
        }
        line.push('\n');
        if self.lines.try_send(line).is_err() {
            self.metrics.log_lines_dropped.fetch_add(1, Relaxed);
        }
    }
}
