//! What is told about records that were skipped.

use std::io::{self, Write};

use fpstore_records::{Records, WhySkipped};

use crate::failure::one_line;
use crate::output::say;

/// Counts what was skipped, and tells each on standard error.
#[derive(Debug, Default)]
pub struct Skipped {
    quiet: bool,
    count: u64,
}

impl Skipped {
    /// With `quiet` only the count is told.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, count: 0 }
    }

    /// Number of records that were skipped.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes what was skipped from `records`, and gives the lines that tell of it.
    pub fn take<F>(&mut self, records: &mut Records<F>) -> Option<String> {
        self.count += records.skipped.len() as u64;
        let mut lines = String::new();
        for error in records.skipped.drain(..) {
            if !self.quiet {
                lines.push_str(&format!(
                    "fpstore: skipped: {}\n",
                    one_line(&WhySkipped(&error).to_string())
                ));
            }
        }
        (!lines.is_empty()).then_some(lines)
    }

    /// Tells at once what was skipped.
    pub fn tell<F>(&mut self, records: &mut Records<F>) {
        if let Some(lines) = self.take(records) {
            // Nothing can be done if standard error is closed.
            let _ = io::stderr().write_all(lines.as_bytes());
        }
    }

    /// Tells how many of so many records were skipped, if any were.
    pub fn tell_count(&self, records: u64) {
        if self.count > 0 {
            say!("fpstore: {} of {records} records skipped", self.count);
        }
    }
}
