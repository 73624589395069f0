//! The crate and the oracle give the same.

use std::cell::RefCell;
use std::sync::Arc;

use fpstore_text::{Fingerprinter, Found, Recipe, Signature, Table, TableBuilder};
use proptest::prelude::*;

use crate::oracle::{Answer, Frequencies, Line};
use crate::texts;

/// Recipes of every method and every word.
pub const LINES: &[&str] = &[
    "simhash-64",
    "simhash-128 n=2 seed=18446744073709551615",
    "simhash-256 weight=presence norm=nfc",
    "simhash-64 weight=logtf case=keep norm=none",
    "simhash-64 weight=tfidf table=? n=1",
    "simhash-128 markup=html space=remove n=1 few=1",
    "simhash-64-chars",
    "simhash-256-chars keep=all space=collapse n=5",
    "simhash-64-chars n=64 norm=none seed=1",
    "projection-64",
    "projection-256 markup=html",
    "projection-64 weight=logtf",
    "onebit-64",
    "onebit-128-chars seed=3",
    "onebit-256",
    "onebit-64 scheme=one-permutation few=1",
    "onebit-64-chars norm=nfkc-visible markup=html keep=all",
    "onebit-64 scheme=independent markup=html",
    "minhash-128",
    "minhash-128 slots=5 keep-bits=1 norm=nfc",
    "minhash-128-independent slots=16",
    "minhash-128-one-permutation slots=77 keep-bits=8",
    "bands-20x6",
    "supershingles n=2",
    "imatch low=0 high=2000",
    "imatch low=256 high=900 lexicons=3 drop=50 few=1",
    "spotsigs few=1",
    "spotsigs antecedents=zh distance=1 chain=1",
    "longest-sentences",
    "sentences norm=nfc agree=1",
    "sentences norm=nfkc-visible",
    "exact",
    "exact bits=64 space=remove markup=html",
    "exact-sha256 bits=128",
    "exact-sha256",
    "python-simhash",
];

/// Recipes that cut Chinese by a dictionary.
#[cfg(feature = "jieba")]
pub const DICTIONARY: &[&str] = &[
    "simhash-64 cut=uax29+jieba-rs-0.8.1 n=2",
    "spotsigs cut=uax29+jieba-rs-0.8.1 few=1 distance=1 chain=2",
    "longest-sentences cut=uax29+jieba-rs-0.8.1",
];

/// A recipe with its table, if it needs one, and the oracle's counts.
pub struct Pair {
    pub fingerprinter: Fingerprinter,
    pub line: String,
    pub frequencies: Frequencies,
}

/// The recipe that `short` means, with a table over the fixed texts where it needs one.
pub fn pair(short: &str) -> Pair {
    let no_table = "0".repeat(32);
    let with_table = format!("{} table={no_table}", short.replace("table=?", "").trim());
    let recipe: Recipe = short
        .parse()
        .or_else(|_| with_table.parse())
        .unwrap_or_else(|error| panic!("{short}: {error}"));
    let line = recipe.to_string();
    if recipe.table().is_none() {
        return Pair {
            fingerprinter: Fingerprinter::new(&recipe).unwrap(),
            line,
            frequencies: Frequencies::default(),
        };
    }
    let (table, frequencies) = table(&recipe);
    let line = line.replace(&no_table, &table.id().to_string());
    let recipe = Recipe::from_line(&line).unwrap();
    Pair { fingerprinter: Fingerprinter::with_table(&recipe, table).unwrap(), line, frequencies }
}

fn table(recipe: &Recipe) -> (Arc<Table>, Frequencies) {
    let mut builder = TableBuilder::new(recipe).unwrap();
    let mut frequencies = Frequencies::default();
    let line = recipe.to_string();
    let oracle = Line::new(&line, Frequencies::default());
    for (_, document) in texts::fixed() {
        builder.add(&document);
        frequencies.documents += 1;
        let features: std::collections::BTreeSet<u64> =
            oracle.features(&oracle.text(&document)).into_iter().collect();
        features
            .into_iter()
            .for_each(|feature| *frequencies.counts.entry(feature).or_default() += 1);
    }
    let built = builder.finish(1);
    let read = Table::from_bytes(&built.to_bytes()).unwrap();
    assert_eq!(
        (read.id(), read.features(), read.documents()),
        (built.id(), frequencies.counts.len(), frequencies.documents)
    );
    (Arc::new(read), frequencies)
}

/// What the crate gives, as the oracle says it.
pub fn given(fingerprinter: &mut Fingerprinter, document: &[u8]) -> Answer {
    match fingerprinter.fingerprint(document).found {
        Found::TooFew { exact } => Answer::TooFew(exact),
        Found::Signature(Signature::Bits(fingerprint)) => Answer::Bits(fingerprint.to_string()),
        Found::Signature(Signature::Slots(slots)) => Answer::Slots(slots.into_owned()),
        Found::Signature(Signature::Set(set)) => Answer::Set(set.into_owned()),
    }
}

#[test]
fn every_recipe_agrees_with_the_oracle_on_texts_of_many_languages() {
    for short in LINES {
        let Pair { mut fingerprinter, line, frequencies } = pair(short);
        let oracle = Line::new(&line, frequencies);
        for (name, document) in texts::fixed() {
            assert_eq!(
                given(&mut fingerprinter, &document),
                oracle.answer(&document),
                "{line}, {name}"
            );
        }
    }
}

#[test]
fn every_recipe_agrees_with_the_oracle_on_any_text() {
    for short in LINES {
        let Pair { fingerprinter, line, frequencies } = pair(short);
        let oracle = Line::new(&line, frequencies);
        // One fingerprinter for all, so that nothing is left over from one document to the next.
        let fingerprinter = RefCell::new(fingerprinter);
        proptest!(ProptestConfig::with_cases(40), |(document in texts::documents())| {
            prop_assert_eq!(given(&mut fingerprinter.borrow_mut(), &document), oracle.answer(&document), "{}", line);
        });
    }
}

#[cfg(feature = "jieba")]
#[test]
fn words_of_the_dictionary_agree_with_the_oracle() {
    for short in DICTIONARY {
        let Pair { mut fingerprinter, line, frequencies } = pair(short);
        let oracle = Line::new(&line, frequencies);
        for (name, document) in texts::fixed() {
            assert_eq!(
                given(&mut fingerprinter, &document),
                oracle.answer(&document),
                "{line}, {name}"
            );
        }
    }
}
