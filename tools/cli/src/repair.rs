//! `fpstore repair`: saves what is sound of a damaged store.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use fpstore::maintenance::{Repair, RepairReport, SegmentLoss};
use fpstore::{Error, Execution};
use serde::Serialize;

use crate::apart::Used;
use crate::failure::Failure;
use crate::global::Globals;
use crate::interrupt::Interruptible;
use crate::memory;
use crate::output::{Output, check_summary};
use crate::units::{count, plural};

const AFTER_HELP: &str = "\
STORE is only read. DEST appears when all of it is there; a repair that was
stopped leaves none, and is simply run again. It is a new store, in one
segment, or one for each window of time, of all that is sound: every block has
a checksum, and a fingerprint is saved if any table of its segment still holds
it in a sound block. Ids are stored once: a fingerprint whose ids are damaged
is left out of a store with ids, and counted.

Fingerprints may have any width. Where a segment holds them once, beside tables
of parts of their bits, those in sound blocks of that copy are saved, or all,
if their sum is that of the set. Part tables are made of the copy: no damage to
them loses anything.

What is damaged or lost is told segment by segment:
  tables        of which nothing can be read: header, codes or footer is damaged
  blocks        that are damaged, in other tables or in the copy
  fingerprints  that no table holds any more
  without ids   fingerprints that were read, and left out
  ids           of all of these, and others that are damaged; null in JSON where
                nobody can tell how many there were
Where the manifest is damaged or gone, all segment files are taken: also such
as a merge has replaced and a crash has left. Then nobody knows what was
deleted, which may be back, nor what the log holds, nor the radius of the
store, which is 3 now, nor its recipe. Of a damaged log what stands before the
damage is saved; without a file of deletions what it hides is back.

Exit codes: 0 if all that was stored is in DEST, 1 if something was lost or may
be back, 2 on an error.";

/// Saves what is sound of a damaged store into a new one
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The damaged store
    store: PathBuf,

    /// The store to write: a new or empty directory
    dest: PathBuf,
}

/// The summary in JSON.
#[derive(Serialize)]
struct Summary {
    store: String,
    dest: String,
    /// Whether all that was stored is saved, and nothing else.
    whole: bool,
    fingerprints: u64,
    ids: u64,
    /// What is wrong with the manifest; null if it is sound.
    manifest: Option<String>,
    problems: Vec<String>,
    /// Those with damage.
    segments: Vec<Loss>,
    seconds: f64,
}

/// What is damaged of a segment, in JSON.
#[derive(Serialize)]
struct Loss {
    segment: u64,
    fingerprints: u64,
    damaged_tables: u64,
    damaged_blocks: u64,
    lost_fingerprints: u64,
    fingerprints_without_ids: u64,
    /// Null where nobody can tell.
    lost_ids: Option<u64>,
    reasons: Vec<String>,
}

/// Saves what is sound, and tells what is not; gives the exit code.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    check_summary(true)?;
    Used::nothing().stores([&args.store]).check(&args.dest)?;
    let memory = args.globals.memory_limit();
    memory::check_least("a repair", memory)?;
    let work = Interruptible::<()>::default();
    work.watch(|_, ()| {})?;
    let execution = Execution::new().threads(args.globals.threads.count()).memory(memory);
    let execution = execution.cancel(work.cancel.clone());
    let report = Repair::new().execution(execution).run(&args.store, &args.dest);
    let report = report.map_err(|error| match error {
        Error::Cancelled => work.signal().map_or(error.into(), Failure::Signal),
        Error::Exists { path, .. } => Failure::Usage(format!(
            "{}: a store exists here already; choose another DEST, or remove it",
            path.display()
        )),
        // Nothing is left to save, so that another repair is no remedy.
        Error::Corrupt { .. } => Failure::Usage(error.to_string()),
        other => other.into(),
    })?;
    let mut output = Output::stdout();
    match args.globals.json {
        true => output.json(&summary(args, &report, start.elapsed().as_secs_f64()))?,
        false => print(args, &report, &mut output)?,
    }
    output.flush()?;
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn summary(args: &Args, report: &RepairReport, seconds: f64) -> Summary {
    let loss = |at: &SegmentLoss| Loss {
        segment: at.segment,
        fingerprints: at.count,
        damaged_tables: at.tables,
        damaged_blocks: at.blocks,
        lost_fingerprints: at.fingerprints,
        fingerprints_without_ids: at.without_ids,
        lost_ids: at.ids,
        reasons: at.reasons.clone(),
    };
    Summary {
        store: args.store.display().to_string(),
        dest: args.dest.display().to_string(),
        whole: report.is_whole(),
        fingerprints: report.fingerprints,
        ids: report.ids,
        manifest: report.manifest.clone(),
        problems: report.problems.clone(),
        segments: report.segments.iter().map(loss).collect(),
        seconds,
    }
}

fn print(args: &Args, report: &RepairReport, output: &mut Output) -> Result<(), Failure> {
    let ids = match report.ids {
        0 => String::new(),
        ids => format!(" with {}", plural(ids, "id")),
    };
    let saved = plural(report.fingerprints, "fingerprint");
    let lost = if report.is_whole() { "nothing is lost" } else { "not all could be saved" };
    output.line(&format!("{}: {saved}{ids} saved; {lost}", args.dest.display()))?;
    if let Some(problem) = &report.manifest {
        output.line(&format!("manifest: {problem}"))?;
        output.line(
            "  all segment files were taken; deletions, windows of time and logs are not known",
        )?;
    }
    for problem in &report.problems {
        output.line(&format!("lost: {problem}"))?;
    }
    for at in &report.segments {
        let ids = match at.ids {
            Some(ids) => plural(ids, "id"),
            None => "and ids, nobody can tell how many".to_string(),
        };
        output.line(&format!(
            "segment {}, of {}: {} unreadable, {} damaged; lost: {}, {} without ids, {ids}",
            at.segment,
            plural(at.count, "fingerprint"),
            plural(at.tables, "table"),
            plural(at.blocks, "block"),
            plural(at.fingerprints, "fingerprint"),
            count(at.without_ids),
        ))?;
        for reason in &at.reasons {
            output.line(&format!("  {reason}"))?;
        }
    }
    Ok(())
}
