//! `fpstore pack`: from lists of fingerprints to a store.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fpstore::{Execution, Fingerprint, PackSession, Packer, recipe_of, width_of};
use fpstore_records::Options;

use crate::failure::Failure;
use crate::feed::{self, Feed, Known};
use crate::global::Globals;
use crate::input::InputArgs;
use crate::interrupt::Interruptible;
use crate::memory;
use crate::options::{DEFAULT_K, LayoutArgs, bits};
use crate::output::{check_summary, say};
use crate::progress::Progress;
use crate::recipes::{self, Recipes};
use crate::times::Moment;
use crate::width::{check_radius, for_width};

mod append;
mod dry_run;
mod ids;
mod room;
mod stores;
mod summary;
mod target;

use ids::{Handing, IdArgs, IdMode, Resolved};

const AFTER_HELP: &str = "\
Examples:
  fpstore pack hashes.txt -o photos.fps
  fpstore pack pages.csv.gz -o pages.fps --id-column url
  fpstore pack pdq.parquet -o pdq.fps --bits 256 -k 31
  psql -At -c 'select phash from photos' |
      fpstore pack - -o photos.fps --format dec
  fpstore pack monday.fps tuesday.fps -o week.fps
  fpstore pack more.txt --append photos.fps

The output is checked before any input is read. The store appears at once, when
it is complete: until then the place holds what it held before.

Layout: -k and --prefer choose it for this set, as `fpstore plan` predicts.
balanced is fast for its size, at up to half more than the fingerprints take as
plain integers; size is the smallest; speed is fast, at up to three times as
many bytes. The choice is the same on every machine. `fpstore glossary` explains
designs:
  single halves thirds quarters 2of3+1of2 2of5 sqs8 4x4 3of6

Ids: any number of them for each fingerprint. All are numbers of 64 bits, or
all are names, such as URLs or UUIDs; the first one decides, unless --id-type
does.

Recipes: fingerprints of different ones are never mixed. Stores and Parquet
files of this tool say theirs; --recipe says it of others.

--append adds a segment to a store; `fpstore merge --full` makes one of all. A
store among the inputs gives what it holds when it is opened.

Memory: 16 bytes for each fingerprint of 64 bits, 32 with ids. What exceeds
--memory is sorted in temporary files, and the store is the same.

A bad record ends the pack, unless --on-error skip is given. Inputs without a
fingerprint never replace a store that holds some.";

/// Packs fingerprints into a store
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// Files of fingerprints, or stores, whose ids are kept; `-` reads standard input
    #[arg(required = true)]
    input: Vec<PathBuf>,

    /// The store to write: a new or empty directory
    #[arg(short, long, value_name = "STORE", required_unless_present = "append")]
    output: Option<PathBuf>,

    /// Add to this store instead, as one more segment
    #[arg(long, value_name = "STORE", conflicts_with_all = ["output", "force", "radius"])]
    append: Option<PathBuf>,

    /// The time of what is added to a store with windows of time: 2026-11-22, 2026-11-22T08:30:00Z,
    /// seconds since 1970, or how long ago: 7d; dates are those of UTC [default: now]
    #[arg(long, value_name = "TIME", requires = "append")]
    #[arg(hide_short_help = true)]
    time: Option<Moment>,

    /// Bits of a fingerprint: 32, 64, 128 or 256 [default: what the inputs tell, or 64]
    #[arg(long, value_name = "BITS", value_parser = bits)]
    #[arg(hide_short_help = true)]
    bits: Option<u32>,

    /// By which recipe the fingerprints were made: the name of a preset of `fpstore fingerprint
    /// --list`, its line, or a line of your own such as `pdq/1` [default: what the inputs say]
    #[arg(long, value_name = "LINE", value_parser = recipes::line)]
    #[arg(hide_short_help = true)]
    recipe: Option<String>,

    #[command(flatten)]
    layout: LayoutArgs,

    /// Tell memory, disk, size and time that the pack would need, and write nothing
    #[arg(long)]
    #[arg(hide_short_help = true)]
    dry_run: bool,

    /// Replace a store that exists; never anything else
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    ids: IdArgs,

    #[command(flatten)]
    reading: InputArgs,
}

impl Args {
    /// The distance that the store is for, as far as it is known.
    fn k(&self) -> u32 {
        self.layout.radius.unwrap_or(DEFAULT_K)
    }

    /// The store that is written.
    fn output(&self) -> &Path {
        // The command line has one of them.
        self.output.as_deref().or(self.append.as_deref()).unwrap_or(Path::new(""))
    }
}

/// Packs, and prints the summary.
pub fn run(args: Args) -> Result<(), Failure> {
    let bits = match (args.bits, &args.append) {
        (Some(bits), _) => bits,
        (None, Some(store)) => width_of(store)?,
        (None, None) => feed::told_width(&args.input, &args.reading.options(None, None))?,
    };
    recipes::check_bits(args.recipe.as_deref(), bits)?;
    for_width!(bits, pack(args))
}

fn pack<F: Fingerprint>(mut args: Args) -> Result<(), Failure> {
    check_radius("pack", args.layout.radius, F::BITS)?;
    check_summary(args.globals.json || !args.globals.quiet)?;
    let resolved = stores::resolve::<F>(&args, args.ids.mode()?)?;
    let Resolved { mode, kind, .. } = &resolved;
    let reading = match args.append {
        Some(_) => args.reading.beside_store(resolved.wish(), Some(memory_limit(&args))),
        None => args.reading.options(resolved.wish(), Some(memory_limit(&args))),
    };
    target::check_apart(&args)?;
    if args.dry_run {
        return dry_run::run::<F>(&args, mode, &reading);
    }
    let start = Instant::now();
    let progress = Progress::new(args.globals.progress.mode(args.globals.quiet));
    let work = Interruptible::default();
    let packer = kind.iter().copied().fold(packer::<F>(&args)?, Packer::ids);
    packer.check_target(args.output())?;
    let first_id = match args.append {
        Some(_) => append::prepare::<F>(args.output(), mode)?,
        None => 0,
    };
    let inputs = feed(&args, &reading).check::<F>()?;
    let recipes = recipes_of(&args, &inputs)?;
    args.layout.radius = args.layout.radius.or(recipes.k());
    let packer = packer.layout(args.layout.layout::<F>(args.k())?);
    let told = progress.clone();
    let execution = execution(&args)
        .memory(memory_beside(&inputs, &args))
        .cancel(work.cancel.clone())
        .on_progress(move |at| told.packing(&at));
    let packer = recipes.line().into_iter().fold(packer.execution(execution), Packer::recipe);
    if !args.globals.quiet {
        recipes.tell();
    }
    let mut handing = Handing::new(mode.clone(), first_id);
    work.set(packer.start(args.output())?);
    let bar = progress.clone();
    work.watch(move |signal, session| {
        // Destructors do not run.
        drop(session);
        bar.finish();
        say!("fpstore: {}", Failure::Signal(signal).line());
    })?;
    let read = feed(&args, &reading)
        .read(inputs.bytes, &progress, |records| handing.hand_over(records, &work));
    let result = read.and_then(|read| {
        match (read.fingerprints, &args.append) {
            (0, Some(store)) => return Err(append::nothing(store)),
            (0, None) => target::check_empty(args.output())?,
            _ => {}
        }
        handing.finish(&work)?;
        let summary = work.end(PackSession::finish);
        let summary = summary.unwrap_or(Err(fpstore::Error::Cancelled))?;
        Ok((summary, read))
    });
    progress.finish();
    let (summary, read) = match (result, work.signal()) {
        (Err(Failure::Store(fpstore::Error::Cancelled)), Some(signal)) => {
            return Err(Failure::Signal(signal));
        }
        (result, _) => result?,
    };
    if summary.distinct == 0 {
        target::warn_empty(args.output());
    }
    summary::print::<F>(&args, &summary, read.skipped, start.elapsed().as_secs_f64())?;
    if !args.globals.quiet {
        read.tell_formats();
    }
    Ok(())
}

fn packer<F: Fingerprint>(args: &Args) -> Result<Packer<F>, Failure> {
    Ok(Packer::new()
        .width::<F>()
        .layout(args.layout.layout::<F>(args.k())?)
        .replace(args.force)
        .append(args.append.is_some())
        .append_at(args.time.map(|time| time.0))
        .execution(execution(args)))
}

/// The recipe of all inputs, and of the store that they are added to.
fn recipes_of(args: &Args, inputs: &Known) -> Result<Recipes, Failure> {
    let mut recipes = Recipes::given(args.recipe.as_deref());
    recipes.join(&inputs.recipes)?;
    if let Some(store) = &args.append {
        let stored = recipe_of(store)?;
        recipes.take(store.display(), stored.as_deref())?;
    }
    Ok(recipes)
}

/// How the pack runs, as far as the arguments tell.
fn execution(args: &Args) -> Execution {
    let mut execution =
        Execution::new().threads(args.globals.threads.count()).memory(memory_limit(args));
    if let Some(directory) = &args.globals.tmp_dir {
        execution = execution.scratch_directory(directory);
    }
    execution
}

/// The most memory that the process may take.
fn memory_limit(args: &Args) -> u64 {
    args.globals.memory_limit()
}

/// The inputs.
fn feed<'a>(args: &'a Args, reading: &'a Options) -> Feed<'a> {
    Feed {
        inputs: &args.input,
        reading,
        quiet: args.globals.quiet,
        follow: false,
        stored_ids: !args.ids.are_unwanted(),
    }
}

/// The memory that the inputs leave for the store.
fn memory_beside(inputs: &Known, args: &Args) -> u64 {
    let limit = memory_limit(args);
    // What is less than the least is refused, or raised to it.
    limit.saturating_sub(inputs.buffer_bytes).max(limit.min(memory::LEAST))
}
