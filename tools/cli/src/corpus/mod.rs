//! `fpstore corpus`: commands that clean a corpus of documents.
//!
//! `corpus dedup` works in stages, each of which leaves files in a directory of its own, so that a command that was killed is gone on with
//! ([`work`]): all documents are read and fingerprinted ([`read`], [`ledger`]); it is decided which are kept ([`decide`]); the inputs are read again,
//! and what is kept is written ([`write`]); then come the table of what was removed and the report ([`table`], [`report`]).

mod against;
mod choice;
mod cluster;
mod column;
mod decide;
mod decimal;
mod fates;
mod help;
mod ledger;
mod near;
mod per_thread;
mod read;
mod recipe;
mod report;
mod rounds;
mod settings;
mod table;
mod verify;
mod work;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fpstore::Execution;
use fpstore_text::{Fingerprinter, Recipe, Rule};
use rayon::ThreadPool;

use self::against::Earlier;
use self::choice::{Keep, Shape, TableShape, Verify};
use self::decide::{BASE_BYTES, Deciding};
use self::fates::Fates;
use self::ledger::Notes;
use self::read::Reading;
use self::report::Report;
use self::settings::Settings;
use self::work::{Found, Stage, Work};
use crate::apart::Used;
use crate::by_recipe::RecipeArgs;
use crate::documents::{DocumentArgs, Inputs, Wanted};
use crate::failure::{Failure, signal_name};
use crate::interrupt::Stopper;
use crate::memory::Size;
use crate::options::any_radius;
use crate::output::say;
use crate::progress::{Progress, ProgressArgs};
use crate::threads::ThreadArgs;

/// What is taken where nothing is said.
const MEMORY: u64 = 1 << 30;
/// What adding to a store takes at the least.
const LEAST_MEMORY: u64 = 32 << 20;

/// Cleans a corpus of documents
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Dedup(Box<DedupArgs>),
}

/// Removes exact and near duplicates from files of documents
#[derive(clap::Args)]
#[command(after_long_help = help::DEDUP)]
pub struct DedupArgs {
    /// Files of JSON lines, CSV, TSV, Parquet or plain text, compressed or not; and directories of such files
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
    #[arg(long, value_enum, default_value = "star", hide_possible_values = true)]
    #[arg(value_name = "star|components|complete")]
    clusters: Shape,

    /// Check pairs on the texts: at least this Jaccard similarity of the features
    #[arg(long, value_name = "jaccard:SHARE")]
    verify: Option<Verify>,

    /// Remove also what is near a document of this store
    #[arg(long, value_name = "STORE")]
    against: Option<PathBuf>,

    /// Add what is kept to that store, which is created if it is not there
    #[arg(long, requires_all = ["against", "id"])]
    add: bool,

    /// How the table of removed documents is written [default: parquet, where it is built in]
    #[arg(long, value_enum, value_name = "parquet|jsonl", hide_possible_values = true)]
    #[arg(hide_short_help = true)]
    removed: Option<TableShape>,

    /// Seconds after which it is noted how far the reading is
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    #[arg(hide_short_help = true)]
    checkpoint: f64,

    #[command(flatten)]
    threads: ThreadArgs,

    /// The most memory to take, such as 4GiB [default: 1GiB]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    #[command(flatten)]
    progress: ProgressArgs,

    /// No progress but that of --progress, and no summary; warnings stay
    #[arg(short, long)]
    #[arg(hide_short_help = true)]
    quiet: bool,

    #[command(flatten)]
    documents: DocumentArgs,
}

/// Runs a command.
pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Dedup(args) => dedup(args),
    }
}

/// Refuses results in a directory of inputs: the next call would take them for documents.
fn check_outside(output: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    let mut there = std::path::absolute(output).unwrap_or_else(|_| output.to_path_buf());
    while !there.exists() && there.pop() {}
    let there = there.canonicalize().unwrap_or(there);
    let around = |input: &&PathBuf| {
        input.is_dir() && input.canonicalize().is_ok_and(|input| there.starts_with(input))
    };
    match inputs.iter().find(around) {
        Some(input) => Err(Failure::Usage(format!(
            "{}: lies in {}, so that the results would be documents of the next call; name a directory elsewhere",
            output.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}

/// What the options come to.
struct Plan {
    inputs: Inputs,
    wanted: Wanted,
    recipe: Recipe,
    fingerprinter: Fingerprinter,
    rule: Rule,
    bits: Option<u32>,
    earlier: Option<Earlier>,
    settings: Settings,
    removed: TableShape,
    memory: u64,
}

fn dedup(args: &DedupArgs) -> Result<(), Failure> {
    let mut plan = Plan::new(args)?;
    let mode = args.progress.mode(args.quiet);
    let progress = Progress::new(mode);
    for (path, why) in &plan.inputs.passed_over {
        say!("fpstore: warning: {}: {why}; passed over", path.display());
    }
    let told = progress.clone();
    Stopper::default().watch(move |signal| {
        told.finish();
        let rest = "give the same command again to go on";
        say!("fpstore: stopped by {}; {rest}", signal_name(signal));
    })?;
    let done = match Work::open(&args.output, &plan.settings)? {
        Found::Done(report) => Ok(report),
        Found::Work(mut work) => {
            if let (false, Some(differ)) = (args.quiet, work.given_up()) {
                let output = args.output.display();
                say!("fpstore: {output}: starts again, without results so far: {differ}");
            }
            plan.create_store(&mut work, (!args.quiet).then_some(&progress))?;
            let pool = args.threads.start_pool()?;
            plan.work(args, *work, &pool, &progress)
        }
    };
    progress.finish();
    let report: Report = serde_json::from_slice(&done?)
        .map_err(|error| Failure::System(format!("{}: {error}", args.output.display())))?;
    if !args.quiet {
        say!("{}", report.text().trim_end());
    }
    Ok(())
}

impl Plan {
    fn new(args: &DedupArgs) -> Result<Self, Failure> {
        let recipe::Made { recipe, fingerprinter, rule, bits } =
            recipe::make(&args.recipe, args.radius)?;
        check_outside(&args.output, &args.inputs)?;
        Used::nothing().stores(&args.against).check(&args.output)?;
        let inputs = Inputs::find(&args.inputs, &args.documents)?;
        let wanted = args.documents.wanted(args.keep.column());
        let k = match rule {
            Rule::Within { k } => Some(k),
            _ => None,
        };
        let mut against = None;
        let earlier = match (&args.against, bits, k) {
            (None, ..) => None,
            (Some(path), Some(bits), Some(k)) => {
                let earlier = Earlier::open(path, bits, &recipe, k, args.add)?;
                against = Some(path.display().to_string());
                Some(earlier)
            }
            (Some(path), ..) => {
                return Err(Failure::Usage(format!(
                    "--against {}: the method {} gives several values for each document, and stores are searched for \
                     fingerprints within a distance; give another recipe",
                    path.display(),
                    recipe.method().name()
                )));
            }
        };
        let removed = args.removed.unwrap_or(match cfg!(feature = "parquet") {
            true => TableShape::Parquet,
            false => TableShape::Jsonl,
        });
        let (text, id) = settings::columns(&wanted);
        let settings = Settings {
            recipe: recipe.to_string(),
            k,
            keep: args.keep.to_string(),
            clusters: args.clusters.name().to_string(),
            verify: args.verify.map(|verify| format!("jaccard:{}", verify.jaccard)),
            text,
            id,
            on_error: if args.documents.skips() { "skip" } else { "stop" }.to_string(),
            removed: removed.file().to_string(),
            against,
            store: earlier.as_ref().and_then(|earlier| earlier.id().cloned()),
            add: args.add,
            files: inputs.files.len() as u64,
            inputs: settings::digest(&inputs),
        };
        let memory = args.memory.map_or(MEMORY, |size| size.0);
        if memory < BASE_BYTES {
            return Err(Failure::Usage(format!(
                "memory cannot be {}: corpus dedup takes {} and 64 bytes for each document at least; give \
                 more (--memory)",
                fpstore::Bytes(memory),
                fpstore::Bytes(BASE_BYTES)
            )));
        }
        Ok(Self {
            inputs,
            wanted,
            recipe,
            fingerprinter,
            rule,
            bits,
            earlier,
            settings,
            removed,
            memory,
        })
    }

    /// Creates the store that documents are added to, if it is not there.
    fn create_store(&mut self, work: &mut Work, told: Option<&Progress>) -> Result<(), Failure> {
        let Some(earlier) = &mut self.earlier else { return Ok(()) };
        if earlier.id().is_none() {
            earlier.create()?;
            let path = self.settings.against.as_deref().unwrap_or_default();
            if let Some(told) = told {
                told.beside(|| say!("fpstore: {path}: is created, and has nothing yet"));
            }
        }
        self.settings.store = earlier.id().cloned();
        work.note_store(earlier.id())
    }

    /// Does what is not done yet, and gives the report.
    fn work(
        &self,
        args: &DedupArgs,
        mut work: Work,
        pool: &ThreadPool,
        progress: &Progress,
    ) -> Result<Vec<u8>, Failure> {
        let reading = Reading {
            inputs: &self.inputs,
            wanted: &self.wanted,
            keep: &args.keep,
            added: self.earlier.as_ref().filter(|_| args.add).map(Earlier::kind),
            skips: args.documents.skips(),
            memory: self.memory / 16,
            period: Duration::try_from_secs_f64(args.checkpoint).unwrap_or(Duration::MAX),
            progress,
        };
        if work.state().stage == Stage::Read {
            reading.run(&mut work, &self.fingerprinter, pool)?;
        }
        let notes = Notes::open(&work)?;
        if work.state().stage == Stage::Decide {
            let deciding = Deciding {
                work: &work,
                notes: &notes,
                reading: &reading,
                fingerprinter: &self.fingerprinter,
                rule: self.rule,
                bits: self.bits,
                shape: args.clusters,
                keep: &args.keep,
                verify: args.verify,
                earlier: self.earlier.as_ref(),
                memory: self.memory,
                pool,
            };
            deciding.run()?.write(&work)?;
            work.note(|state| state.stage = Stage::Write(0))?;
        }
        let fates = Fates::read(&work)?;
        if let Stage::Write(from) = work.state().stage {
            write::write(&reading, &mut work, &notes, &fates, from, pool.current_num_threads())?;
        }
        let clusters = write::removed(
            &work,
            &notes,
            &fates,
            self.removed,
            self.settings.k,
            &self.settings.recipe,
        )?;
        self.add(args, &mut work, &notes, &fates, pool)?;
        let report = Report::new(&self.settings, &self.recipe, &notes, &fates, &clusters);
        let text = serde_json::to_vec_pretty(&report);
        let mut text = text.map_err(|error| Failure::System(error.to_string()))?;
        text.push(b'\n');
        let path = args.output.join("report.txt");
        fpstore::files::replace(&path, report.text().as_bytes())
            .map_err(crate::target::failure(&path, "write"))?;
        work.finish(&text)?;
        Ok(text)
    }

    /// Adds what is kept to the store, if that is wanted and was not done.
    fn add(
        &self,
        args: &DedupArgs,
        work: &mut Work,
        notes: &Notes,
        fates: &Fates,
        pool: &ThreadPool,
    ) -> Result<(), Failure> {
        let Some(earlier) = self.earlier.as_ref().filter(|_| args.add) else { return Ok(()) };
        let begun = work.state().stage == Stage::Add;
        if work.state().stage == Stage::Removed {
            work.note(|state| state.stage = Stage::Add)?;
        }
        if work.state().stage == Stage::Add {
            let execution = Execution::new()
                .threads(pool.current_num_threads())
                .memory((self.memory / 2).max(LEAST_MEMORY));
            earlier.add(notes, fates, begun, execution)?;
            work.note(|state| state.stage = Stage::Report)?;
        }
        Ok(())
    }
}
