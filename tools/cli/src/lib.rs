//! The command-line tool of fpstore.
//!
//! A library for its own program and for its siblings (`fpstore-bench`), which share how inputs are
//! read and how everything is told; it promises nothing to others.
//!
//! [`main`] maps the outcome of a subcommand to an exit code: 0 for success (for `query`: something
//! matched), 1 for a query without a match and for a comparison of benchmarks that found something
//! slower, 2 for an error, 129, 130 and 143 for a command that SIGHUP, SIGINT or SIGTERM stopped.
//! Results go to standard output; progress and the one line of an error go to standard error.

#[allow(unsafe_code, reason = "an allocator is unsafe to be")]
pub mod allocator;
pub mod apart;
mod append;
mod backup;
mod bench;
mod by_recipe;
mod cli;
mod closed;
pub mod command_line;
mod compare;
pub mod completions;
mod corpus;
mod counts;
mod create;
mod dedup;
mod delete;
pub mod documents;
mod dump;
mod evaluate;
pub mod failure;
pub mod feed;
mod fingerprint;
pub mod global;
mod glossary;
mod ids;
pub mod input;
mod insert;
pub mod interrupt;
mod join;
pub mod man;
pub mod memory;
mod merge_pairs;
pub mod options;
pub mod output;
mod pack;
mod pairs;
pub mod paths;
mod plan;
mod progress;
mod query;
mod recipes;
mod record_ids;
mod repair;
mod report;
#[cfg(feature = "serve")]
mod serve;
pub mod skipped;
mod stat;
mod table;
mod target;
pub mod threads;
mod times;
pub mod units;
mod upkeep;
mod verify;
pub mod version;
pub mod width;
mod writing;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the tool on the arguments of the process.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Runs the tool on a command line, which begins with the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let run = |cli: Option<cli::Cli>| cli.map_or(Ok(ExitCode::SUCCESS), cli::Cli::run);
    let arguments = simd_is_known().and_then(|()| command_line::read(arguments));
    command_line::end(arguments.and_then(run))
}

/// Refuses a level of vector instructions that there is not, which the library passes over.
fn simd_is_known() -> Result<(), failure::Failure> {
    let Some(wanted) = std::env::var_os("FPSTORE_SIMD") else { return Ok(()) };
    let is_known = |level: &&str| wanted.to_str().is_some_and(|it| it.eq_ignore_ascii_case(level));
    match fpstore::stats::SIMD_LEVELS.iter().any(is_known) {
        true => Ok(()),
        false => Err(failure::Failure::Usage(format!(
            "FPSTORE_SIMD is {:?}; set it to one of {}, or unset it",
            wanted.to_string_lossy(),
            fpstore::stats::SIMD_LEVELS.join(", ")
        ))),
    }
}
