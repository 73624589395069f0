//! `fpstore verify`: is every byte of a store what a writer wrote?

use std::path::PathBuf;

use fpstore::{Execution, Fingerprint, width_of};

use crate::failure::Failure;
use crate::global::Globals;
use crate::output::Output;
use crate::progress::{Finds, Progress, Step, Unit};
use crate::units::plural;
use crate::width::{self, for_width};

const AFTER_HELP: &str = "\
Reads the whole store and checks all checksums, that keys ascend, that padding
is zero, that every table of a segment holds the same set, that routers and
histograms are what the blocks give, and that ids belong to the fingerprints.
Of a store that is written to it checks also the deletions, and the log as far
as it goes; behind the last whole record there may be a torn one, after a
crash.

The first thing that is wrong is told in one line on standard error, with the
file, the byte and the rule of the format that is broken; the exit code is 2.";

/// Checks every byte of a store
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The directory that `fpstore pack` wrote
    store: PathBuf,
}

/// Verifies, and prints what was checked.
pub fn run(args: &Args) -> Result<(), Failure> {
    for_width!(width_of(&args.store)?, verify(args))
}

fn verify<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let store = width::open::<F>(&args.store)?;
    let mode = args.globals.progress.mode(args.globals.quiet);
    let progress = Progress::new(mode);
    let told = progress.clone();
    let execution = Execution::new().on_progress(move |at| {
        let (unit, finds) = (Unit::Fingerprints, Finds::Nothing);
        told.step(Step { phase: "verify", unit, done: at.done, total: at.total, finds });
    });
    let checked = store.verify_with(&execution);
    progress.finish();
    let checked = checked?;
    let mut output = Output::stdout();
    if !args.globals.quiet {
        output.line(&format!("{}: sound", args.store.display()))?;
        output.line(&format!(
            "checked {}, {}, {}, {}, {}: checksums, order, padding, routers, histograms, and the \
             same set in every table of a segment",
            plural(checked.segments, "segment"),
            plural(checked.tables, "table"),
            plural(checked.blocks, "block"),
            plural(checked.fingerprints, "fingerprint"),
            plural(checked.bytes, "byte"),
        ))?;
        if store.has_ids() {
            let what = "that they belong to these fingerprints, and ascend";
            output.line(&format!("checked {} ids: {what}", checked.ids))?;
        }
        if store.stats()?.living.is_some() {
            output.line(&format!(
                "checked {}, {} of the log: checksums, order, and that none is missing",
                plural(checked.deletions, "deletion"),
                plural(checked.log_operations, "operation"),
            ))?;
        }
    }
    output.flush()
}
