//! Standard output: buffered, with a closed pipe told apart from other failures.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Buffered standard output. Dropping it passes on what was written, and cannot tell whether that
/// worked; `flush` can.
pub struct Output {
    to: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Locks standard output until the value is dropped.
    pub fn stdout() -> Self {
        Self { to: BufWriter::with_capacity(1 << 16, io::stdout().lock()) }
    }

    /// Writes `bytes`, sooner or later.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.to.write_all(bytes).map_err(failure)
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
        let line = serde_json::to_string(value).map_err(|e| Failure::Output(e.into()))?;
        self.line(&line)
    }

    /// Passes on everything that was written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.to.flush().map_err(failure)
    }
}

fn failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::Output(error),
    }
}

/// A fingerprint as it is printed everywhere: 16 lower-case hexadecimal digits.
pub fn hex(fingerprint: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    for (i, digit) in digits.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(fingerprint >> (60 - 4 * i) & 15) as usize];
    }
    digits
}
