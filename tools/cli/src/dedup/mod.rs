//! `fpstore dedup`: which documents are near duplicates of each other, and which one to keep?

mod rows;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use fpstore::query::{Clusters, Keep, Pair};
use fpstore::{Execution, Fingerprint, Snapshot, width_of};

use crate::apart::Used;
use crate::failure::Failure;
use crate::global::Globals;
use crate::ids::IdOutputArgs;
use crate::interrupt::Stopper;
use crate::options::any_radius;
use crate::output::say;
use crate::pairs::{PairFormat, PairReader, PairSource};
use crate::paths::check_once;
use crate::progress::{Finds, Progress, Step, Unit};
use crate::recipes::Recipes;
use crate::table::{self, As};
use crate::target::{self, TargetArgs};
use crate::times::TimesArgs;
use crate::width::{self, check_radius, for_width};

/// Clusters of more fingerprints are warned of.
const MOST_OF_CLUSTER: u64 = 1000;

const AFTER_HELP: &str = "\
Examples:
  fpstore pack pages.csv -o pages.fps --id-column url
  fpstore dedup pages.fps > clusters.tsv
  fpstore dedup pages.fps --as per-id |
      awk -F '\\t' '$5 == \"keep\" {print $2}' > urls-to-keep
  fpstore dedup pages.fps -k 6 --keep central --as json -o clusters.jsonl
  fpstore dedup pages.fps --pairs pairs.tsv      pairs that were joined before

A cluster holds all fingerprints that are linked by pairs within K, directly or
over others. One fingerprint of each is kept, the representative:
  smallest-id  the one with the smallest id; without ids, the smallest one
  first        the one that was packed first: of ids by `pack --ids line`, which
               count the records, the smallest
  central      the one with most neighbours within K; of several, by smallest-id

Output, ascending by fingerprint, those without near ones included:
  tsv   fingerprint, ids, cluster, representative, keep or drop, separated by
        tabs; ids as `fpstore query --help` says, none if the store has none;
        clusters have numbers from 0 on
  json  an object on each line, which does not fit on one here:
{\"fingerprint\":\"8f3ac41e09b7d264\",\"ids\":[\"0\",\"17\"],\"cluster\":0,
\"representative\":\"8f3ac41e09b7d264\",\"keep\":true}
  parquet  columns fingerprint (UInt64), ids (lists of UInt64, or of strings
           where ids are names; none if the store has none), cluster (UInt64),
           representative, keep (boolean); with per-id a column id instead of
           ids; needs -o
Words behind it: per-id; header; hex, u64 or i64 (how fingerprints are written).

Several ids of one fingerprint are exact duplicates. `keep` then means to keep
one of these documents, the first id, and to drop the others. The word per-id
says so document by document: a row for each id, in which ids is just that one,
representative the id of the document that is kept instead, and just one row of
each cluster says keep.

The summary on standard error counts documents (ids, or fingerprints where
there are none), exact duplicates (documents but one of each fingerprint), near
duplicates (fingerprints that are dropped), and clusters by size. Clusters of
more than 1000 fingerprints are named in a warning: where one leads to the
next, the ends of such a chain may have nothing in common; a smaller K helps.

--pairs takes pairs that `join` wrote, all shards of the store with itself, at
K or more; those further apart are left out. TSV and Parquet are recognised;
raw integers need --format u64le, or u32le of 32 bits. Their fingerprints have
the width of those in the store.

Memory: 32 bytes per fingerprint (36 with --keep central) and 16 MiB. With
less, --memory SIZE, the pairs are found range by range, which takes longer;
the least is 20 bytes per fingerprint (24), or 28 where the store has ids (32),
and 16 MiB.

Exit codes: 0 if it is done, 2 on an error; 129, 130 and 143 if SIGHUP, SIGINT
or SIGTERM stopped it. A reader of the output that goes away ends it with 0.";

/// Finds clusters of near duplicates, and says which documents to keep
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// The greatest distance of near duplicates, 0 to the bits of a fingerprint [default: that
    /// which the store was packed for]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    radius: Option<u32>,

    /// Which fingerprint of a cluster is kept
    #[arg(long, value_enum, default_value = "smallest-id", hide_possible_values = true)]
    #[arg(value_name = "smallest-id|first|central")]
    keep: KeepArg,

    /// How rows are written: a format, and words such as per-id, header, u64 and i64, as in
    /// `tsv,header`
    #[arg(long = "as", default_value = "tsv", value_parser = As::<Shape>::parse)]
    #[arg(value_name = "tsv|json|parquet[,WORD]")]
    pub form: As<Shape>,

    /// Take the pairs from these files, and join nothing; may be given several times
    #[arg(long, value_name = "FILE")]
    pairs: Vec<PathBuf>,

    /// Format of these files; raw integers are never guessed [default: tsv or parquet, as each
    /// begins]
    #[arg(long, value_enum, hide_possible_values = true, requires = "pairs")]
    #[arg(value_name = "tsv|u64le|u32le|parquet")]
    #[arg(hide_short_help = true)]
    format: Option<PairFormat>,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    times: TimesArgs,

    #[command(flatten)]
    id_output: IdOutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KeepArg {
    SmallestId,
    First,
    Central,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    Tsv,
    Json,
    Parquet,
}

impl table::Shape for Shape {
    const WORDS: &'static [&'static str] = &["header", "hex", "u64", "i64", "per-id"];
    const JSON: Option<Self> = Some(Shape::Json);
}

/// Finds the clusters, and writes them.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.form.table.check("dedup", args.form.shape == Shape::Tsv, None)?;
    if args.form.shape == Shape::Parquet {
        table::check_parquet("dedup", args.target.file().is_some())?;
    }
    check_once(&args.pairs)?;
    let bits = width_of(&args.store)?;
    check_radius("dedup", args.radius, bits)?;
    args.form.table.check_width("dedup", bits)?;
    for_width!(bits, dedup(args))
}

fn dedup<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let opened = width::open::<F>(&args.store)?;
    let store = args.times.of(opened.snapshot(), &args.store)?;
    check(args, &store)?;
    let used = Used::nothing().stores([&args.store]).files(&args.pairs);
    let target = args.target.claim(&used)?;
    let mode =
        args.globals.progress.beside_rows(args.globals.quiet, target::is_terminal(target.as_ref()));
    let (progress, stopper) = (Progress::new(mode), Stopper::default());
    target::watch(&stopper, &progress, target.as_ref())?;
    let clusters = clusters(args, &store, &progress);
    let written = clusters.and_then(|clusters| {
        rows::write(args, &store, &clusters, target.as_ref(), &progress)?;
        Ok(clusters)
    });
    progress.finish();
    let clusters = written?;
    stopper.commit(|| target.map_or(Ok(()), |target| target.commit()))?;
    summary::tell(args, &clusters);
    Ok(())
}

/// Finds options that do not fit the store.
fn check<F: Fingerprint>(args: &Args, store: &Snapshot<F>) -> Result<(), Failure> {
    let what = match (store.has_ids(), args.form.per_id, args.keep) {
        (false, true, _) => "has no ids; leave per-id out (--as)",
        (false, _, KeepArg::First) => {
            "has no ids, so that nobody knows what came first; pack it with --ids line"
        }
        (true, _, KeepArg::First) if store.id_kind().is_some_and(|kind| kind.is_named()) => {
            "has names as ids, which do not tell what came first; pack it with --ids line, or give \
             --keep smallest-id"
        }
        (true, true, _) if args.id_output.limit_ids.is_some() => {
            "--limit-ids is for rows of several ids; leave it out with per-id"
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!("{}: {what}", args.store.display())))
}

/// The distance of near duplicates.
fn distance<F: Fingerprint>(args: &Args, store: &Snapshot<F>) -> u32 {
    args.radius.unwrap_or(store.radius())
}

/// Finds files that say that they hold other pairs, or not all that are needed.
fn check_pairs<F: Fingerprint>(
    args: &Args,
    radius: u32,
    readers: &[PairReader<F>],
) -> Result<(), Failure> {
    let refused = |name: &str, what: String| Err(Failure::Usage(format!("{name}: {what}")));
    let mut shards: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut is_told = true;
    for reader in readers {
        let name = reader.name();
        let k = reader.note("k").and_then(|k| k.parse::<u32>().ok());
        if let Some(k) = k.filter(|&k| k < radius) {
            let what = format!(
                "holds pairs within {k}, where those within {radius} are needed; join again with -k \
                 {radius}, or give -k {k}"
            );
            return refused(name, what);
        }
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let is_other = |store: &String| real(Path::new(store)) != real(&args.store);
        if let Some(store) = reader.note("store").filter(is_other) {
            say!("fpstore: warning: {name}: says that its pairs are those of {store}");
        }
        let shard = reader.note("shard");
        let parts = shard.as_deref().and_then(|shard| shard.split_once('/'));
        let parts = parts.and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((index, of)) => {
                shards.entry(of).or_default().insert(index);
            }
            None => is_told = false,
        }
    }
    // A file that says nothing may be the missing one.
    for (of, there) in shards.into_iter().filter(|_| is_told) {
        if let Some(missing) = (0..of).find(|shard| !there.contains(shard)) {
            let what = format!("the pairs of shard {missing}/{of} are missing; give its file too");
            return refused("dedup --pairs", what);
        }
    }
    Ok(())
}

fn clusters<F: Fingerprint>(
    args: &Args,
    store: &Snapshot<F>,
    progress: &Progress,
) -> Result<Clusters<F>, Failure> {
    let radius = distance(args, store);
    let limit = args.globals.memory_limit();
    let told = progress.clone();
    let execution = Execution::new()
        .threads(args.globals.threads.count())
        .memory(limit)
        .on_progress(move |at| {
            let (done, total) = (at.done, at.total);
            let (unit, finds) = (Unit::Fingerprints, Finds::Nothing);
            told.step(Step { phase: "join", unit, done, total, finds });
        });
    let clustering = store
        .clusters(radius)
        .keep(match args.keep {
            KeepArg::Central => Keep::Central,
            KeepArg::SmallestId | KeepArg::First => Keep::SmallestId,
        })
        .max_cluster(MOST_OF_CLUSTER)
        .execution(execution);
    if args.pairs.is_empty() {
        return Ok(clustering.run()?);
    }
    let (mut readers, mut recipes) = (Vec::new(), Recipes::default());
    recipes.take(args.store.display(), store.recipe())?;
    for path in &args.pairs {
        let reader: PairReader<F> = PairSource::open(path, args.format, limit)?.reader()?;
        recipes.take(reader.name(), reader.recipe().as_deref())?;
        readers.push(reader);
    }
    check_pairs(args, radius, &readers)?;
    let mut readers = readers.into_iter();
    let mut reader = readers.next();
    let pairs = std::iter::from_fn(|| {
        loop {
            match reader.as_mut()?.next() {
                Ok(Some(row)) => {
                    let (a, b) = (row.a, row.b);
                    let distance = a.distance(b);
                    if (1..=radius).contains(&distance) {
                        return Some(Ok(Pair { a, b, distance }));
                    }
                }
                Ok(None) => reader = readers.next(),
                Err(error) => return Some(Err(error)),
            }
        }
    });
    clustering.of_pairs(pairs)
}
