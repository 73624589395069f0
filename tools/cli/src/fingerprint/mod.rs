//! `fpstore fingerprint`: from documents to fingerprints with their ids.

pub mod pieces;
mod rows;
mod table;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use fpstore_records::is_stdin;
use fpstore_text::{Fingerprinter, Recipe};
use serde::Serialize;

use crate::apart::Used;
use crate::by_recipe::{self, RecipeArgs};
use crate::documents::{DocumentArgs, Inputs};
use crate::failure::Failure;
use crate::global::Globals;
use crate::interrupt::Stopper;
use crate::memory;
use crate::output::{Output, check_summary, say};
use crate::progress::Progress;
use crate::target::{self, Target};
use crate::units::{self, count, plural};
use pieces::Pieces;
use rows::{Counts, Rows, Sheet};

const AFTER_HELP: &str = "\
Examples:
  fpstore fingerprint --list
  fpstore fingerprint pages.jsonl.zst --id-column url --recipe simhash-64 -o pages.parquet
  fpstore pack pages.parquet -o pages.fps --id-column id
  fpstore fingerprint articles/ --recipe 'onebit-256 markup=html' -o articles.parquet
  fpstore fingerprint a.csv b.csv --text-column body --id-column number --recipe minhash-128 -o out.jsonl
  fpstore fingerprint corpus.parquet --recipe imatch --make-table corpus.table
  fpstore fingerprint corpus.parquet --recipe imatch --table corpus.table -o keys.parquet

Inputs are JSON lines, CSV, TSV and Parquet with a document in each record,
plain files with one document each, and directories of these; all but Parquet
may be compressed. The order of the rows is that of the documents, whatever the
threads.

A row of the output, for each document:
  parquet  id (string), fingerprint (UInt64, or FixedSizeBinary of 16 or 32 bytes,
           the most significant first), exact (string)
  jsonl    {\"id\":\"...\",\"fingerprint\":\"9d18dc592abfa1bb\"}
  raw      the fingerprints alone, as `pack --format u64le` takes them
Methods that give several values (minhash, bands, imatch, spotsigs, ...) have a
row for each, all with the id of the document.

A document with too few features for a fingerprint has null there, and in exact
32 digits: equal texts have equal ones. One without a text, null or empty, has
null in both:
it is a duplicate of nothing. With --too-few skip they have no row, and in raw
files never. How many there are is told in any case. `pack --on-error skip`
passes over them.

Parquet says by which recipe the fingerprints were made, and so does what
`pack` makes of it; other files cannot, so give `pack --recipe`.

--make-table counts in how many documents each feature of the recipe is, for
recipes that weigh by that (imatch, projection, weight=tfidf). Its memory grows
with the features.";

/// Makes fingerprints of documents
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// Files of documents, or directories of such; `-` reads standard input, of JSON lines unless
    /// --format says otherwise
    #[arg(required_unless_present = "list")]
    input: Vec<PathBuf>,

    /// Show the presets, with the rule by which documents agree, and the line of each
    #[arg(long, exclusive = true)]
    list: bool,

    #[command(flatten)]
    recipe: RecipeArgs,

    /// The file to write, which appears when it is whole; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    #[arg(required_unless_present_any = ["list", "make_table"], conflicts_with = "make_table")]
    output: Option<PathBuf>,

    /// How it is written [default: as its name ends: .parquet, .jsonl, or .u64
    /// and .raw; jsonl on standard output]
    #[arg(long = "as", value_enum, value_name = "parquet|jsonl|raw", hide_possible_values = true)]
    form: Option<Sheet>,

    /// What becomes of documents with too few features
    #[arg(long, value_enum, default_value = "null", hide_possible_values = true)]
    #[arg(value_name = "null|skip")]
    #[arg(hide_short_help = true)]
    too_few: TooFew,

    /// Write a table of document frequencies to this file instead
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    make_table: Option<PathBuf>,

    /// Leave features out of that table that are in fewer documents
    #[arg(long, value_name = "N", default_value_t = 2, requires = "make_table")]
    #[arg(hide_short_help = true)]
    least: u64,

    /// Replace the output if it exists
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    documents: DocumentArgs,
}

/// What becomes of documents with too few features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TooFew {
    /// They have a row without a fingerprint.
    Null,
    /// They have no row.
    Skip,
}

/// The summary in JSON.
#[derive(Serialize)]
struct Summary<'a> {
    recipe: String,
    recipe_id: String,
    documents: u64,
    /// Those with a fingerprint.
    fingerprinted: u64,
    too_few_features: u64,
    /// Documents without a text, null or empty.
    without_text: u64,
    /// Documents with bytes that are no UTF-8.
    not_utf8: u64,
    /// Bad records that were left out.
    skipped: u64,
    rows: u64,
    text_bytes: u64,
    output: Option<&'a Path>,
    seconds: f64,
}

/// Makes fingerprints, or a table, or shows the presets.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.list {
        return list();
    }
    let Some(given) = &args.recipe.recipe else {
        let message = "fingerprint: --recipe says how; `fpstore fingerprint --list` shows presets, such as \
                       simhash-64 and onebit-256";
        return Err(Failure::Usage(message.to_string()));
    };
    check_summary(args.globals.json)?;
    let inputs = Inputs::find_once(&args.input, &args.documents.options())?;
    let files = inputs.files.iter().map(|input| &input.path);
    let used = Used::nothing().files(&args.input).files(files).files(&args.recipe.table);
    let mode = args.globals.progress.mode(args.globals.quiet);
    let (progress, stopper) = (Progress::new(mode), Stopper::default());
    if let Some(path) = &args.make_table {
        let target = Target::claim(path, args.force, &used)?;
        target::watch(&stopper, &progress, Some(&target))?;
        let made = table::make(args, given, &inputs, &progress, &target);
        progress.finish();
        let told = made?;
        stopper.commit(|| target.commit())?;
        if !args.globals.quiet {
            say!("fpstore: {told}");
        }
        return Ok(());
    }
    let fingerprinter = args.recipe.fingerprinter(given)?;
    let start = Instant::now();
    let path = args.output.as_deref().unwrap_or(Path::new(""));
    let form = Sheet::of(args.form, path)?;
    if args.globals.json && is_stdin(path) {
        let message =
            "fingerprint: --json and -o - both go to standard output; leave one of them out";
        return Err(Failure::Usage(message.to_string()));
    }
    let target = Target::claim(path, args.force, &used)?;
    target::watch(&stopper, &progress, Some(&target))?;
    let written = write(args, &fingerprinter, &inputs, &progress, form, &target);
    progress.finish();
    let counts = written?;
    stopper.commit(|| target.commit())?;
    tell(args, fingerprinter.recipe(), &inputs, &counts, start.elapsed().as_secs_f64())
}

/// Shows the presets.
fn list() -> Result<(), Failure> {
    let mut output = Output::stdout();
    for (name, line) in Recipe::presets() {
        // The rule does not depend on the table.
        let known = line.replace("table=?", &format!("table={}", "0".repeat(32)));
        let rule = by_recipe::rule(&by_recipe::parse(&known)?.rule());
        output.line(&format!("{name:<28} {rule:<24} {line}"))?;
    }
    output.flush()
}

fn pieces_of<'a>(args: &'a Args, inputs: &'a Inputs, progress: &'a Progress) -> Pieces<'a> {
    let (documents, threads) = (&args.documents, args.globals.threads.count());
    Pieces { inputs, args: documents, memory: memory::default_limit(), threads, progress }
}

fn write(
    args: &Args,
    fingerprinter: &Fingerprinter,
    inputs: &Inputs,
    progress: &Progress,
    form: Sheet,
    target: &Target,
) -> Result<Counts, Failure> {
    let mut rows = Rows::new(form, args.too_few, fingerprinter.recipe(), target)?;
    let skips = args.documents.skips();
    pieces_of(args, inputs, progress).each(
        || fingerprinter.clone(),
        rows::of_piece,
        |found| {
            pieces::tell(found.errors, skips, progress)?;
            rows.write(&found.rows, &found.counts)
        },
    )?;
    rows.finish()
}

fn tell(
    args: &Args,
    recipe: &Recipe,
    inputs: &Inputs,
    counts: &Counts,
    seconds: f64,
) -> Result<(), Failure> {
    let &Counts { documents, too_few, without_text, not_utf8, skipped, rows, text_bytes } = counts;
    if !args.globals.quiet {
        for (path, why) in &inputs.passed_over {
            say!("fpstore: warning: {}: {why}; passed over", path.display());
        }
        let empty = match without_text {
            0 => String::new(),
            empty => format!(", {} without a text", count(empty)),
        };
        let few = match (too_few, args.too_few) {
            (0, _) => String::new(),
            (few, TooFew::Null) => format!(", {} with too few features for one", count(few)),
            (few, TooFew::Skip) => format!(", {} left out with too few features", count(few)),
        };
        let strange = match not_utf8 {
            0 => String::new(),
            strange => format!(", {} not all UTF-8", count(strange)),
        };
        let bad = match skipped {
            0 => String::new(),
            bad => format!(", {} skipped", plural(bad, "bad record")),
        };
        say!(
            "fpstore: {} in {}{few}{empty}{strange}{bad}; {} of text, {seconds:.2} seconds",
            plural(documents, "document"),
            plural(rows, "row"),
            units::bytes(text_bytes as f64),
        );
    }
    if !args.globals.json {
        return Ok(());
    }
    let mut output = Output::stdout();
    output.json(&Summary {
        recipe: recipe.to_string(),
        recipe_id: recipe.id().to_string(),
        documents,
        fingerprinted: documents - too_few - without_text,
        too_few_features: too_few,
        without_text,
        not_utf8,
        skipped,
        rows,
        text_bytes,
        output: args.output.as_deref(),
        seconds,
    })?;
    output.flush()
}
