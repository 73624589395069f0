//! Runs the real binary and holds it to its contract: what it prints where, and its exit codes.

mod append;
mod backup;
mod bad_input;
mod bad_records;
#[cfg(unix)]
mod bench;
mod broken_files;
mod compare;
mod corpus;
mod crash;
mod dedup;
mod evaluate;
mod external;
mod fingerprint;
mod formats;
mod help;
mod hostile;
mod ids;
mod inputs;
mod join;
mod living;
mod living_stat;
mod maintenance;
mod names;
mod oracle;
#[cfg(unix)]
mod outputs;
mod pack;
#[cfg(feature = "parquet")]
mod pairs;
#[cfg(target_os = "linux")]
mod peak;
mod pipes;
mod plan;
#[cfg(unix)]
mod planted;
mod progress;
mod query;
mod recipes;
#[cfg(target_os = "linux")]
mod refused;
mod remedies;
mod repair;
#[cfg(feature = "parquet")]
mod round_trips;
mod scratch;
#[cfg(feature = "serve")]
mod serve;
mod short;
#[cfg(target_os = "linux")]
mod signals;
mod stoppable;
mod tables;
mod taken;
mod terminal;
mod values;
mod widths;
mod windows;
mod writers;

use crate::scratch::{Ran, Scratch, hex, raw, unhex};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fpstore");

/// Compares with a number that was printed in decimal, or computed in another way.
#[track_caller]
fn assert_is_near(printed: &serde_json::Value, expected: f64) {
    let number = printed.as_f64().unwrap();
    assert!((number / expected - 1.0).abs() < 1e-9, "{number} is not {expected}");
}
