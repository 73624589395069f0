//! Whole or nothing: a command that is stopped never leaves something that looks finished.
//!
//! [`injected`] lets each system call of a command that changes a file fail, or kills the command
//! there. [`kills`] kills commands at random moments. [`paths`] takes the store away from under
//! them.
#![cfg(target_os = "linux")]

mod commands;
mod expected;
mod injected;
mod kills;
#[path = "../cli/oracle.rs"]
#[expect(dead_code, reason = "the other tests of the tool use all of it")]
mod oracle;
mod paths;
#[path = "../cli/scratch.rs"]
#[expect(dead_code, reason = "the other tests of the tool use all of it")]
mod scratch;
mod standing;
mod strace;

use crate::scratch::{Scratch, hex, raw};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fpstore");

/// A number from the environment, such as `FPSTORE_KILLS`.
fn number_of(variable: &str) -> Option<usize> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable}={value} is no number")))
}

/// Says something also where the test passes.
fn tell(line: &str) {
    use std::io::Write;
    writeln!(std::io::stderr().lock(), "{line}").unwrap();
}
