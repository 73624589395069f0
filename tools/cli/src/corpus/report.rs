//! `fpstore corpus report`: a page that shows people what was removed.

use std::path::PathBuf;

use fpstore_corpus::Stored;

use super::{help, monitor, progress};
use crate::apart::Used;
use crate::failure::Failure;
use crate::global::Globals;
use crate::interrupt::Stopper;
use crate::target::{self, Target};

/// Shows in a page of HTML what was removed, and the pairs on both sides of the threshold
#[derive(clap::Args)]
#[command(after_long_help = help::REPORT)]
pub struct ReportArgs {
    /// The results of corpus dedup
    #[arg(value_name = "DIR")]
    results: PathBuf,

    /// The page; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Replace FILE if it exists
    #[arg(short, long)]
    force: bool,
}

/// Writes the page.
pub fn report(args: &ReportArgs, globals: &Globals) -> Result<(), Failure> {
    globals.refuse_json("corpus report")?;
    let stored = Stored::open(&args.results)?;
    let inputs = stored.report().settings.find_inputs()?;
    let used = Used::nothing().files(inputs.files.iter().map(|input| &input.path));
    let target = Target::claim(&args.output, args.force, &used)?;
    let (progress, stopper) = (progress(globals), Stopper::default());
    target::watch(&stopper, &progress, Some(&target))?;
    let monitor = monitor(&progress, globals.quiet, &args.results);
    let page = stored.page(globals.threads.count(), globals.memory_limit(), &monitor);
    progress.finish();
    let mut output = target::output(Some(&target))?;
    output.bytes(page?.as_bytes())?;
    output.flush()?;
    drop(output);
    stopper.commit(|| target.commit())
}
