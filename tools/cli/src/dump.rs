//! `fpstore dump`: all fingerprints of a store, in ascending order, with their ids.

use std::path::PathBuf;

use clap::ValueEnum;
use fpstore::{Fingerprint, Id, Ids, Snapshot, width_of};
use fpstore_records::write::push_words;

use crate::apart::Used;
use crate::failure::Failure;
use crate::global::Globals;
use crate::ids::{IdOutputArgs, IdPrinter, IdShape};
use crate::interrupt::Stopper;
use crate::output::Output;
use crate::progress::{Finds, Progress, Step, Unit};
use crate::table::{self, As};
#[cfg(feature = "parquet")]
use crate::table::{Kind, ParquetTable};
use crate::target::{self, Target, TargetArgs};
use crate::times::TimesArgs;
use crate::width::{self, check_raw, for_width};

/// Fingerprints between two looks at the progress.
const TOLD: u64 = 1 << 16;

const AFTER_HELP: &str = "\
Examples:
  fpstore dump photos.fps | head
  fpstore dump photos.fps --as u64le > sorted.bin
  fpstore dump a.fps | fpstore pack - b.txt -o both.fps
  fpstore dump pages.fps --as ids
  fpstore dump pages.fps --as parquet,ids -o pages.parquet

Output, ascending by fingerprint:
  tsv      a row for each: all hexadecimal digits; with ids a tab and the ids
           behind them, separated by commas, as `fpstore query --help` says
  u64le    raw little-endian integers of 8 bytes, without ids; of 128 and 256
           bits 2 and 4, the most significant one first
  u32le    the same of 4 bytes, for fingerprints of 32 bits
  json     an object on each line; ids are strings:
{\"fingerprint\":\"8f3ac41e09b7d264\",\"ids\":[\"0\",\"17\"]}
  parquet  a column fingerprint (UInt64; UInt32 of 32 bits, FixedSizeBinary of
           more than 64); with ids a column ids: lists of UInt64, or of strings
           where ids are names; needs -o
Words behind it: ids; header; hex, u64 or i64 (how fingerprints are written).";

/// Prints all fingerprints of a store, ascending
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// How rows are written: a format, and words such as ids, header, u64 and i64, as in
    /// `tsv,header`
    #[arg(long = "as", default_value = "tsv", value_parser = As::<Shape>::parse)]
    #[arg(value_name = "tsv|u64le|u32le|json|parquet[,WORD]")]
    pub form: As<Shape>,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    times: TimesArgs,

    #[command(flatten)]
    id_output: IdOutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    Tsv,
    U64le,
    U32le,
    Json,
    Parquet,
}

impl table::Shape for Shape {
    const WORDS: &'static [&'static str] = table::ID_WORDS;
    const JSON: Option<Self> = Some(Shape::Json);
}

impl Shape {
    /// Its name, if it is that of raw integers.
    fn raw(self) -> Option<&'static str> {
        match self {
            Shape::U64le => Some("u64le"),
            Shape::U32le => Some("u32le"),
            Shape::Tsv | Shape::Json | Shape::Parquet => None,
        }
    }
}

/// Prints the fingerprints.
pub fn run(args: &Args) -> Result<(), Failure> {
    let ids = args.form.ids;
    check(args, ids)?;
    let bits = width_of(&args.store)?;
    args.form.table.check_width("dump", bits)?;
    check_raw("dump", args.form.shape.raw(), bits)?;
    for_width!(bits, dump(args, ids))
}

fn dump<F: Fingerprint>(args: &Args, ids: bool) -> Result<(), Failure> {
    let opened = width::open::<F>(&args.store)?;
    let store = args.times.of(opened.snapshot(), &args.store)?;
    if ids && !store.has_ids() {
        return Err(Failure::Usage(format!(
            "{}: has no ids; leave ids out (--as)",
            args.store.display()
        )));
    }
    let printer = ids.then(|| IdPrinter::new(&store, &args.id_output));
    let used = Used::nothing().stores([&args.store]);
    let target = args.target.claim(&used)?;
    let progress = Progress::new(
        args.globals.progress.beside_rows(false, target::is_terminal(target.as_ref())),
    );
    let stopper = Stopper::default();
    if target.is_some() {
        target::watch(&stopper, &progress, target.as_ref())?;
    }
    let rows = Rows::new(args, &store, printer, target.as_ref())?;
    let written = write(&store, ids, rows, &progress);
    progress.finish();
    written?;
    stopper.commit(|| target.map_or(Ok(()), Target::commit))
}

/// Writes all rows.
fn write<F: Fingerprint>(
    store: &Snapshot<F>,
    ids: bool,
    mut rows: Rows<'_, F>,
    progress: &Progress,
) -> Result<(), Failure> {
    let (mut done, total) = (0u64, store.len());
    let mut push = |fingerprint: F, ids: Option<&mut Ids<Id>>| {
        done += 1;
        if done.is_multiple_of(TOLD) || done == total {
            progress.found(0, rows.written());
            let (unit, finds) = (Unit::Fingerprints, Finds::Nothing);
            progress.step(Step { phase: "dump", unit, done, total, finds });
        }
        rows.push(fingerprint, ids)
    };
    if ids {
        for next in store.iter_with_ids::<Id>() {
            let (fingerprint, mut ids) = next?;
            push(fingerprint, Some(&mut ids))?;
        }
    } else {
        for fingerprint in store.iter() {
            push(fingerprint?, None)?;
        }
    }
    rows.finish()
}

/// Finds options that do not go together.
fn check(args: &Args, ids: bool) -> Result<(), Failure> {
    let raw = args.form.shape.raw();
    args.form.table.check("dump", args.form.shape == Shape::Tsv, raw)?;
    if let (true, Some(raw)) = (ids, raw) {
        return Err(Failure::Usage(format!(
            "dump: {raw} has no room for ids; give --as tsv, json or parquet"
        )));
    }
    match args.form.shape {
        Shape::Parquet => table::check_parquet("dump", args.target.file().is_some()),
        _ => Ok(()),
    }
}

/// Writes the rows.
struct Rows<'a, F: Fingerprint> {
    args: &'a Args,
    printer: Option<IdPrinter<'a, F>>,
    to: To,
}

enum To {
    Text(Output, Vec<u8>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTable>),
}

impl<'a, F: Fingerprint> Rows<'a, F> {
    fn new(
        args: &'a Args,
        store: &Snapshot<F>,
        printer: Option<IdPrinter<'a, F>>,
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        #[cfg(not(feature = "parquet"))]
        let _ = store;
        let to = match (args.form.shape, target) {
            #[cfg(feature = "parquet")]
            (Shape::Parquet, Some(target)) => {
                let (fingerprints, _) = Kind::of::<F>(args.form.table.parquet::<F>());
                let mut columns = vec![("fingerprint", fingerprints)];
                let kind = printer.as_ref().and_then(IdPrinter::kind);
                columns.extend(kind.map(|kind| ("ids", Kind::Ids(kind))));
                let notes = table::notes(args.store.display(), store.radius(), store.recipe());
                To::Parquet(Box::new(ParquetTable::new(target.file(0)?, &columns, &notes)?))
            }
            _ => {
                let mut output = target::output(target)?;
                if args.form.table.header {
                    let names = ["fingerprint", "ids"];
                    output.bytes(&table::header(&names[..1 + usize::from(printer.is_some())]))?;
                }
                To::Text(output, Vec::new())
            }
        };
        Ok(Self { args, printer, to })
    }

    fn push(&mut self, fingerprint: F, ids: Option<&mut Ids<Id>>) -> Result<(), Failure> {
        let ids = self.printer.as_mut().zip(ids);
        match &mut self.to {
            To::Text(output, text) => {
                let form = self.args.form.table.text();
                let (start, shape, end): (&[u8], _, &[u8]) = match self.args.form.shape {
                    Shape::Json => (b"{\"fingerprint\":\"", IdShape::Json, b"}\n"),
                    _ => (b"", IdShape::Tsv, b"\n"),
                };
                if self.args.form.shape.raw().is_some() {
                    push_words(text, fingerprint);
                    return output.take(text);
                }
                text.extend_from_slice(start);
                form.push(text, fingerprint);
                if shape == IdShape::Json {
                    text.push(b'"');
                }
                if let Some((printer, ids)) = ids {
                    text.push(if shape == IdShape::Json { b',' } else { b'\t' });
                    printer.print_ids(ids, shape, text, &mut |text| output.take(text))?;
                }
                text.extend_from_slice(end);
                output.take(text)
            }
            #[cfg(feature = "parquet")]
            To::Parquet(table) => {
                table.fingerprint(fingerprint)?;
                if let Some((printer, ids)) = ids {
                    table.ids(printer, ids)?;
                }
                table.end_row()
            }
        }
    }

    /// Bytes that were written.
    fn written(&self) -> u64 {
        match &self.to {
            To::Text(output, _) => output.written(),
            #[cfg(feature = "parquet")]
            To::Parquet(table) => table.written(),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self.to {
            To::Text(mut output, _) => output.flush(),
            #[cfg(feature = "parquet")]
            To::Parquet(table) => table.finish().map(drop),
        }
    }
}
