//! `fpstore evaluate`: how well recipes find near duplicates of given texts, and what they cost.

mod labels;
mod measure;
mod report;
mod texts;

use std::path::PathBuf;

use fpstore_records::is_stdin;
use fpstore_text::Recipe;

use crate::apart::Used;
use crate::by_recipe::{self, RecipeArgs};
use crate::documents::{DocumentArgs, Inputs};
use crate::failure::Failure;
use crate::global::Globals;
use crate::interrupt::Stopper;
use crate::output::{Output, say};
use crate::progress::{Finds, Progress, Step, Unit};
use crate::target::{self, Target};
use crate::units::{self, count, plural};
use labels::Labels;
use measure::{Measured, Row, Work};
use texts::Texts;

const AFTER_HELP: &str = "\
Examples:
  fpstore evaluate articles.jsonl -o report.html
  fpstore evaluate articles.jsonl --recipe onebit-256 --recipe 'simhash-64 n=2' -k 3 -k 6
  fpstore evaluate core.jsonl --id-column core_id --text-column abstract --pairs core.jsonl
  fpstore evaluate news.jsonl --id-column id --pairs pairs.csv --json

Without --pairs, changed copies of the first N texts are made, always the same
ones: 1 to 30% of the words replaced, sentences in another order, head or tail
cut, boilerplate around it, mistakes as of character recognition, NFC and NFD,
capitals, traditional and simplified characters, numbers and dates in words.
Each copy is paired with its original, and all originals with each other. The
true similarity of a pair is the Jaccard similarity of the sets of features of
--truth, computed by comparing whole sets; pairs of J and more (--threshold)
should be found.

Output: what is recommended, which is the recipe with the fewest bytes of those
whose F1 is at most 0.01 below the best, where recipes without a k of their own
have that of their rule alone; the five best recipes; then all rows, the best
first: for each recipe the k of its rule, the k with the best F1, and those of
-k:
  k          what may differ: bits; values that are not equal; for sets the
             Jaccard similarity that they lack, in percent
  recall, precision, f1
  under 0.5  the part of the pairs with a similarity of 0.2 to 0.5 that is found
  bytes      of a document, without its id
  MB/s       of text, one thread

--pairs FILE has labelled pairs instead: CSV, TSV or JSON lines with the
columns id_a and id_b (or a and b) of documents in INPUT, or text_a and text_b
with the texts themselves, and label: 1, true, yes or duplicate, or 0, false,
no. Without a label the pairs are duplicates, and all others of these documents
are none. So are JSON lines of documents with a list of the ids of their
duplicates, `labelled_duplicates` or `duplicates` beside `id` or `core_id` (as
CORE Deduplication Dataset 2020), and lists of two ids (as NEWS-COPY). Then
pairs with the label should be found, whatever their similarity.

-o writes a report: the same, recall and precision of the best five drawn, and
of each recipe which part of the pairs is found by their similarity, and
precision and recall by k, drawn and in numbers. --json prints the rows, one of
them with \"recommended\": true.";

/// The seed of the changes.
const SEED: u64 = 1;

/// Measures how well recipes find near duplicates
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// Files of documents, or directories of such
    #[arg(required_unless_present = "pairs")]
    input: Vec<PathBuf>,

    /// A recipe; may be given several times [default: all presets]
    #[arg(long, value_name = "RECIPE")]
    recipe: Vec<String>,

    /// A further k to print; may be given several times
    #[arg(short = 'k', value_name = "K")]
    radius: Vec<u32>,

    /// The Jaccard similarity from which pairs should be found
    #[arg(long, value_name = "J", default_value_t = 0.8, value_parser = share)]
    threshold: f64,

    /// The recipe whose features tell how similar texts are [default: words, three in a row]
    #[arg(long, value_name = "RECIPE", default_value = "simhash-64", hide_default_value = true)]
    #[arg(hide_short_help = true)]
    truth: String,

    /// How many texts are taken, or with --pairs, documents of these
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,

    /// Take labelled pairs from this file
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,

    /// Write a report with the curves to this file, in HTML; with `-` to standard output, in place
    /// of the rows
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace FILE if it exists
    #[arg(short, long, requires = "output")]
    force: bool,

    #[command(flatten)]
    documents: DocumentArgs,
}

/// Reads a share.
fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a similarity is a number from 0 to 1".to_string())
}

/// Measures all recipes, and prints what came of it.
pub fn run(args: &Args) -> Result<(), Failure> {
    let truth = RecipeArgs { recipe: Some(args.truth.clone()), table: None };
    let mut truth = truth.fingerprinter(&args.truth)?;
    let recipes: Vec<&str> = match args.recipe.is_empty() {
        true => Recipe::presets().iter().map(|(name, _)| *name).collect(),
        false => args.recipe.iter().map(String::as_str).collect(),
    };
    // What is wrong with the last one is told before the first is measured.
    recipes.iter().try_for_each(|given| by_recipe::with_any_table(given).map(drop))?;
    let inputs = match &args.output {
        // Only to tell them from the output.
        Some(_) if !args.input.is_empty() => Inputs::find(&args.input, &args.documents.options())?,
        _ => Inputs::default(),
    };
    let files = inputs.files.iter().map(|input| &input.path);
    let used = Used::nothing().files(files).files(&args.pairs);
    let target = args.output.as_ref().map(|path| Target::claim(path, args.force, &used));
    let target = target.transpose()?;
    // The report has all rows, and would stand among them.
    let prints = !args.output.as_ref().is_some_and(|path| is_stdin(path));
    if args.globals.json && !prints {
        let message = "evaluate: --json and -o - both go to standard output; leave one of them out";
        return Err(Failure::Usage(message.to_string()));
    }
    let mode = args.globals.progress.mode(args.globals.quiet);
    let (progress, stopper) = (Progress::new(mode), Stopper::default());
    target::watch(&stopper, &progress, target.as_ref())?;
    let work = match &args.pairs {
        Some(path) => {
            let labels = Labels::read(path, args.limit)?;
            labels.work(args, &mut truth)?
        }
        None => {
            let texts = Texts::first(args, args.limit)?.texts;
            Work::of_changes(&texts, SEED, &mut truth)
        }
    };
    if !args.globals.quiet {
        say!("fpstore: {}", told(&work));
    }
    let mut all: Vec<Measured> = Vec::new();
    let total = recipes.len() as u64;
    for (given, done) in recipes.into_iter().zip(1..) {
        all.push(Measured::of(given, &work, args)?);
        let (unit, finds) = (Unit::Recipes, Finds::Nothing);
        progress.step(Step { phase: "measure", unit, done, total, finds });
    }
    progress.finish();
    measure::recommend(&mut all);
    let mut output = Output::stdout();
    if prints {
        print(&all, args.globals.json, &mut output)?;
    }
    if let Some(target) = target {
        report::write(&work, &all, args, &target)?;
        stopper.commit(|| target.commit())?;
    }
    output.flush()
}

/// Prints what is recommended, the best recipes, and then all rows.
fn print(all: &[Measured], as_json: bool, output: &mut Output) -> Result<(), Failure> {
    if as_json {
        let mut rows = all.iter().flat_map(|measured| &measured.rows);
        return rows.try_for_each(|row| output.json(row));
    }
    let (best, sorted) = (measure::best_rows(all), measure::sorted_rows(all));
    output.line(&measure::recommendation(all))?;
    let mut table = |title: &str, rows: &[&Row]| {
        output.line("")?;
        output.line(title)?;
        output.line(Row::HEADER)?;
        rows.iter().try_for_each(|row| output.line(&row.line()))
    };
    if all.len() > 1 {
        table("The best, each at its best k:", &best)?;
    }
    table("All, the best first:", &sorted)
}

fn told(work: &Work) -> String {
    let texts = plural(work.set.texts.len() as u64, "text");
    let bytes = units::bytes(work.bytes() as f64);
    let pairs = count(work.set.pairs.len() as u64);
    match &work.labels {
        Some(labels) => {
            let duplicates = count(labels.iter().filter(|is| **is).count() as u64);
            format!("{texts}, {bytes}; {pairs} pairs, {duplicates} of them labelled duplicates")
        }
        None => format!("{texts} with changed copies, {bytes}; {pairs} pairs"),
    }
}
