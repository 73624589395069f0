//! `fpstore verify`: is every byte of a store what a writer wrote?

use std::path::PathBuf;

use fpstore::Store;

use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Reads the whole store and checks all checksums, that keys ascend, that padding
is zero, that every table of a segment holds the same set, and that routers
and histograms are what the blocks give.

The first thing that is wrong is told in one line on standard error, with the
file, the byte and the rule of the format that is broken; the exit code is 2.";

/// Checks every byte of a store
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// Print nothing if the store is sound
    #[arg(long)]
    quiet: bool,
}

/// Verifies, and prints what was checked.
pub fn run(args: &Args) -> Result<(), Failure> {
    let checked = Store::open(&args.store)?.verify()?;
    let mut output = Output::stdout();
    if !args.quiet {
        output.line(&format!("{}: sound", args.store.display()))?;
        output.line(&format!(
            "checked {} segments, {} tables, {} blocks, {} fingerprints, {} bytes: checksums, order, \
             padding, routers, histograms, and the same set in every table of a segment",
            checked.segments, checked.tables, checked.blocks, checked.fingerprints, checked.bytes,
        ))?;
    }
    output.flush()
}
