//! What a recipe finds, and what it costs.

use std::cmp::Ordering;
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
/// F1 below the best one that counts as nearly as good.
const NEARLY: f64 = 0.01;
/// Recipes that come first.
pub(super) const BEST: usize = 5;

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
    /// Whether this one is recommended.
    pub recommended: bool,
    /// Whether the recipe can be used with another k than that of its rule.
    #[serde(skip)]
    takes_k: bool,
}

impl Row {
    pub const HEADER: &'static str = "recipe                              k          recall precision       f1  under 0.5    bytes     MB/s";

    /// Whether a command takes the recipe with this k.
    fn is_usable(&self) -> bool {
        self.takes_k || self.which == "rule"
    }

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
        let recipe = fingerprinter.recipe();
        let rule = k_of_rule(&recipe.rule());
        // The bits of hashes of whole texts say nothing of how near these are.
        let takes_k = matches!(recipe.rule(), Rule::Within { k: 1.. });
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
                recommended: false,
                takes_k,
            });
        }
        Ok(measured)
    }

    /// The row with the best F1 of those that can be used as they are.
    fn best(&self) -> Option<&Row> {
        self.rows.iter().filter(|row| row.is_usable()).min_by(|one, other| by_f1(one, other))
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

/// Orders rows: the best F1 first, then the fewest bytes.
fn by_f1(one: &Row, other: &Row) -> Ordering {
    let f1 = |row: &Row| row.f1.unwrap_or(-1.0);
    f1(other)
        .total_cmp(&f1(one))
        .then(one.bytes_per_document.total_cmp(&other.bytes_per_document))
        .then_with(|| (&one.recipe, one.k).cmp(&(&other.recipe, other.k)))
}

/// Marks the row that is recommended: of those whose F1 is nearly the best the one with the fewest
/// bytes.
pub(super) fn recommend(all: &mut [Measured]) {
    let rows = || all.iter().flat_map(|measured| &measured.rows).filter(|row| row.is_usable());
    let Some(best) = rows().filter_map(|row| row.f1).max_by(f64::total_cmp) else { return };
    let nearly = rows().filter(|row| row.f1.is_some_and(|f1| f1 >= best - NEARLY));
    let few = |one: &&Row, other: &&Row| {
        let bytes = one.bytes_per_document.total_cmp(&other.bytes_per_document);
        bytes.then_with(|| by_f1(one, other))
    };
    let Some((recipe, k)) = nearly.min_by(few).map(|row| (row.recipe.clone(), row.k)) else {
        return;
    };
    // Two rows of a recipe may have the same k.
    let mut rows = all.iter_mut().flat_map(|measured| &mut measured.rows);
    if let Some(row) = rows.find(|row| (&row.recipe, row.k) == (&recipe, k)) {
        row.recommended = true;
    }
}

/// A sentence about what is recommended.
pub(super) fn recommendation(all: &[Measured]) -> String {
    let mut rows = all.iter().flat_map(|measured| &measured.rows);
    let Some(row) = rows.find(|row| row.recommended) else {
        return "No pair is to be found, so that nothing can be recommended.".to_string();
    };
    let Row { recipe, k, precision, bytes_per_document, .. } = row;
    let with = if row.takes_k { format!(" with k = {k}") } else { String::new() };
    format!(
        "{recipe}{with} is recommended: it finds {:.1}% of the pairs that should be found, \
         {:.1}% of what it finds is wrong, and it takes {bytes_per_document:.0} bytes for each \
         document.",
        100.0 * row.recall.unwrap_or(0.0),
        100.0 * (1.0 - precision),
    )
}

/// The best row of each of the best recipes.
pub(super) fn best_rows(all: &[Measured]) -> Vec<&Row> {
    let mut rows: Vec<&Row> = all.iter().filter_map(Measured::best).collect();
    rows.sort_by(|one, other| by_f1(one, other));
    rows.truncate(BEST);
    rows
}

/// All rows, the best first.
pub(super) fn sorted_rows(all: &[Measured]) -> Vec<&Row> {
    let mut rows: Vec<&Row> = all.iter().flat_map(|measured| &measured.rows).collect();
    rows.sort_by(|one, other| by_f1(one, other));
    rows
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
