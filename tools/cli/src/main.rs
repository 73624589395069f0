//! The command-line tool of fpstore.
//!
//! `main` maps the outcome of a subcommand to an exit code: 0 for success (for `query`: something
//! matched), 1 for a query without a match and for a comparison of benchmarks that found something
//! slower, 2 for an error, 129, 130 and 143 for a command that SIGHUP, SIGINT or SIGTERM stopped. Results go to
//! standard output; progress and the one line of an error go to standard error.

mod bench;
mod cli;
mod completions;
mod dedup;
mod dump;
mod failure;
mod glossary;
mod ids;
mod input;
mod interrupt;
mod join;
mod man;
mod memory;
mod merge_pairs;
mod options;
mod output;
mod pack;
mod pairs;
mod plan;
mod progress;
mod query;
mod report;
mod stat;
mod table;
mod target;
mod units;
mod verify;
mod version;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::failure::Failure;

fn main() -> ExitCode {
    let run = |cli: Option<cli::Cli>| cli.map_or(Ok(ExitCode::SUCCESS), cli::Cli::run);
    match cli::Cli::read().and_then(run) {
        Ok(code) => code,
        // Whoever read our output has enough of it.
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing can be done if standard error is closed too.
            let _ = writeln!(io::stderr(), "fpstore: {}", failure.line());
            ExitCode::from(failure.code())
        }
    }
}
