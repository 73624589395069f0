//! What a recipe finds, and what it costs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fpstore_text::evaluate::{BINS, Curve, Labelled, Score, Signatures, labelled};
use fpstore_text::{Fingerprinter, Rule, TableBuilder};
use serde::Serialize;

use super::Args;
use crate::by_recipe;
use crate::failure::Failure;

/// So long a recipe is measured at the least.
const LEAST_TIME: Duration = Duration::from_millis(200);
/// Passes at most.
const PASSES: u32 = 20;

/// The texts and pairs that recipes are measured on.
pub(super) struct Work {
    pub set: Labelled,
    /// Of each pair whether it is labelled a duplicate, where there are labels.
    pub labels: Option<Vec<bool>>,
}

impl Work {
    /// Texts with changed copies.
    pub fn of_changes(texts: &[String], seed: u64, truth: &mut Fingerprinter) -> Self {
        Self { set: labelled(texts, seed, truth), labels: None }
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.set.texts.iter().map(String::len).sum()
    }
}

/// How well pairs are found with some k.
#[derive(Serialize)]
pub(super) struct Row {
    pub recipe: String,
    pub k: u32,
    /// Whether this is the k of the recipe's rule, or that with the best F1.
    pub which: &'static str,
    /// Null where no pair is to be found.
    pub recall: Option<f64>,
    pub precision: f64,
    pub f1: Option<f64>,
    /// Of the pairs with a similarity of 0.2 to 0.5; null where there are none.
    pub found_under_half: Option<f64>,
    pub bytes_per_document: f64,
    pub megabytes_per_second: f64,
}

impl Row {
    pub const HEADER: &'static str = "recipe                              k          recall precision       f1  under 0.5    bytes     MB/s";

    pub fn line(&self) -> String {
        let under =
            self.found_under_half.map_or("-".into(), |part| format!("{:.3}%", 100.0 * part));
        format!(
            "{:<32}{:5} {:<9}{:>8}{:10.4}{:>9}{under:>11}{:9.1}{:9.0}",
            self.recipe,
            self.k,
            self.which,
            share(self.recall),
            self.precision,
            share(self.f1),
            self.bytes_per_document,
            self.megabytes_per_second
        )
    }
}

/// A share as it is printed.
pub(super) fn share(share: Option<f64>) -> String {
    share.map_or("-".to_string(), |share| format!("{share:.4}"))
}

/// A recipe that was measured.
pub(super) struct Measured {
    pub name: String,
    pub line: String,
    /// By similarity and difference.
    pub curve: Curve,
    /// By whether they should be found, in the last bin and the first, and difference.
    wanted: Curve,
    pub rows: Vec<Row>,
}

impl Measured {
    pub fn of(given: &str, work: &Work, args: &Args) -> Result<Self, Failure> {
        let mut fingerprinter = fingerprinter(given, work)?;
        let (signatures, seconds) = signatures(&mut fingerprinter, work);
        let (mut curve, mut wanted) = (Curve::default(), Curve::default());
        for (place, pair) in work.set.pairs.iter().enumerate() {
            let difference = signatures.difference(pair.a, pair.b);
            curve.add(pair.jaccard, difference);
            let is_wanted = match &work.labels {
                Some(labels) => labels[place],
                None => pair.jaccard >= args.threshold,
            };
            wanted.add(f64::from(u8::from(is_wanted)), difference);
        }
        let mut measured = Self {
            name: given.to_string(),
            line: fingerprinter.recipe().to_string(),
            curve,
            wanted,
            rows: Vec::new(),
        };
        let rule = k_of_rule(&fingerprinter.recipe().rule());
        let ks = (0..=measured.greatest()).map(|k| (k, measured.score(k).f1()));
        let best = ks.fold((0, -1.0), |best, one| if one.1 > best.1 { one } else { best }).0;
        let further = args.radius.iter().map(|&k| (k, "-k"));
        for (k, which) in [(rule, "rule"), (best, "best f1")].into_iter().chain(further) {
            let score = measured.score(k);
            let (all, found) = (4..10)
                .map(|bin| measured.curve.bin(bin, k))
                .fold((0, 0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
            measured.rows.push(Row {
                recipe: given.to_string(),
                k,
                which,
                recall: (score.relevant > 0).then(|| score.recall()),
                precision: score.precision(),
                f1: (score.relevant > 0).then(|| score.f1()),
                found_under_half: (all > 0).then(|| found as f64 / all as f64),
                bytes_per_document: signatures.bytes_per_document(),
                megabytes_per_second: work.bytes() as f64 / seconds / 1e6,
            });
        }
        Ok(measured)
    }

    /// How well pairs are found that differ by at most `k`.
    pub fn score(&self, k: u32) -> Score {
        self.wanted.score(k, BINS - 1)
    }

    /// The greatest difference of any pair.
    pub fn greatest(&self) -> u32 {
        self.curve.greatest()
    }
}

/// A fingerprinter, with a table of the texts if it needs one.
fn fingerprinter(given: &str, work: &Work) -> Result<Fingerprinter, Failure> {
    let refused = |error| Failure::Usage(format!("recipe `{given}`: {error}"));
    let open = by_recipe::with_any_table(given)?;
    if open.table().is_none() {
        return Fingerprinter::new(&open).map_err(refused);
    }
    let mut builder = TableBuilder::new(&open).map_err(refused)?;
    work.set.texts[..work.set.given].iter().for_each(|text| builder.add(text.as_bytes()));
    let table = Arc::new(builder.finish(1));
    let recipe = by_recipe::parse_with(given, &table)?;
    Fingerprinter::with_table(&recipe, table).map_err(refused)
}

/// The signatures of all texts, and the seconds that these take once.
fn signatures(fingerprinter: &mut Fingerprinter, work: &Work) -> (Signatures, f64) {
    let start = Instant::now();
    let signatures = Signatures::of(&work.set.texts, fingerprinter);
    let mut passes = 1;
    while start.elapsed() < LEAST_TIME && passes < PASSES {
        drop(Signatures::of(&work.set.texts, fingerprinter));
        passes += 1;
    }
    (signatures, start.elapsed().as_secs_f64() / f64::from(passes))
}

/// What may differ by the rule of a recipe.
pub(super) fn k_of_rule(rule: &Rule) -> u32 {
    match rule {
        Rule::Within { k } => *k,
        Rule::Equal { least, of } => of - least,
        Rule::Jaccard { threshold } => (100.0 - 100.0 * threshold).round() as u32,
        // Of three sentences each, two in common are half of all.
        _ => 50,
    }
}
