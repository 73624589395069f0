//! `fpstore evaluate`: how well recipes find near duplicates of given texts, and what they cost.

mod args;
mod labels;
mod measure;
mod report;
mod texts;

use fpstore_records::is_stdin;
use fpstore_text::Recipe;

use crate::apart::Used;
use crate::by_recipe::{self, RecipeArgs};
use crate::documents::Inputs;
use crate::failure::Failure;
use crate::interrupt::Stopper;
use crate::output::{Output, say};
use crate::progress::{Mode, Progress};
use crate::target::{self, Target};
use crate::units::{self, count, plural};
pub use args::Args;
use labels::Labels;
use measure::{Measured, Row, Work};
use texts::Texts;

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
        Some(_) if !args.input.is_empty() => Inputs::find(&args.input, &args.documents)?,
        _ => Inputs::default(),
    };
    let files = inputs.files.iter().map(|input| &input.path);
    let used = Used::nothing().files(files).files(&args.pairs);
    let target = args.output.as_ref().map(|path| Target::claim(path, args.force, &used));
    let target = target.transpose()?;
    // The report has all rows, and would stand among them.
    let prints = !args.output.as_ref().is_some_and(|path| is_stdin(path));
    if args.json && !prints {
        let message = "evaluate: --json and -o - both go to standard output; leave one of them out";
        return Err(Failure::Usage(message.to_string()));
    }
    let (progress, stopper) = (Progress::new(Mode::None), Stopper::default());
    target::watch(&stopper, &progress, target.as_ref())?;
    let work = match &args.pairs {
        Some(path) => {
            let labels = Labels::read(path, args.limit)?;
            labels.work(args, &mut truth)?
        }
        None => {
            let texts = Texts::first(args, args.limit)?.texts;
            Work::of_changes(&texts, args.seed, &mut truth)
        }
    };
    if !args.quiet {
        say!("fpstore: {}", told(&work));
    }
    let mut output = Output::stdout();
    if prints && !args.json {
        output.line(Row::HEADER)?;
    }
    let mut all: Vec<Measured> = Vec::new();
    for given in recipes {
        let measured = Measured::of(given, &work, args)?;
        for row in measured.rows.iter().filter(|_| prints) {
            match args.json {
                true => output.json(row)?,
                false => output.line(&row.line())?,
            }
        }
        // It takes some seconds for each.
        output.flush()?;
        all.push(measured);
    }
    if let Some(target) = target {
        report::write(&work, &all, args, &target)?;
        stopper.commit(|| target.commit())?;
    }
    output.flush()
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
