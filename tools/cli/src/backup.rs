//! `fpstore backup`: a copy of a store, also while it is written.

use std::path::PathBuf;
use std::time::Instant;

use fpstore::Error;
use fpstore::maintenance::{Backup, BackupSummary};
use serde::Serialize;

use crate::failure::Failure;
use crate::global::Globals;
use crate::interrupt::Interruptible;
use crate::output::Output;
use crate::units;

const AFTER_HELP: &str = "\
Examples:
  fpstore backup pages.fps /backup/pages.fps
  fpstore backup pages.fps /backup/pages.fps --incremental     every night

DEST becomes a store: a state that STORE had while the command ran, with all
that was committed when it began. STORE may be written meanwhile, and merged;
nobody waits. DEST changes at once, when all of it is there: until then it is
none, or the state that it was before, and a backup that was stopped is simply
run again.

Files of segments are linked where DEST is on the same file system: that takes
neither time nor space, and no damage of the disk is survived. --copy makes
copies.

With --incremental DEST may hold an earlier backup: files that it has stay, new
ones come, and such as the new state does not name go. What is no earlier state
of the same store is refused.";

/// Copies a store, also while it is written
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The store
    store: PathBuf,

    /// Where the copy goes: a new or empty directory, or with --incremental an earlier backup
    dest: PathBuf,

    /// Bring an earlier backup up to date
    #[arg(long)]
    incremental: bool,

    /// Copy files also where a link would do
    #[arg(long)]
    copy: bool,
}

/// The summary in JSON.
#[derive(Serialize)]
struct Summary {
    store: String,
    dest: String,
    generation: u64,
    segments: u64,
    files: u64,
    bytes: u64,
    linked: u64,
    kept: u64,
    log_bytes: u64,
    seconds: f64,
}

/// Makes the backup, and tells what it took.
pub fn run(args: &Args) -> Result<(), Failure> {
    let start = Instant::now();
    let work = Interruptible::<()>::default();
    work.watch(|_, ()| {})?;
    let backup = Backup::new().incremental(args.incremental).copy(args.copy);
    let done = backup.cancel(work.cancel.clone()).run(&args.store, &args.dest);
    let done = done.map_err(|error| match error {
        Error::Cancelled => work.signal().map_or(error.into(), Failure::Signal),
        Error::Exists { path, .. } => Failure::Usage(format!(
            "{}: a store exists here already; choose another DEST, or give --incremental if it is an \
             earlier backup",
            path.display()
        )),
        other => other.into(),
    })?;
    print(args, &done, start.elapsed().as_secs_f64())
}

fn print(args: &Args, done: &BackupSummary, seconds: f64) -> Result<(), Failure> {
    let mut output = Output::stdout();
    if args.globals.json {
        output.json(&Summary {
            store: args.store.display().to_string(),
            dest: args.dest.display().to_string(),
            generation: done.generation,
            segments: done.segments,
            files: done.files,
            bytes: done.bytes,
            linked: done.linked,
            kept: done.kept,
            log_bytes: done.log_bytes,
            seconds,
        })?;
    } else if !args.globals.quiet {
        output.line(&format!(
            "{}: {} in its generation {}: {}, in {} that came ({}, {} of them linked) and {} that were \
             there, and {} of log; {seconds:.2} seconds",
            args.dest.display(),
            args.store.display(),
            done.generation,
            units::plural(done.segments, "segment"),
            units::plural(done.files, "file"),
            units::bytes(done.bytes as f64),
            units::count(done.linked),
            units::count(done.kept),
            units::bytes(done.log_bytes as f64),
        ))?;
    }
    output.flush()
}
