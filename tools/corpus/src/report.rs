//! What a command did, in numbers.

use std::collections::HashMap;
use std::fmt::Write;

use fpstore_text::Recipe;
use serde::{Deserialize, Serialize};

use crate::fates::{Fates, OldMatch, Why};
use crate::ledger::Notes;
use crate::settings::Settings;

/// The name of the row of records that are no documents.
const SKIPPED: &str = "skipped";

/// The clusters of documents of which some are removed.
#[derive(Default)]
pub struct Clusters {
    numbers: HashMap<u32, u64>,
    old: HashMap<String, u64>,
    /// For each cluster the documents that are removed.
    sizes: Vec<u64>,
    of_exact: u64,
}

impl Clusters {
    /// Those of all documents.
    pub fn of(documents: u32, fates: &Fates) -> Self {
        let mut clusters = Self::default();
        for document in 0..documents {
            if let Some(verdict) = fates.verdict(document) {
                let root = fates.root(document);
                clusters.add(root, fates.old.get(&root), verdict.why);
            }
        }
        clusters
    }

    /// The number of the cluster of a document, if there is one of which documents are removed.
    pub fn number(&self, root: u32, old: Option<&OldMatch>) -> Option<u64> {
        match old {
            Some(old) => self.old.get(&old.id),
            None => self.numbers.get(&root),
        }
        .copied()
    }

    /// How many clusters there are.
    pub fn count(&self) -> u64 {
        self.sizes.len() as u64
    }

    /// The documents of a cluster, with the one that is kept.
    pub fn size(&self, number: u64) -> u64 {
        1 + self.sizes.get(number as usize).copied().unwrap_or_default()
    }

    /// Counts a document that is removed; gives the number of its cluster, and its size so far.
    pub fn add(&mut self, root: u32, old: Option<&OldMatch>, why: Why) -> (u64, u64) {
        let next = self.sizes.len() as u64;
        let number = match old {
            Some(old) => *self.old.entry(old.id.clone()).or_insert(next),
            None => *self.numbers.entry(root).or_insert(next),
        };
        if number == next {
            self.sizes.push(0);
        }
        self.of_exact += u64::from(why == Why::Exact);
        self.sizes[number as usize] += 1;
        (number, self.sizes[number as usize])
    }
}

/// The report.
#[derive(Serialize, Deserialize)]
pub struct Report {
    /// What decided the result.
    pub settings: Settings,
    /// The id of the recipe.
    pub recipe_id: String,
    /// The numbers.
    pub counts: Totals,
}

/// The numbers of a report.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Totals {
    /// Documents that were read.
    pub documents: u64,
    /// Documents that are kept.
    pub kept: u64,
    /// Documents that are removed: with the text of another one.
    pub exact_duplicates: u64,
    /// Near ones.
    pub near_duplicates: u64,
    /// Near one of an earlier corpus.
    pub in_store: u64,
    /// Clusters of which documents are removed.
    pub clusters: u64,
    /// The documents of the largest one, with the one that is kept.
    pub largest_cluster: u64,
    /// Documents with too few features, which are compared exactly only.
    pub too_few_features: u64,
    /// Documents without a text, null or empty, which are kept.
    pub without_text: u64,
    /// Documents with bytes that are no UTF-8.
    pub invalid_utf8: u64,
    /// Records that were skipped.
    pub skipped: u64,
    /// Bytes of all texts.
    pub text_bytes: u64,
}

impl Report {
    /// The report of what was decided.
    pub fn new(
        settings: &Settings,
        recipe: &Recipe,
        notes: &Notes,
        fates: &Fates,
        clusters: &Clusters,
    ) -> Self {
        let count_of = |wanted: Why| fates.why.iter().filter(|why| **why == wanted).count() as u64;
        let skipped = count_of(Why::Skipped);
        Self {
            settings: settings.clone(),
            recipe_id: recipe.id().to_string(),
            counts: Totals {
                documents: u64::from(notes.documents) - skipped,
                kept: count_of(Why::Kept),
                exact_duplicates: count_of(Why::Exact),
                near_duplicates: count_of(Why::Near),
                in_store: count_of(Why::Old),
                clusters: clusters.count(),
                largest_cluster: clusters.sizes.iter().max().map_or(0, |size| size + 1),
                too_few_features: notes.counts.too_few,
                without_text: notes.counts.without_text,
                invalid_utf8: notes.counts.invalid_utf8,
                skipped,
                text_bytes: notes.counts.text_bytes,
            },
        }
    }

    /// The report as a short text.
    pub fn text(&self) -> String {
        let Totals { documents, .. } = self.counts;
        let counts = &self.counts;
        let mut text = String::new();
        let mut row = |name: &str, number: u64, what: &str| {
            // Those that are skipped are not among the documents.
            let all = if name == SKIPPED { documents + number } else { documents };
            let share = number as f64 / all.max(1) as f64 * 100.0;
            // Writing to memory does not fail.
            let _ = writeln!(text, "{name:<17} {:>14} {share:>6.2}%  {what}", count(number));
        };
        row("documents", documents, "");
        row(
            "exact duplicates",
            counts.exact_duplicates,
            "the text of the matched document, as the recipe prepares it",
        );
        let near = match self.settings.k {
            Some(k) => format!("within {k} bits of another document, {}", self.settings.clusters),
            None => format!(
                "near another document by the rule of the method, {}",
                self.settings.clusters
            ),
        };
        row("near duplicates", counts.near_duplicates, &near);
        if let Some(store) = &self.settings.against {
            row("known", counts.in_store, &format!("near a document of {store}"));
        }
        row("kept", counts.kept, "");
        if counts.too_few_features > 0 {
            row("too few features", counts.too_few_features, "compared exactly only");
        }
        if counts.without_text > 0 {
            row(
                "without a text",
                counts.without_text,
                "null or empty: kept, duplicates of nothing",
            );
        }
        if counts.invalid_utf8 > 0 {
            row(
                "invalid UTF-8",
                counts.invalid_utf8,
                "what is none was replaced for the comparison",
            );
        }
        if counts.skipped > 0 {
            row(SKIPPED, counts.skipped, "bad records, of all records; not among the documents");
        }
        let _ = writeln!(
            text,
            "{} of two documents and more, the largest of {}",
            plural(counts.clusters, "cluster"),
            count(counts.largest_cluster)
        );
        let _ = writeln!(text, "recipe {}\n{}", self.recipe_id, self.settings.recipe);
        text
    }
}

/// A whole number with separators: 1,234,567.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: 1 cluster, 2 clusters.
fn plural(number: u64, thing: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {thing}{s}", count(number))
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_written_in_groups_of_three() {
        let written = [0, 999, 1000, 1_234_567].map(super::count);
        assert_eq!(written, ["0", "999", "1,000", "1,234,567"]);
    }
}
