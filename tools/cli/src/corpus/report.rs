//! `fpstore corpus report`: a page that shows people what was removed.

use std::path::PathBuf;

use fpstore_corpus::Stored;

use super::{RunArgs, help, monitor};
use crate::apart::Used;
use crate::failure::Failure;
use crate::interrupt::Stopper;
use crate::memory::{self, Size};
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

    /// The most memory to take, such as 4GiB [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    #[command(flatten)]
    run: RunArgs,
}

/// Writes the page.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let stored = Stored::open(&args.results)?;
    let inputs = stored.report().settings.find_inputs()?;
    let used = Used::nothing().files(inputs.files.iter().map(|input| &input.path));
    let target = Target::claim(&args.output, args.force, &used)?;
    let (progress, stopper) = (args.run.progress(), Stopper::default());
    target::watch(&stopper, &progress, Some(&target))?;
    let monitor = monitor(&progress, args.run.quiet, &args.results);
    let memory = args.memory.map_or_else(memory::default_limit, |size| size.0);
    let page = stored.page(args.run.threads.count(), memory, &monitor);
    progress.finish();
    let mut output = target::output(Some(&target))?;
    output.bytes(page?.as_bytes())?;
    output.flush()?;
    drop(output);
    stopper.commit(|| target.commit())
}
