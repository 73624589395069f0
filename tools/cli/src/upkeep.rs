//! `fpstore flush`, `merge` and `expire`: what a writer does with segments, at once instead of in
//! time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use fpstore::{Error, Execution, Fingerprint, Snapshot, Writer, WriterOptions, width_of};
use serde::Serialize;

use crate::counts::Count;
use crate::failure::Failure;
use crate::global::Globals;
use crate::interrupt::Interruptible;
use crate::output::{Output, check_summary};
use crate::progress::Progress;
use crate::times::{self, Moment};
use crate::units::{self, plural};
use crate::width::for_width;
use crate::writing;

const AFTER_FLUSH: &str = "\
What was inserted and deleted last stands in a log, and each process that opens
the store reads that into memory. A flush makes a segment of it, or one for
each window of time. That happens by itself once there are half a million
records, or 65,536 of 128 or 256 bits.";

const AFTER_MERGE: &str = "\
Without --full it merges what a writer would merge in the background: small
segments into larger ones, and such with many deletions. With --full all
segments become one, or one for each window of time, as `fpstore pack` would
write it, from which what was deleted is gone. That reads the whole store,
writes what is not so already, and needs room for a second copy until it ends.

Readers go on meanwhile. If the command is stopped or killed, the segments stay
as they were.";

const AFTER_EXPIRE: &str = "\
Examples:
  fpstore expire news.fps --before 300d          older than 300 days
  fpstore expire news.fps --before 2026-01-01

Drops all windows that end at TIME or earlier, without reading them, and their
space is free at once. A window that ends later stays as a whole.";

/// Makes a segment of what stands in the log of a store
#[derive(clap::Args)]
#[command(after_long_help = AFTER_FLUSH)]
pub struct FlushArgs {
    #[command(flatten)]
    pub common: Common,
}

/// Merges segments of a store
#[derive(clap::Args)]
#[command(after_long_help = AFTER_MERGE)]
pub struct MergeArgs {
    #[command(flatten)]
    pub common: Common,

    /// Merge all segments into one, or one for each window of time
    #[arg(long)]
    full: bool,
}

/// Drops the windows of time of a store that are too old
#[derive(clap::Args)]
#[command(after_long_help = AFTER_EXPIRE)]
pub struct ExpireArgs {
    #[command(flatten)]
    pub common: Common,

    /// Windows that end at this time or before it go: 2026-11-22, 2026-11-22T08:30:00Z, seconds
    /// since 1970, or how long ago: 300d
    #[arg(long, value_name = "TIME")]
    before: Moment,
}

/// What all three take.
#[derive(clap::Args)]
pub struct Common {
    #[arg(skip)]
    pub globals: Globals,

    /// The store, which `create` or `pack` wrote
    store: PathBuf,
}

/// What is done.
enum Upkeep {
    Flush,
    Merge { full: bool },
    Expire { before: Moment },
}

/// What a store takes at a moment.
struct Taken {
    segments: u64,
    /// Of all files, logs included.
    bytes: u64,
    /// Insertions and deletions that stand in the log.
    log_operations: u64,
    /// Changes with each commit.
    generation: u64,
}

/// What goes with windows that are too old.
#[derive(Clone, Copy)]
struct Dropped {
    windows: u64,
    fingerprints: Count,
}

/// The summary in JSON.
#[derive(Serialize)]
struct Summary {
    store: String,
    segments_before: u64,
    segments_after: u64,
    /// Of all files, logs included.
    bytes_before: u64,
    bytes_after: u64,
    /// What stood in the log and in no segment.
    log_operations_before: u64,
    log_operations_after: u64,
    /// Windows that `expire` dropped, and the distinct fingerprints in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    windows_dropped: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprints_dropped: Option<u64>,
    /// Whether there were so many of these, else at most so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    seconds: f64,
}

/// Makes segments of the log.
pub fn flush(args: &FlushArgs) -> Result<(), Failure> {
    run(&args.common, &Upkeep::Flush)
}

/// Merges segments.
pub fn merge(args: &MergeArgs) -> Result<(), Failure> {
    run(&args.common, &Upkeep::Merge { full: args.full })
}

/// Drops old windows.
pub fn expire(args: &ExpireArgs) -> Result<(), Failure> {
    run(&args.common, &Upkeep::Expire { before: args.before })
}

impl Upkeep {
    /// What will go with windows that are too old.
    fn dropped<F: Fingerprint>(&self, snapshot: &Snapshot<F>) -> Result<Option<Dropped>, Failure> {
        let Upkeep::Expire { before } = self else { return Ok(None) };
        let window = snapshot.stats()?.living.and_then(|living| living.window);
        // Without windows the writer says so.
        let Some(window) = window else { return Ok(None) };
        let since = before.0.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let end = UNIX_EPOCH + Duration::from_secs(since - since % window.as_secs());
        let old = snapshot.between(UNIX_EPOCH..end)?;
        let windows = old.window_count();
        Ok(Some(Dropped { windows, fingerprints: Count::of(&old)? }))
    }

    /// What it came to, in words.
    fn done(&self, before: &Taken, after: &Taken, dropped: Option<Dropped>) -> String {
        match (self, dropped) {
            (Upkeep::Flush, _) if before.log_operations == 0 => "the log was empty".to_string(),
            (Upkeep::Flush, _) => format!(
                "{} moved from the log into segments, {} now",
                match before.log_operations {
                    1 => "1 insertion or deletion".to_string(),
                    some => format!("{} insertions and deletions", units::count(some)),
                },
                units::count(after.segments)
            ),
            (Upkeep::Merge { .. }, _) if before.generation == after.generation => {
                "nothing to merge".to_string()
            }
            (Upkeep::Merge { .. }, _) => format!(
                "merged, {} now, {} before",
                plural(after.segments, "segment"),
                units::count(before.segments)
            ),
            (Upkeep::Expire { before }, dropped) => {
                let time = times::moment(before.0);
                match dropped.filter(|dropped| dropped.windows > 0) {
                    None => format!("no window ends before {time}"),
                    Some(Dropped { windows, fingerprints }) => format!(
                        "{} that ended before {time} dropped, with {fingerprints}",
                        plural(windows, "window"),
                    ),
                }
            }
        }
    }

    /// Does it with a store, which is there for messages.
    fn act<F: Fingerprint>(&self, writer: &Writer<F>, store: &Path) -> Result<(), Failure> {
        match self {
            Upkeep::Flush => Ok(writer.flush()?),
            Upkeep::Merge { full: true } => Ok(writer.merge_all()?),
            Upkeep::Merge { full: false } => Ok(writer.merge()?),
            Upkeep::Expire { before } => {
                writer.expire(before.0).map(drop).map_err(|error| match error {
                    Error::InvalidOption { .. } => Failure::Usage(format!(
                        "{}: has no windows of time, so that nothing is known to be old; create it \
                         with --window",
                        store.display()
                    )),
                    other => other.into(),
                })
            }
        }
    }
}

/// Opens the store for writing, does something with it, and tells what that came to.
fn run(args: &Common, upkeep: &Upkeep) -> Result<(), Failure> {
    check_summary(args.globals.json || !args.globals.quiet)?;
    for_width!(width_of(&args.store)?, run_in(args, upkeep))
}

fn run_in<F: Fingerprint>(args: &Common, upkeep: &Upkeep) -> Result<(), Failure> {
    let start = Instant::now();
    let progress = Progress::new(args.globals.progress.mode(args.globals.quiet));
    let (work, told) = (Interruptible::default(), progress.clone());
    let execution = Execution::new()
        .threads(args.globals.threads.count())
        .cancel(Arc::clone(&work.cancel))
        .on_progress(move |at| told.packing(&at));
    // Nothing but what was asked for.
    let options = WriterOptions::new().width::<F>().background(false).execution(execution);
    let writer = options.open(&args.store)?;
    let before = Taken::by(&args.store, &writer.snapshot())?;
    let dropped = upkeep.dropped(&writer.snapshot())?;
    work.set(writer);
    writing::watch(&work, &progress)?;
    let acted = writing::with(&work, |writer| {
        upkeep.act(writer, &args.store)?;
        Ok(writer.snapshot())
    });
    progress.finish();
    let after = writing::close(&work, acted)?;
    let after = Taken::by(&args.store, &after)?;
    print(args, upkeep, (&before, &after, dropped), start.elapsed().as_secs_f64())
}

impl Taken {
    fn by<F: Fingerprint>(path: &Path, snapshot: &Snapshot<F>) -> Result<Self, Failure> {
        let stats = snapshot.stats()?;
        let bytes = stats.bytes.saturating_add(writing::log_bytes(path));
        let log_operations = stats.living.map_or(0, |living| living.log_operations);
        let (segments, generation) = (stats.segments.len() as u64, snapshot.generation());
        Ok(Self { segments, bytes, log_operations, generation })
    }
}

fn print(
    args: &Common,
    upkeep: &Upkeep,
    (before, after, dropped): (&Taken, &Taken, Option<Dropped>),
    seconds: f64,
) -> Result<(), Failure> {
    let mut output = Output::stdout();
    if args.globals.json {
        output.json(&Summary {
            store: args.store.display().to_string(),
            segments_before: before.segments,
            segments_after: after.segments,
            bytes_before: before.bytes,
            bytes_after: after.bytes,
            log_operations_before: before.log_operations,
            log_operations_after: after.log_operations,
            windows_dropped: dropped.map(|dropped| dropped.windows),
            fingerprints_dropped: dropped.map(|dropped| dropped.fingerprints.fingerprints),
            exact: dropped.map(|dropped| dropped.fingerprints.exact),
            seconds,
        })?;
    } else if !args.globals.quiet {
        let done = upkeep.done(before, after, dropped);
        let (name, bytes) = (args.store.display(), |bytes: u64| units::bytes(bytes as f64));
        let size = match before.bytes == after.bytes {
            true => bytes(after.bytes),
            false => format!("{} now, {} before", bytes(after.bytes), bytes(before.bytes)),
        };
        output.line(&format!("{name}: {done}; {size}; {seconds:.2} seconds"))?;
    }
    output.flush()
}
