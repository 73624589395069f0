//! Where results go: standard output or a file, buffered, with a closed pipe told apart from other
//! failures.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::closed;
use crate::failure::Failure;

/// Says something on standard error. Unlike `eprintln!` it goes on where that is full or its reader
/// is gone: what is said there is no result.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($part)*);
    }};
}
pub(crate) use say;

/// Bytes that are written together.
const BUFFER_BYTES: usize = 1 << 16;

/// A buffered output. Dropping it passes on what was written, and cannot tell whether that worked;
/// `flush` can.
pub struct Output {
    to: BufWriter<Box<dyn Write>>,
    /// The file, for messages; `None` stands for standard output.
    path: Option<PathBuf>,
    written: u64,
    /// Whether it is standard output, and closed.
    is_closed: bool,
}

impl Output {
    /// Locks standard output until the value is dropped. Where it is closed, the first byte fails.
    pub fn stdout() -> Self {
        let output = Self::new(Box::new(io::stdout().lock()), None);
        Self { is_closed: closed::is_stdout(), ..output }
    }

    /// Writes to a file, from where it stands; `path` is for messages.
    pub fn file(file: File, path: &Path) -> Self {
        Self::new(Box::new(file), Some(path.to_path_buf()))
    }

    fn new(to: Box<dyn Write>, path: Option<PathBuf>) -> Self {
        Self { to: BufWriter::with_capacity(BUFFER_BYTES, to), path, written: 0, is_closed: false }
    }

    /// Counts so many bytes as written before.
    pub fn behind(self, bytes: u64) -> Self {
        Self { written: bytes, ..self }
    }

    /// Bytes that were written so far, passed on or not.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes `bytes`, sooner or later.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.is_closed && !bytes.is_empty() {
            return Err(Failure::NoOutput);
        }
        let result = self.to.write_all(bytes);
        self.written += bytes.len() as u64;
        result.map_err(|error| self.failure(error))
    }

    /// As [`Self::bytes`], and empties `bytes`.
    pub fn take(&mut self, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        self.bytes(bytes)?;
        bytes.clear();
        Ok(())
    }

    /// Writes `text` and a line end.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes `value` as JSON on one line.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(value).map_err(|error| self.failure(error.into()))?;
        self.line(&line)
    }

    /// Passes on everything that was written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let result = self.to.flush();
        result.map_err(|error| self.failure(error))
    }

    fn failure(&self, source: io::Error) -> Failure {
        match &self.path {
            Some(path) => not_written(path, source),
            None if source.kind() == io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            None => Failure::Output(source),
        }
    }
}

/// Why `path` was not written. It may be a pipe, whose reader has enough.
pub fn not_written(path: &Path, source: io::Error) -> Failure {
    match source.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::File { path: path.to_path_buf(), action: "write", source },
    }
}

/// Fails where standard output is closed, before a command takes its time for results.
///
/// # Errors
///
/// [`Failure::NoOutput`].
pub fn check_stdout() -> Result<(), Failure> {
    if closed::is_stdout() { Err(Failure::NoOutput) } else { Ok(()) }
}

/// The same of a command whose summary `is_printed` there, before it changes anything.
///
/// # Errors
///
/// [`Failure::NoOutput`].
pub fn check_summary(is_printed: bool) -> Result<(), Failure> {
    if is_printed { check_stdout() } else { Ok(()) }
}
