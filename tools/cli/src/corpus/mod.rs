//! `fpstore corpus`: commands that clean a corpus of documents, by what fpstore-corpus does.

mod decide;
mod help;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fpstore_corpus::{
    Dedup, Error, Event, Keep, Monitor, Report, Shape, TableShape, Verify, Written,
};

use crate::apart::Used;
use crate::by_recipe::RecipeArgs;
use crate::documents::{DocumentArgs, Inputs};
use crate::failure::{Failure, signal_name};
use crate::interrupt::Stopper;
use crate::memory::Size;
use crate::options::any_radius;
use crate::output::say;
use crate::progress::{Finds, Progress, ProgressArgs, Step, Unit};
use crate::threads::ThreadArgs;

/// The recipe that finds near duplicates best in few bytes, where none is given.
const RECIPE: &str = "onebit-256";

/// Cleans a corpus of documents, and shows what was removed
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Dedup(Box<DedupArgs>),
    Report(report::ReportArgs),
    Decide(decide::DecideArgs),
}

/// How a command runs, and what it shows meanwhile.
#[derive(clap::Args)]
struct RunArgs {
    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    progress: ProgressArgs,

    /// No progress but that of --progress, and no summary; warnings stay
    #[arg(short, long)]
    #[arg(hide_short_help = true)]
    quiet: bool,
}

impl RunArgs {
    fn progress(&self) -> Progress {
        Progress::new(self.progress.mode(self.quiet))
    }
}

/// How a command that decides runs.
#[derive(clap::Args)]
struct DecidingArgs {
    /// The most memory to take, such as 4GiB [default: 1GiB]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    #[command(flatten)]
    run: RunArgs,
}

impl DecidingArgs {
    fn apply(&self, dedup: Dedup) -> Dedup {
        let dedup = dedup.threads(self.run.threads.count());
        match self.memory {
            Some(memory) => dedup.memory(memory.0),
            None => dedup,
        }
    }
}

/// Removes exact and near duplicates from files of documents
#[derive(clap::Args)]
#[command(after_long_help = help::DEDUP)]
pub struct DedupArgs {
    /// Files of JSON lines, CSV, TSV, Parquet or plain text, compressed or not; and directories of
    /// such files
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    recipe: RecipeArgs,

    /// The greatest distance of near duplicates, in bits [default: what the recipe proposes]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius)]
    radius: Option<u32>,

    /// The directory of the results, which is created
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Which document of a cluster is kept
    #[arg(
        long,
        value_name = "longest|first|smallest-id|central|max:COLUMN|priority:COLUMN[=A,B,...]"
    )]
    #[arg(default_value = "first")]
    keep: Keep,

    /// What a cluster is
    #[arg(long, default_value = "star", value_name = "star|components|complete")]
    clusters: Shape,

    /// Check pairs on the texts: at least this similarity of their features
    #[arg(long, value_name = "jaccard:SHARE|containment:SHARE", hide_short_help = true)]
    verify: Option<Verify>,

    /// Remove also what is near a document of this store, by the same recipe
    #[arg(long, value_name = "STORE")]
    against: Option<PathBuf>,

    /// Add what is kept to that store, which is created if it is not there
    #[arg(long, requires_all = ["against", "id"])]
    add: bool,

    /// Which documents are written: those that are kept; all of them, with columns that say of each
    /// its cluster and the document that is kept; or nothing but the table of those that are
    /// removed
    #[arg(long, value_name = "kept|annotated[:PREFIX]|nothing", default_value = "kept")]
    write: Written,

    /// How the table of removed documents is written [default: as the first input: parquet for
    /// Parquet, csv for CSV and TSV, else jsonl]
    #[arg(long, value_name = "parquet|jsonl|csv", hide_short_help = true)]
    removed: Option<TableShape>,

    /// How long to wait for another process that works in DIR or writes to the store, such as 10s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    #[arg(hide_short_help = true)]
    wait: Option<Duration>,

    /// Seconds after which it is noted how far the reading is
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    #[arg(hide_short_help = true)]
    checkpoint: f64,

    #[command(flatten)]
    deciding: DecidingArgs,

    #[command(flatten)]
    documents: DocumentArgs,
}

/// Runs a command.
pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Dedup(args) => dedup(args),
        Command::Report(args) => report::report(args),
        Command::Decide(args) => decide::decide(args),
    }
}

fn dedup(args: &DedupArgs) -> Result<(), Failure> {
    let (progress, quiet) = (args.deciding.run.progress(), args.deciding.run.quiet);
    let dedup = configured(args)?.monitor(monitor(&progress, quiet, &args.output));
    Used::nothing().stores(&args.against).check(&args.output)?;
    let options = args.documents.options();
    let inputs = Inputs::find(&args.inputs, &options)?;
    for (path, why) in &inputs.passed_over {
        say!("fpstore: warning: {}: {why}; passed over", path.display());
    }
    stoppable(&progress)?;
    end(&progress, dedup.files(&inputs, &options, &args.output), quiet)
}

/// Tells those who stop it that it can be gone on with.
fn stoppable(progress: &Progress) -> Result<(), Failure> {
    let told = progress.clone();
    Stopper::default().watch(move |signal| {
        told.finish();
        let rest = "give the same command again to go on";
        say!("fpstore: stopped by {}; {rest}", signal_name(signal));
    })
}

/// Ends with the summary.
fn end(progress: &Progress, report: Result<Report, Error>, quiet: bool) -> Result<(), Failure> {
    progress.finish();
    let report = report?;
    if !quiet {
        say!("{}", report.text().trim_end());
    }
    Ok(())
}

/// What the options come to.
fn configured(args: &DedupArgs) -> Result<Dedup, Failure> {
    let mut dedup = Dedup::new(args.recipe.fingerprinter(RECIPE)?)
        .keep(args.keep.clone())
        .clusters(args.clusters)
        .write(args.write.clone())
        .checkpoint(Duration::try_from_secs_f64(args.checkpoint).unwrap_or(Duration::MAX));
    if let Some(k) = args.radius {
        dedup = dedup.k(k)?;
    }
    if let Some(verify) = args.verify {
        dedup = dedup.verify(verify);
    }
    if let Some(path) = &args.against {
        dedup = dedup.against(path, args.add);
    }
    if let Some(shape) = args.removed {
        dedup = dedup.removed(shape);
    }
    if let Some(most) = args.wait {
        dedup = dedup.wait(most);
    }
    Ok(args.deciding.apply(dedup))
}

/// Tells on standard error how far it is.
fn monitor(progress: &Progress, quiet: bool, output: &Path) -> Monitor {
    let (progress, output) = (progress.clone(), output.to_path_buf());
    Monitor::new().on_event(move |event| match event {
        Event::Start { bytes } => progress.start_reading(Some(bytes)),
        Event::Read { bytes, documents } => progress.read(bytes, documents),
        Event::Step { phase, done, total } => {
            let unit = if phase == "join" { Unit::Fingerprints } else { Unit::Documents };
            progress.step(Step { phase, unit, done, total, finds: Finds::Nothing });
        }
        Event::Skipped(lines) => {
            progress.beside(|| lines.lines().for_each(|line| say!("fpstore: {line}")));
        }
        Event::StartsAgain(differ) if !quiet => {
            let output = output.display();
            say!("fpstore: {output}: starts again, without results so far: {differ}");
        }
        Event::Created(path) if !quiet => progress.beside(|| {
            say!("fpstore: {}: is created, and has nothing yet", path.display());
        }),
        Event::Warning(what) => progress.beside(|| say!("fpstore: {what}")),
        _ => {}
    })
}
