//! `fpstore join`: all pairs within distance k, of one store or of two.

mod journal;
mod rows;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

use fpstore::query::JoinEvent;
use fpstore::{Execution, Fingerprint, Join, Store, width_of};

use journal::Journal;
use rows::{Rows, Sides};

use crate::apart::Used;
use crate::failure::Failure;
use crate::global::Globals;
use crate::ids::IdOutputArgs;
use crate::interrupt::Stopper;
use crate::memory;
use crate::options::any_radius;
use crate::output::say;
use crate::pairs::PairFormat;
use crate::progress::{Finds, Progress, Step, Unit};
use crate::recipes::Recipes;
use crate::table::{self, As};
use crate::target::{self, Target, TargetArgs, beside};
use crate::times::TimesArgs;
use crate::width::{self, check_radius, check_raw, for_width};

/// What ids take, at most, while they are printed.
const IDS_BYTES: u64 = 16 << 20;

const AFTER_HELP: &str = "\
Examples:
  fpstore join pages.fps > pairs.tsv             pairs within one store
  fpstore join pages.fps -k 6 -o pairs.tsv       another distance, into a file
  fpstore join new.fps pages.fps                 which new ones are known?
  fpstore join pages.fps --as ids
  fpstore join pages.fps -o pairs.tsv --resume --memory 1GiB
  for i in 0 1 2 3; do                           four machines, or processes
    fpstore join pages.fps --shard $i/4 -o pairs-$i.tsv &
  done; wait; fpstore merge-pairs pairs-?.tsv -o pairs.tsv

Output, a row for each pair of distinct fingerprints, each pair once. In a join
of one store with itself a < b; in a join of two, a is of the first store, b of
the second, and equal ones are pairs as well. The order of rows is left open;
`merge-pairs` sorts them.
  tsv      a, b, distance, separated by tabs; with ids two more fields: the ids
           of a and those of b, written as `fpstore query --help` says
  u64le    a and b as raw little-endian integers of 8 bytes, without ids; of 128
           and 256 bits 2 and 4, the most significant one first
  u32le    the same of 4 bytes, for fingerprints of 32 bits
  parquet  columns a, b (UInt64, of 32 bits UInt32, of 128 and 256 bytes),
           distance (UInt8, of 256 bits UInt16); with ids lists a_ids and b_ids
           of UInt64, or of strings where ids are names; needs -o
Words behind it: ids; header; hex, u64 or i64 (how fingerprints are written).
`dedup --pairs` and `merge-pairs` read all of them; tsv with or without a
header, with hexadecimal digits.

Memory: twice its own bytes for each fingerprint of both stores (16 of 64
bits), and some 20 MiB. What does not fit into SIZE is joined range by range of
a; with r ranges the store is read some r / 2 times. No pair is held back.

Shards: --shard I/N gives those pairs whose a lies in the range with number I,
from 0 to N - 1, of N ranges. They depend on the store alone, so that any
machine with a copy of it can take one. The first has most work.

FILE appears when it is whole; until then it is a temporary file beside it,
which goes if the join is stopped or fails. With --resume it is FILE.part,
which stays, and FILE.resume notes each range that is done: the same command
goes on behind the last one, after SIGINT, SIGTERM, SIGHUP, kill -9 or a full
disk. --memory decides how large ranges are, and may differ from run to run;
where all fits into it there is one range.

Exit codes: 0 if it is done, also where there are no pairs; 2 on an error; 129,
130 and 143 if SIGHUP, SIGINT or SIGTERM stopped it. A reader of the output
that goes away ends it with 0.";

/// Finds all pairs of fingerprints within a Hamming distance, of one store or of two
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The store whose fingerprints are paired
    #[arg(value_name = "A")]
    store: PathBuf,

    /// The store that they are paired with [default: A itself]
    #[arg(value_name = "B")]
    other: Option<PathBuf>,

    /// The greatest distance of a pair, 0 to the bits of a fingerprint [default: that which A was
    /// packed for]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    radius: Option<u32>,

    /// How rows are written: a format, and words such as ids, header, u64 and i64, as in
    /// `tsv,header`
    #[arg(long = "as", default_value = "tsv", value_parser = As::<PairFormat>::parse)]
    #[arg(value_name = "tsv|u64le|u32le|parquet[,WORD]")]
    pub form: As<PairFormat>,

    #[command(flatten)]
    target: TargetArgs,

    /// Note in FILE.resume what is done, and go on where this command was stopped
    #[arg(long, requires = "output")]
    resume: bool,

    /// Join one of N shards only; I counts from 0
    #[arg(long, value_name = "I/N", default_value = "0/1", hide_default_value = true)]
    shard: Shard,

    #[command(flatten)]
    times: TimesArgs,

    #[command(flatten)]
    id_output: IdOutputArgs,
}

/// One of several shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    index: u64,
    count: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shard = text.split_once('/').and_then(|(index, count)| {
            Some(Self { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        match shard {
            Some(shard) if shard.index < shard.count => Ok(shard),
            Some(Shard { count: 0, .. }) => Err("there is at least one shard".to_string()),
            Some(Shard { count, .. }) => {
                Err(format!("{count} shards have the numbers 0 to {}", count - 1))
            }
            None => Err("a shard is its number and that of all, such as 0/4".to_string()),
        }
    }
}

/// Joins, and writes the pairs.
pub fn run(args: Args) -> Result<(), Failure> {
    let ids = args.form.ids;
    check(&args, ids)?;
    let bits = width_of(&args.store)?;
    check_radius("join", args.radius, bits)?;
    args.form.table.check_width("join", bits)?;
    check_raw("join", args.form.shape.raw(), bits)?;
    for_width!(bits, join(args, ids))
}

fn join<F: Fingerprint>(args: Args, ids: bool) -> Result<(), Failure> {
    let start = Instant::now();
    let a = width::open::<F>(&args.store)?;
    let b = args.other.as_ref().map(|path| width::open::<F>(path)).transpose()?;
    let look = |store: &Store<F>| {
        if ids && !store.has_ids() {
            let path = store.path().display();
            return Err(Failure::Usage(format!("{path}: has no ids; leave ids out (--as)")));
        }
        args.times.of(store.snapshot(), store.path())
    };
    let (a, b) = (look(&a)?, b.as_ref().map(look).transpose()?);
    let mut recipes = Recipes::default();
    recipes.take(args.store.display(), a.recipe())?;
    if let (Some(path), Some(b)) = (&args.other, &b) {
        recipes.take(path.display(), b.recipe())?;
    }
    if !args.globals.quiet {
        recipes.tell();
    }
    let radius = args.radius.unwrap_or(a.radius());
    let limit = args.globals.memory_limit();
    let for_ids = if ids { IDS_BYTES } else { 0 };
    let join = match &b {
        Some(b) => a.join(b.clone(), radius),
        None => a.self_join(radius),
    };
    // Less than the least is refused.
    let execution = Execution::new()
        .memory(limit.saturating_sub(for_ids).max(limit.min(memory::LEAST)))
        .threads(args.globals.threads.count());
    let join = join.execution(execution.clone()).shard(args.shard.index, args.shard.count);
    join.range()?;

    let stores = [Some(&a), b.as_ref()];
    if let Some(journal) = Journal::of_whole(&args, radius, stores)? {
        journal.remove()?;
        if !args.globals.quiet {
            say!("fpstore: {} pairs within {radius}, all of them before", journal.done.pairs);
        }
        return Ok(());
    }
    let target = claim(&args)?;
    let mode =
        args.globals.progress.beside_rows(args.globals.quiet, target::is_terminal(target.as_ref()));
    let progress = Progress::new(mode);
    let stopper = Stopper::default();
    // Before the first note is written: from then on a signal keeps what there is.
    target::watch(&stopper, &progress, target.as_ref())?;
    let journal = Journal::open(&args, radius, stores, target.as_ref())?;

    let sides =
        ids.then(|| Sides { stores: [&a, b.as_ref().unwrap_or(&a)], args: &args.id_output });
    let rows = Rows::new(&args, (radius, &recipes), target.as_ref(), &journal, sides)?;
    let before = journal.done.pairs;
    let written = write(&args, join, execution, rows, journal, target.as_ref(), &progress);
    progress.finish();
    let (journal, fingerprints) = written?;
    stopper.commit(|| {
        if let Some(target) = target {
            target.commit()?;
        }
        journal.remove()
    })?;
    if !args.globals.quiet {
        let shard = match args.shard {
            Shard { count: 1, .. } => String::new(),
            Shard { index, count } => format!(" in shard {index}/{count}"),
        };
        let resumed = match args.resume && before > 0 {
            true => format!(", {before} of them before"),
            false => String::new(),
        };
        let pieces = match journal.done.ranges {
            0 | 1 => String::new(),
            ranges => format!(" in {ranges} ranges, to keep to the memory"),
        };
        say!(
            "fpstore: {} pairs within {radius}{shard}{resumed}; {fingerprints} fingerprints joined{pieces}, \
             {:.2} seconds",
            journal.done.pairs,
            start.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}

/// Finds options that do not go together.
fn check(args: &Args, ids: bool) -> Result<(), Failure> {
    let raw = args.form.shape.raw();
    args.form.table.check("join", args.form.shape == PairFormat::Tsv, raw)?;
    if args.form.shape == PairFormat::Parquet {
        table::check_parquet("join", args.target.file().is_some())?;
    }
    let message = match (raw, args.form.shape) {
        (Some(raw), _) if ids => {
            format!("join: {raw} has no room for ids; give --as tsv or parquet")
        }
        (_, PairFormat::Parquet) if args.resume => {
            "join: a file of Parquet cannot be gone on with; \
                                                    give --as tsv or raw integers with \
                                                    --resume, or several --shard"
                .to_string()
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(message))
}

/// Claims the file of the output, if one is given. What a stopped join noted is not lost by
/// accident.
fn claim(args: &Args) -> Result<Option<Target>, Failure> {
    let stores = std::iter::once(&args.store).chain(&args.other);
    let used = Used::nothing().stores(stores);
    let Some(path) = args.target.file() else {
        return match args.resume {
            true => Err(Failure::Usage(
                "join: --resume goes on with a file; give -o FILE, or leave --resume out"
                    .to_string(),
            )),
            false => args.target.claim(&used),
        };
    };
    if let Some(place) = target::place_of(path) {
        let journal = beside(&place, journal::SUFFIX);
        used.check(path)?;
        used.check(&journal)?;
        if !args.resume && !args.target.force && journal.exists() {
            return Err(Failure::Usage(format!(
                "{}: notes what a stopped join has done; give --resume to go on with it, or --force to \
                 start again",
                journal.display()
            )));
        }
    }
    match args.resume {
        true => Target::claim_part(path, args.target.force, &used).map(Some),
        false => args.target.claim(&used),
    }
}

/// Runs the join; gives what is done in the end, and the number of fingerprints that were joined
/// now.
fn write<F: Fingerprint>(
    args: &Args,
    join: Join<F>,
    execution: Execution,
    mut rows: Rows<'_, F>,
    mut journal: Journal,
    target: Option<&Target>,
    progress: &Progress,
) -> Result<(Journal, u64), Failure> {
    let Some(start) = journal.start() else { return Ok((journal, 0)) };
    let told = progress.clone();
    let execution = execution.on_progress(move |at| {
        let (done, total) = (at.done, at.total);
        let (unit, finds) = (Unit::Fingerprints, Finds::Pairs);
        told.step(Step { phase: "join", unit, done, total, finds });
    });
    let join = join.start(start).execution(execution);
    let mut pairs = journal.done.pairs;
    let summary = join.run(|event| -> Result<(), Failure> {
        match event {
            JoinEvent::Pairs(some) => {
                pairs += some.len() as u64;
                rows.push(some)?;
                progress.found(pairs, rows.written());
                Ok(())
            }
            JoinEvent::Range(range) => {
                journal.done.pairs = pairs;
                note(args, &mut journal, *range.end(), &mut rows, target)
            }
            _ => Ok(()),
        }
    })?;
    let fingerprints = summary.fingerprints;
    journal.done.pairs = pairs;
    progress.found(pairs, rows.finish()?);
    Ok((journal, fingerprints))
}

/// Notes that all pairs up to `end` are written, if that is wanted.
fn note<F: Fingerprint>(
    args: &Args,
    journal: &mut Journal,
    end: F,
    rows: &mut Rows<'_, F>,
    target: Option<&Target>,
) -> Result<(), Failure> {
    journal.done.ranges += 1;
    let Some(target) = target.filter(|_| args.resume) else { return Ok(()) };
    rows.flush()?;
    target.sync()?;
    journal.done.bytes = rows.written();
    journal.note(end)
}
