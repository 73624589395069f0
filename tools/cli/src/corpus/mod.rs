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
use crate::global::Globals;
use crate::interrupt::Stopper;
use crate::options::any_radius;
use crate::output::{Output, check_summary, say};
use crate::progress::{Finds, Progress, Step, Unit};

/// The recipe that finds near duplicates best in few bytes, where none is given.
const RECIPE: &str = "onebit-256";

/// Cleans a corpus of documents, and shows what was removed
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,

    /// The options of all commands.
    #[arg(skip)]
    pub globals: Globals,
}

#[derive(clap::Subcommand)]
enum Command {
    Dedup(Box<DedupArgs>),
    Report(report::ReportArgs),
    Decide(decide::DecideArgs),
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
    documents: DocumentArgs,
}

/// Runs a command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Args { command, globals } = args;
    if globals.tmp_dir.is_some() {
        let message = "--tmp-dir: what a run has done so far is kept beside its results, so that \
                       it can go on; leave --tmp-dir out";
        return Err(Failure::Usage(message.to_string()));
    }
    match command {
        Command::Dedup(args) => dedup(args, globals),
        Command::Report(args) => report::report(args, globals),
        Command::Decide(args) => decide::decide(args, globals),
    }
}

fn dedup(args: &DedupArgs, globals: &Globals) -> Result<(), Failure> {
    check_summary(globals.json)?;
    let progress = progress(globals);
    let monitor = monitor(&progress, globals.quiet, &args.output);
    let dedup = running(configured(args)?, globals).monitor(monitor);
    Used::nothing().stores(&args.against).check(&args.output)?;
    let options = args.documents.options();
    let inputs = Inputs::find(&args.inputs, &options)?;
    for (path, why) in &inputs.passed_over {
        say!("fpstore: warning: {}: {why}; passed over", path.display());
    }
    stoppable(&progress)?;
    end(&progress, dedup.files(&inputs, &options, &args.output), globals)
}

fn progress(globals: &Globals) -> Progress {
    Progress::new(globals.progress.mode(globals.quiet))
}

/// With the threads and the memory of the command. Results depend on neither.
fn running(dedup: Dedup, globals: &Globals) -> Dedup {
    let dedup = dedup.threads(globals.threads.count());
    match globals.memory {
        Some(memory) => dedup.memory(memory.0),
        None => dedup,
    }
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
fn end(
    progress: &Progress,
    report: Result<Report, Error>,
    globals: &Globals,
) -> Result<(), Failure> {
    progress.finish();
    let report = report?;
    if globals.json {
        let mut output = Output::stdout();
        output.json(&report)?;
        return output.flush();
    }
    if !globals.quiet {
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
    Ok(dedup)
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
