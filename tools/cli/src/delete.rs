//! `fpstore delete`: takes fingerprints, or ids of them, out of a store.

use std::path::PathBuf;
use std::time::Instant;

use fpstore::{Durability, Fingerprint, Id, Snapshot, Writer, width_of};
use fpstore_records::{IdWish, Records};
use serde::Serialize;

use crate::failure::Failure;
use crate::feed::{self, Feed};
use crate::global::Globals;
use crate::input::InputArgs;
use crate::interrupt::Interruptible;
use crate::output::{Output, check_summary};
use crate::progress::Progress;
use crate::record_ids::parse_id;
use crate::units;
use crate::width::{self, for_width};
use crate::writing::{self, Durable};

const AFTER_HELP: &str = "\
Examples:
  fpstore delete pages.fps 8f3ac41e09b7d265 0x1f
  fpstore delete pages.fps 8f3ac41e09b7d265 --id https://a.example/
  fpstore delete pages.fps --from gone.txt
  fpstore delete pages.fps --from gone.csv --id-column url
  fpstore delete pages.fps --id-everywhere https://a.example/

A fingerprint goes with all its ids. By --id, or by a column of ids in the
files, it loses just these, and goes with the last one. What is not stored
changes nothing; the summary tells how much of it was.

There is no index by id: --id-everywhere reads all fingerprints and ids of the
store, some 50 ns for each.

A deletion is one more record in the log, and hides what was stored before. The
space comes back when segments are merged, which happens by itself in time, or
with `fpstore merge --full`. All is durable when the command ends.";

/// Deletes fingerprints, or ids of them, from a store
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The store, which `create` or `pack` wrote
    store: PathBuf,

    /// Fingerprints: hexadecimal, all digits or 0x in front; or decimal with --format dec
    #[arg(value_name = "FP")]
    fingerprints: Vec<String>,

    /// Take only this id from each of these
    #[arg(long, value_name = "ID", requires = "fingerprints")]
    id: Option<String>,

    /// Files of fingerprints to delete; `-` is standard input; may be given several times
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    /// The column of ids in these files: take only those
    #[arg(long, value_name = "NAME", requires = "from")]
    id_column: Option<String>,

    /// Take this id from all fingerprints that have it; reads the whole store
    #[arg(long, value_name = "ID")]
    id_everywhere: Option<String>,

    #[command(flatten)]
    reading: InputArgs,
}

/// What was deleted.
#[derive(Default)]
struct Deleted {
    /// Records that are gone: fingerprints, each with each of its ids.
    deleted: u64,
    /// Fingerprints, or pairs with an id, that were to go and were not there.
    not_stored: u64,
}

/// The summary in JSON.
#[derive(Serialize)]
struct Summary {
    store: String,
    deleted: u64,
    not_stored: u64,
    skipped: u64,
    seconds: f64,
}

/// Deletes, and tells how much.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.fingerprints.is_empty() && args.from.is_empty() && args.id_everywhere.is_none() {
        let message = "delete: nothing to delete; name fingerprints after STORE, or give --from \
                       FILE or --id-everywhere ID";
        return Err(Failure::Usage(message.to_string()));
    }
    check_summary(args.globals.json || !args.globals.quiet)?;
    for_width!(width_of(&args.store)?, delete(args))
}

fn delete<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let start = Instant::now();
    let arguments = feed::of_arguments(&args.fingerprints, &args.reading.options(None, None))?;
    let kind = width::open::<F>(&args.store)?.id_kind();
    let parse = |id: &Option<String>, option| match (id, kind) {
        (Some(id), Some(kind)) => parse_id(kind, id, option).map(Some),
        _ => Ok(None),
    };
    let (id, everywhere) =
        (parse(&args.id, "--id")?, parse(&args.id_everywhere, "--id-everywhere")?);
    let wish = args.id_column.as_ref().zip(kind);
    let wish = wish.map(|(column, kind)| IdWish::of_store(column, kind));
    let reading = args.reading.beside_store(wish, None);
    let feed = Feed {
        inputs: &args.from,
        reading: &reading,
        quiet: args.globals.quiet,
        follow: true,
        stored_ids: true,
    };
    let known = feed.check::<F>()?;
    let progress = Progress::new(args.globals.progress.mode(args.globals.quiet));
    let work = Interruptible::default();
    let writer = Durable::Group.options::<F>(&work).open(&args.store)?;
    let mut recipes = known.recipes;
    recipes.take(args.store.display(), writer.snapshot().recipe())?;
    let wants_ids = args.id.is_some() || args.id_column.is_some() || args.id_everywhere.is_some();
    if wants_ids && !writer.snapshot().has_ids() {
        let store = args.store.display();
        return Err(Failure::Usage(format!("{store}: has no ids; delete fingerprints as a whole")));
    }
    work.set(writer);
    writing::watch(&work, &progress)?;
    let mut deleted = Deleted::default();
    let mut delete = || {
        writing::with(&work, |writer| deleted.delete(writer, &arguments, id.as_ref()))?;
        let read = feed.read(known.bytes, &progress, |records| {
            writing::with(&work, |writer| deleted.delete(writer, records, None))
        })?;
        if let Some(id) = &everywhere {
            let found = writing::with(&work, |writer| Ok(writer.delete_id(id)?))?;
            deleted.deleted += found.len() as u64;
        }
        Ok(read)
    };
    let read = delete();
    progress.finish();
    let read = writing::close(&work, read)?;
    print(args, &deleted, read.skipped, start.elapsed().as_secs_f64())
}

impl Deleted {
    /// Deletes records, with this id or those that they have, and commits that.
    fn delete<F: Fingerprint>(
        &mut self,
        writer: &Writer<F>,
        records: &Records<F>,
        id: Option<&Id>,
    ) -> Result<(), Failure> {
        let (mut fingerprints, mut pairs) = (Vec::new(), Vec::new());
        for record in records.iter() {
            match id.map(Id::as_ref).or(record.id) {
                Some(id) => pairs.push((record.fingerprint, id)),
                None => fingerprints.push(record.fingerprint),
            }
        }
        fingerprints.sort_unstable();
        fingerprints.dedup();
        pairs.sort_unstable();
        pairs.dedup();
        let snapshot = writer.snapshot();
        for &fingerprint in &fingerprints {
            self.count(records_of(&snapshot, fingerprint)?);
        }
        for &(fingerprint, id) in &pairs {
            self.count(u64::from(snapshot.contains_id(fingerprint, id)?));
        }
        writer.delete_fingerprints(&fingerprints)?;
        if !pairs.is_empty() {
            writer.delete_batch(&pairs)?;
        }
        Ok(writer.commit(Durability::Group)?)
    }

    /// Counts a deletion, of so many records.
    fn count(&mut self, records: u64) {
        self.deleted += records;
        self.not_stored += u64::from(records == 0);
    }
}

/// How many ids a fingerprint has, each of which makes a record; where there are none, whether it
/// is stored.
fn records_of<F: Fingerprint>(snapshot: &Snapshot<F>, fingerprint: F) -> Result<u64, Failure> {
    if !snapshot.has_ids() {
        return Ok(u64::from(snapshot.contains(fingerprint)?));
    }
    Ok(snapshot.ids::<Id>(fingerprint)?.try_fold(0, |count, id| id.map(|_| count + 1))?)
}

fn print(args: &Args, deleted: &Deleted, skipped: u64, seconds: f64) -> Result<(), Failure> {
    let Deleted { deleted, not_stored } = *deleted;
    let mut output = Output::stdout();
    if args.globals.json {
        let store = args.store.display().to_string();
        output.json(&Summary { store, deleted, not_stored, skipped, seconds })?;
    } else if !args.globals.quiet {
        let skipped = match skipped {
            0 => String::new(),
            skipped => format!(", {} skipped", units::count(skipped)),
        };
        let missing = match not_stored {
            0 => String::new(),
            missing => format!(", {} not stored", units::count(missing)),
        };
        output.line(&format!(
            "{}: {} deleted{missing}{skipped} in {seconds:.2} seconds",
            args.store.display(),
            units::plural(deleted, "record"),
        ))?;
    }
    output.flush()
}
