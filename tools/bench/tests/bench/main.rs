//! Runs the real program and holds it to its contract: what it measures, writes and compares.

mod browser;
mod help;
#[path = "../../../cli/tests/cli/oracle.rs"]
#[expect(dead_code, reason = "the tests of the tool use all of it")]
mod oracle;
mod report;
#[path = "../../../cli/tests/cli/scratch.rs"]
#[expect(dead_code, reason = "the tests of the tool use all of it")]
mod scratch;
mod sweep;

use crate::scratch::{Scratch, raw};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fpstore-bench");
