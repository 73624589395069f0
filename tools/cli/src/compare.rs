//! `fpstore compare`: why two texts are near duplicates by a recipe, or are not.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use fpstore_records::is_stdin;
use fpstore_text::{Comparison, DifferentBit, FeatureShare, Fingerprinter, Found, Signature};
use serde::Serialize;

use crate::by_recipe::{self, RecipeArgs};
use crate::failure::Failure;
use crate::global::Globals;
use crate::output::Output;
use crate::paths::name_of;
use crate::units::{count, plural};

/// The most bytes of a text: its features are all in memory.
const MAX_BYTES: u64 = 256 << 20;

const AFTER_HELP: &str = "\
Examples:
  fpstore compare old.txt new.txt
  fpstore compare old.txt new.txt --recipe onebit-256
  fpstore compare --text 'a b c d e f' --text 'a b c d e g' --recipe 'simhash-64 n=2'
  fpstore compare a.html b.html --recipe 'simhash-64 markup=html' --json

Each file is one text in UTF-8; bytes that are none are replaced and counted.
It prints of both texts the size, the features, and the fingerprint, and then
  distance   the bits that differ, and whether the recipe calls that near; of
             methods that give several values, how many of these are equal
  jaccard    the similarity of the sets of features: what is in both, by what is
             in either
  estimated  what the signatures tell of it, for minhash and onebit
  shared     the features of both texts, and those of one alone, with weights
  bits       each bit that differs, and for simhash and projection the sums that
             decided on it: the weight of the features with a one there, less
             that of the others. One near 0 was turned by little
  features   the heaviest ones, with the weight in both texts
--json gives the same as one object, the features in the same order.";

/// Explains how two texts compare by a recipe
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// Two files, each with one text; `-` reads standard input
    #[arg(value_name = "FILE", num_args = 0..=2)]
    files: Vec<PathBuf>,

    /// A text itself, in place of a file; may be given twice
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Vec<String>,

    #[command(flatten)]
    recipe: RecipeArgs,

    /// How many features are listed, the heaviest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    features: usize,
}

/// A text, and where it comes from.
struct Document {
    name: String,
    bytes: Vec<u8>,
}

#[derive(Serialize)]
struct Report {
    recipe: String,
    recipe_id: String,
    /// What the recipe calls near duplicates.
    rule: String,
    /// Whether these are. Texts with too few features are if they are equal, as the recipe prepares
    /// them.
    near: bool,
    a: Side,
    b: Side,
    /// Bits of both fingerprints that differ; null for methods that give several values.
    distance: Option<usize>,
    /// Equal values, for those.
    equal_values: Option<usize>,
    jaccard: f64,
    estimated_jaccard: Option<f64>,
    shared: Shared,
    /// Those that differ, from the least significant on.
    bits: Vec<Bit>,
    features: Vec<Feature>,
}

#[derive(Serialize)]
struct Side {
    name: String,
    bytes: usize,
    /// Sequences of bytes that were no UTF-8.
    invalid: u64,
    /// All, each as often as it is there.
    features: u64,
    /// Null for methods that give several values, and for texts with too few features.
    fingerprint: Option<String>,
    /// Of methods that give several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    too_few_features: bool,
    /// The hash of the text, of one with too few features.
    #[serde(skip)]
    exact: Option<u128>,
}

/// Different features, and what they weigh in both texts together.
#[derive(Default, Serialize)]
struct Shared {
    both: u64,
    only_a: u64,
    only_b: u64,
    weight_both: u128,
    weight_only_a: u128,
    weight_only_b: u128,
}

#[derive(Serialize)]
struct Bit {
    /// Its value is 2^bit.
    bit: u32,
    sum_a: Option<i128>,
    sum_b: Option<i128>,
}

#[derive(Serialize)]
struct Feature {
    text: String,
    weight_a: u64,
    weight_b: u64,
}

/// Compares, and prints what came of it.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut fingerprinter = args.recipe.fingerprinter("simhash-64")?;
    let [a, b] = documents(args)?;
    let comparison = fingerprinter.compare(&a.bytes, &b.bytes);
    let sides = [side(&mut fingerprinter, a), side(&mut fingerprinter, b)];
    let report = report(args, &fingerprinter, sides, comparison);
    let mut output = Output::stdout();
    match args.globals.json {
        true => output.json(&report)?,
        false => print(&report, fingerprinter.recipe().method().name(), &mut output)?,
    }
    output.flush()
}

/// The two texts, those of files first.
fn documents(args: &Args) -> Result<[Document; 2], Failure> {
    let usage = |message: &str| Failure::Usage(format!("compare: {message}"));
    if args.files.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(usage("standard input can be read only once; give `-` once"));
    }
    let mut documents = Vec::new();
    for path in &args.files {
        let name = name_of(path);
        let failure = |source| Failure::File { path: path.clone(), action: "read", source };
        let from: Box<dyn Read> = match is_stdin(path) {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path).map_err(failure)?),
        };
        let mut bytes = Vec::new();
        from.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failure)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(usage(&format!("{name}: is longer than 256 MiB; give a part of it")));
        }
        documents.push(Document { name, bytes });
    }
    documents.extend((1..).zip(&args.text).map(|(number, text)| Document {
        name: format!("text {number}"),
        bytes: text.clone().into_bytes(),
    }));
    let found = documents.len();
    documents.try_into().map_err(|_| {
        usage(&format!(
            "it takes two texts, and there are {found}; give two files, or --text twice"
        ))
    })
}

fn side(fingerprinter: &mut Fingerprinter, document: Document) -> Side {
    let Document { name, bytes } = document;
    let outcome = fingerprinter.fingerprint(&bytes);
    let (fingerprint, values, exact) = match &outcome.found {
        Found::Signature(Signature::Bits(fingerprint)) => {
            (Some(fingerprint.to_string()), Vec::new(), None)
        }
        Found::Signature(signature) => {
            (None, signature.values().map(|value| format!("{value:016x}")).collect(), None)
        }
        Found::TooFew { exact } => (None, Vec::new(), Some(*exact)),
    };
    let too_few_features = exact.is_some();
    let (invalid, features) = (outcome.invalid, outcome.features);
    let bytes = bytes.len();
    Side { name, bytes, invalid, features, fingerprint, values, too_few_features, exact }
}

fn report(
    args: &Args,
    fingerprinter: &Fingerprinter,
    [a, b]: [Side; 2],
    comparison: Comparison,
) -> Report {
    let recipe = fingerprinter.recipe();
    let shared = shared(&comparison.features);
    let bit = |&DifferentBit { bit, sums }: &DifferentBit| Bit {
        bit,
        sum_a: sums.map(|sums| sums[0]),
        sum_b: sums.map(|sums| sums[1]),
    };
    let feature =
        |FeatureShare { text, weights: [weight_a, weight_b] }| Feature { text, weight_a, weight_b };
    let is_equal = a.exact.is_some() && a.exact == b.exact;
    Report {
        recipe: recipe.to_string(),
        recipe_id: recipe.id().to_string(),
        rule: by_recipe::rule(&recipe.rule()),
        near: comparison.agree.unwrap_or(a.exact == b.exact),
        a,
        b,
        distance: comparison.bits.as_ref().map(Vec::len),
        equal_values: comparison.common,
        jaccard: if is_equal { 1.0 } else { comparison.jaccard },
        estimated_jaccard: comparison.estimate,
        shared,
        bits: comparison.bits.iter().flatten().map(bit).collect(),
        features: comparison.features.into_iter().take(args.features).map(feature).collect(),
    }
}

fn shared(features: &[FeatureShare]) -> Shared {
    let mut shared = Shared::default();
    for &FeatureShare { weights: [a, b], .. } in features {
        let (number, weight) = match (a, b) {
            (_, 0) => (&mut shared.only_a, &mut shared.weight_only_a),
            (0, _) => (&mut shared.only_b, &mut shared.weight_only_b),
            _ => (&mut shared.both, &mut shared.weight_both),
        };
        *number += 1;
        *weight += u128::from(a) + u128::from(b);
    }
    shared
}

fn print(report: &Report, method: &str, output: &mut Output) -> Result<(), Failure> {
    let mut line = |name: &str, text: String| output.line(&format!("{name:<12}{text}"));
    line("recipe", report.recipe.clone())?;
    for (name, side) in [("a", &report.a), ("b", &report.b)] {
        line(name, side_line(side))?;
    }
    line("verdict", verdict(report))?;
    if let Some(distance) = report.distance {
        let bits = report.a.fingerprint.as_ref().map_or(0, |digits| 4 * digits.len());
        line("distance", format!("{distance} of {bits} bits"))?;
    }
    if let Some(equal) = report.equal_values {
        let [a, b] = [&report.a, &report.b].map(|side| side.values.len());
        let of = if a == b { a.to_string() } else { format!("{a} and {b}") };
        line("equal", format!("{equal} of {of} values"))?;
    }
    line("jaccard", format!("{:.4}", report.jaccard))?;
    if let Some(estimate) = report.estimated_jaccard {
        line("estimated", format!("{estimate:.4} by {method}"))?;
    }
    let Shared { both, only_a, only_b, weight_both, weight_only_a, weight_only_b } = report.shared;
    if both + only_a + only_b > 0 {
        line(
            "shared",
            format!(
                "{} in both, {} in a alone, {} in b alone; they weigh {weight_both}, {weight_only_a}, \
                 {weight_only_b}",
                plural(both, "feature"),
                count(only_a),
                count(only_b)
            ),
        )?;
    }
    for (place, bit) in report.bits.iter().enumerate() {
        let name = if place == 0 { "bits" } else { "" };
        let sums = match (bit.sum_a, bit.sum_b) {
            (Some(a), Some(b)) => format!("  {a:+} in a, {b:+} in b"),
            _ => String::new(),
        };
        line(name, format!("2^{:<4}{sums}", bit.bit).trim_end().to_string())?;
    }
    for (place, feature) in report.features.iter().enumerate() {
        let name = if place == 0 { "features" } else { "" };
        let text: String =
            feature.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        line(name, format!("{:>6} {:>6}  {text}", feature.weight_a, feature.weight_b))?;
    }
    Ok(())
}

fn side_line(side: &Side) -> String {
    let what = match (&side.fingerprint, side.too_few_features) {
        (_, true) => "too few for a fingerprint".to_string(),
        (Some(fingerprint), _) => format!("fingerprint {fingerprint}"),
        (None, _) => plural(side.values.len() as u64, "value"),
    };
    let invalid = match side.invalid {
        0 => String::new(),
        invalid => format!(", {} no UTF-8", plural(invalid, "sequence")),
    };
    let (bytes, features) = (count(side.bytes as u64), plural(side.features, "feature"));
    format!("{}: {bytes} bytes{invalid}, {features}, {what}", side.name)
}

fn verdict(report: &Report) -> String {
    let exactly = "a text with too few features is compared exactly";
    match (report.near, report.a.too_few_features || report.b.too_few_features) {
        (true, true) => format!("equal: {exactly}"),
        (false, true) => format!("different: {exactly}"),
        (true, false) => format!("near duplicates by the rule of the recipe: {}", report.rule),
        (false, false) => format!("no near duplicates by the rule of the recipe: {}", report.rule),
    }
}
