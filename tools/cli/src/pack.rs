//! `fpstore pack`: from lists of fingerprints to a store.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fpstore::{Execution, Fingerprint, Objective, PackSession, Packer, recipe_of, width_of};
use fpstore_records::Options;

use crate::failure::Failure;
use crate::feed::{self, Feed, Known};
use crate::input::InputArgs;
use crate::interrupt::Interruptible;
use crate::memory::{self, Size};
use crate::options::{LayoutArgs, any_radius, bits, read_costs};
use crate::output::{check_summary, say};
use crate::progress::{Progress, ProgressArgs};
use crate::recipes::{self, Recipes};
use crate::threads::ThreadArgs;
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
  fpstore pack a.txt b.bin -o photos.fps --force
  psql -At -c 'select phash from photos' |
      fpstore pack - -o photos.fps --format dec
  fpstore pack pages.csv.gz -o pages.fps --fingerprint-column simhash
  fpstore pack hashes.txt -o photos.fps --ids line
  fpstore pack pages.csv -o pages.fps --id-column page_id
  fpstore pack pages.csv -o pages.fps --id-column url
  fpstore pack hashes.txt -o photos.fps -k 8 --prefer speed
  fpstore pack pdq.parquet -o pdq.fps --bits 256 -k 31
  fpstore pack monday.fps tuesday.fps -o week.fps
  fpstore pack more.txt --append photos.fps

The output is checked before any input is read. The store appears at once, when
it is complete: if pack is interrupted or killed, the place holds what it held
before. SIGHUP, SIGINT and SIGTERM end it with the codes 129, 130 and 143.

Ids: any number per fingerprint, each once; `query` and `dump` print them. All ids of
a store are numbers of 64 bits, or all are names: texts of up to 65,535 bytes such as
URLs and paths, or UUIDs. The first id of --id-column decides between numbers and
text, unless --id-type does: a whole number up to 2^64 - 1 without zeros in front
makes numbers. Where ids are text, numbers become their digits. A store of --append,
or among the inputs, says it instead. With --ids line the first record of all inputs
is 0, and skipped ones are counted; with --append it is the number behind the
greatest id of the store.

Fingerprints of different recipes are never mixed: where two of the inputs, or an
input and the store of --append, say that they were made by different ones, both lines
are shown and nothing is packed. Stores and Parquet files of this tool say it. Where some
say it and others do not, that is told on standard error; --recipe says it of those.

A store among the inputs gives its fingerprints, with its ids, as it stands when it
is opened; --ids none leaves them out. Its windows of time are lost.

--append adds a segment to a store, all else of which stays: its distance, windows
of time, deletions. Ids are needed where it has some. What stands in its log is
made a segment first. `insert` takes small additions; of large ones, this is the
fastest. `fpstore merge --full` makes one segment of all.

Memory: 16 bytes per fingerprint, 32 with ids, and some 20 MiB. What does not
fit into SIZE is sorted in temporary files, of up to 16 bytes per fingerprint
beside the store, 33 with ids. They stand in STORE, or in DIR; the next pack into the same STORE or DIR
removes those of a killed one, and none of a running one. The store is the same.
--dry-run tells beforehand, from the first bytes of each file, what it needs.

Widths: fingerprints have 32, 64, 128 or 256 bits, as --bits says, or as the first
input does that tells it: a store, the type of a column, the shape of an array,
texts of 32 or 64 hexadecimal digits each. Pipes are not asked. Those of 32 and 64
bits have tables, as below. Wider ones stand in the store once, beside a table for
each of --parts parts of their bits, by which those are found that differ there in
few bits; how many parts is chosen for the distance K, as `fpstore plan --bits`
tells, and any other distance is answered too. With --parts, those of 32 and 64
bits do as well. Memory and disk grow with the width.

Designs: every table of a store is the whole set in another order. More tables
make queries at small distances faster, and the store larger. NAME is one of
  single halves thirds quarters 2of3+1of2 2of5 sqs8 4x4 3of6
W1,W2,... cuts a fingerprint into parts of so many bits, all of them at most,
and makes a table for each. Where design or size of blocks are left open, they
are chosen for the distance K, and for this set in particular, from one to four
tables, as `fpstore plan` predicts space and time:
  --prefer balanced  fast for its size, and no larger than the fingerprints are
                     as plain integers of 4 or 8 bytes; ids come on top. Of some
                     millions on `32,16` with a short table is chosen, before
                     that mostly one table
  --prefer size      the smallest, which is mostly one table
  --prefer speed     fast, whatever its size: up to some 25 bytes each
With --short-tables, those behind the first keep only the first 32 to 56 bits of
each fingerprint, in their order: enough to find it in the first table, where it
is whole. 2^26 in `quarters` take 14.8 bytes each, not 20.5. Queries within K take
about as long, those beyond it and large batches 2 to 3 times as long; what is
damaged in the first table, `repair` finds in no other. Fingerprints of 32 bits
stay whole.
Joins, `dedup` and large batches of queries hardly gain from more tables. The
choice is the same on every machine, unless --calibration is given.

Inputs without a fingerprint make an empty store, with a warning. They do not
replace a store that holds some, unless --allow-empty is given.

What the inputs were taken for is told on standard error, a line for those that are
alike: the format, and in tables the column of the fingerprints.

A bad record ends the pack with its file and line or row, both counted from 1.
With --on-error skip each is told on standard error (with --quiet only their
number), and the others are packed. A file that is cut or damaged always ends
the pack.

`fpstore --help` explains the formats of inputs.";

/// Packs fingerprints into a store
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Files of fingerprints, or stores, whose ids are kept; `-` reads standard input
    #[arg(required = true)]
    input: Vec<PathBuf>,

    /// The store to write: a new or empty directory
    #[arg(short, long, value_name = "STORE", required_unless_present = "append")]
    output: Option<PathBuf>,

    /// Add to this store instead, as one more segment
    #[arg(long, value_name = "STORE", conflicts_with_all = ["output", "force", "allow_empty"])]
    append: Option<PathBuf>,

    /// The time of what is added to a store with windows of time: 2026-11-22, 2026-11-22T08:30:00Z,
    /// seconds since 1970, or how long ago: 7d; dates are those of UTC [default: now]
    #[arg(long, value_name = "TIME", requires = "append")]
    #[arg(hide_short_help = true)]
    time: Option<Moment>,

    /// The distance that queries will mostly ask for, and their default
    #[arg(short = 'k', default_value_t = 3, value_name = "K", conflicts_with = "append")]
    #[arg(value_parser = any_radius, allow_negative_numbers = true)]
    radius: u32,

    /// Bits of a fingerprint: 32, 64, 128 or 256 [default: what the inputs tell, or 64]
    #[arg(long, value_name = "BITS", value_parser = bits)]
    #[arg(hide_short_help = true)]
    bits: Option<u32>,

    /// Write one copy of the fingerprints and so many tables of parts of their bits, up to one for 6
    /// bits [default: as planned for the distance; of 32 and 64 bits, tables as --design says]
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    parts: Option<u16>,

    /// What to choose for, where design or size of blocks are left open
    #[arg(long, default_value = "balanced", value_name = "size|balanced|speed")]
    prefer: Objective,

    /// By which recipe the fingerprints were made: the name of a preset of `fpstore fingerprint --list`, its line, or a
    /// line of your own such as `pdq/1` [default: what the inputs say]
    #[arg(long, value_name = "LINE", value_parser = recipes::line)]
    #[arg(hide_short_help = true)]
    recipe: Option<String>,

    #[command(flatten)]
    layout: LayoutArgs,

    /// Choose for a machine with these constants, from `fpstore bench calibrate`
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    calibration: Option<PathBuf>,

    #[command(flatten)]
    threads: ThreadArgs,

    /// The most memory to take, such as 4GiB [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    /// Where temporary files go [default: STORE]
    #[arg(long, value_name = "DIR")]
    #[arg(hide_short_help = true)]
    tmp_dir: Option<PathBuf>,

    /// Tell memory, disk, size and time that the pack would need, and write nothing
    #[arg(long)]
    #[arg(hide_short_help = true)]
    dry_run: bool,

    #[command(flatten)]
    progress: ProgressArgs,

    /// Replace a store that exists; never anything else
    #[arg(short, long)]
    force: bool,

    /// Let inputs without a fingerprint replace a store that holds some
    #[arg(long)]
    #[arg(hide_short_help = true)]
    allow_empty: bool,

    /// Print the summary as one JSON object
    #[arg(long)]
    #[arg(hide_short_help = true)]
    json: bool,

    /// No progress but that of --progress, and no summary but that of --json
    #[arg(short, long)]
    #[arg(hide_short_help = true)]
    quiet: bool,

    #[command(flatten)]
    ids: IdArgs,

    #[command(flatten)]
    reading: InputArgs,
}

impl Args {
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

fn pack<F: Fingerprint>(args: Args) -> Result<(), Failure> {
    check_radius("pack", Some(args.radius), F::BITS)?;
    check_summary(args.json || !args.quiet)?;
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
    let progress = Progress::new(args.progress.mode(args.quiet));
    let work = Interruptible::default();
    let packer = kind.iter().copied().fold(packer::<F>(&args)?, Packer::ids);
    packer.check_target(args.output())?;
    let first_id = match args.append {
        Some(_) => append::prepare::<F>(args.output(), mode)?,
        None => 0,
    };
    let inputs = feed(&args, &reading).check::<F>()?;
    let recipes = recipes_of(&args, &inputs)?;
    let told = progress.clone();
    let execution = execution(&args)?
        .memory(memory_beside(&inputs, &args))
        .cancel(work.cancel.clone())
        .on_progress(move |at| told.packing(&at));
    let packer = recipes.line().into_iter().fold(packer.execution(execution), Packer::recipe);
    if !args.quiet {
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
            (0, None) if !args.allow_empty => target::check_empty(args.output())?,
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
    if !args.quiet {
        read.tell_formats();
    }
    Ok(())
}

fn packer<F: Fingerprint>(args: &Args) -> Result<Packer<F>, Failure> {
    let LayoutArgs { block_bytes, low_bits, .. } = args.layout.clone();
    let packer = Packer::new()
        .width::<F>()
        .radius(args.radius)
        .objective(args.prefer)
        .low_bits(low_bits.given())
        .short_tables(args.layout.short_tables::<F>(args.parts)?)
        .replace(args.force)
        .append(args.append.is_some())
        .append_at(args.time.map(|time| time.0))
        .execution(execution(args)?);
    let packer = args.layout.design::<F>()?.into_iter().fold(packer, Packer::design);
    let packer = args.parts.into_iter().fold(packer, Packer::parts);
    Ok(block_bytes.set(packer, Packer::block_bytes))
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
fn execution(args: &Args) -> Result<Execution, Failure> {
    let mut execution = Execution::new().threads(args.threads.count()).memory(memory_limit(args));
    if let Some(directory) = &args.tmp_dir {
        execution = execution.scratch_directory(directory);
    }
    if let Some(path) = &args.calibration {
        execution = execution.costs(read_costs(path)?);
    }
    Ok(execution)
}

/// The most memory that the process may take.
fn memory_limit(args: &Args) -> u64 {
    args.memory.map_or_else(memory::default_limit, |size| size.0)
}

/// The inputs.
fn feed<'a>(args: &'a Args, reading: &'a Options) -> Feed<'a> {
    Feed {
        inputs: &args.input,
        reading,
        quiet: args.quiet,
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
