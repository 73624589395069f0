//! Lines of recipes.

use fpstore_text::{Error, Fingerprinter, Recipe, TableBuilder};
use proptest::prelude::*;

use crate::agree;

fn refused(line: &str) -> String {
    line.parse::<Recipe>().expect_err(line).to_string()
}

#[test]
fn presets_are_canonical_and_have_names_of_their_own() {
    let mut ids = std::collections::BTreeSet::new();
    for (name, line) in Recipe::presets() {
        let line = line.replace('?', &"0123456789abcdef".repeat(2));
        let recipe = Recipe::from_line(&line).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(recipe.to_string(), line, "{name}");
        assert!(ids.insert(recipe.id()), "{name}");
    }
}

#[test]
fn ids_are_the_sha256_of_the_line() {
    let recipe: Recipe = "python-simhash".parse().unwrap();
    assert_eq!(
        recipe.to_string(),
        "text/1 python-simhash version=2.1.2 bits=64 unicode=16.0.0 few=1"
    );
    assert_eq!(recipe.id().to_string(), "22b4092352c66e96203d1d60577a30ae");
}

#[test]
fn words_go_in_any_order_and_are_printed_in_one() {
    let line = "simhash-64".parse::<Recipe>().unwrap().to_string();
    let mut words: Vec<&str> = line.split(' ').collect();
    words[2..].reverse();
    let turned = words.join("  ");
    assert_eq!(turned.parse::<Recipe>().unwrap().to_string(), line);
    assert_eq!(Recipe::from_line(&turned), Err(Error::NotCanonical { canonical: line.clone() }));
    assert_eq!(
        Recipe::from_line(&line.replace("seed=0", "seed=00")),
        Err(Error::NotCanonical { canonical: line })
    );
}

/// The table of words in GRAMMAR.md is that of the canonical lines.
#[test]
fn lines_have_the_words_that_the_grammar_lists() {
    let grammar = include_str!("../../GRAMMAR.md");
    let block = grammar.split("```").nth(1).unwrap();
    let group = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix("= ")).unwrap()
    };
    let mut methods = 0;
    for line in block
        .lines()
        .skip(2)
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
    {
        let (method, words) = line.split_once(' ').unwrap();
        let words = words
            .replace("FEATURES", group("FEATURES"))
            .replace("TEXT", group("TEXT"))
            .replace("HASH", group("HASH"));
        let (mut listed, mut lines) = (words.clone(), 0);
        for short in agree::LINES {
            let canonical = agree::pair(short).line;
            let mut canonical = canonical.split(' ').skip(1);
            if canonical.next() != Some(method) {
                continue;
            }
            let keys: Vec<&str> = canonical.map(|word| word.split_once('=').unwrap().0).collect();
            let cut = if keys.contains(&"keep") { "keep" } else { "cut" };
            listed = words
                .replace("(cut | keep)", cut)
                .replace("[table]", if keys.contains(&"table") { "table" } else { "" });
            assert_eq!(keys, listed.split_whitespace().collect::<Vec<_>>(), "{short}");
            lines += 1;
        }
        assert!(lines > 0, "no line of {method} is tested: {listed}");
        methods += 1;
    }
    assert_eq!(methods, 11);
}

#[test]
fn errors_say_what_is_wrong_and_what_would_be_right() {
    assert!(refused("").contains("begins with the name of a preset (simhash-64"));
    assert!(refused("simhash").contains("`simhash` is no recipe"));
    assert!(refused("text/1 foo").contains("unknown method `foo`; there are simhash, projection"));
    assert!(
        refused("text/1 simhash bits=64").contains("of method simhash needs the word `weight=`")
    );
    assert!(refused("simhash-64 bits=65").contains("`bits=65` is not possible: 64 or 128 or 256"));
    assert!(refused("simhash-64 n=0").contains("`n=0` is not possible: a number from 1 to 64"));
    assert!(refused("simhash-64 n=+3").contains("`n=+3`"));
    assert!(refused("simhash-64 slots=3").contains(
        "`slots=3` has no place in this recipe of method simhash; its words are bits, weight"
    ));
    assert!(refused("simhash-64 keep=all").contains("`keep=all` has no place"));
    assert!(refused("simhash-64 n=3 n=4").contains("`n=` is there twice"));
    assert!(refused("simhash-64 weight=tfidf").contains("needs the word `table=`"));
    assert!(refused("imatch").contains("`table=?` is not possible: the id of a table"));
    assert!(refused("exact bits=256").contains("XXH3 has no 256 bits"));
    assert!(refused("supershingles agree=7").contains("a number from 1 to 6"));
    assert!(
        refused("simhash-64 unicode=17.0.0").contains("`unicode=17.0.0` is not possible: 16.0.0")
    );
}

#[test]
fn tables_must_be_those_of_the_recipe() {
    let words: Recipe = "simhash-64 n=1".parse().unwrap();
    let table = |text: &str| {
        let mut builder = TableBuilder::new(&words).unwrap();
        builder.add(text.as_bytes());
        std::sync::Arc::new(builder.finish(1))
    };
    let (one, other) = (table("one"), table("other"));
    let recipe: Recipe = format!("imatch table={}", one.id()).parse().unwrap();
    assert!(matches!(Fingerprinter::new(&recipe), Err(Error::TableNeeded { .. })));
    assert!(matches!(
        Fingerprinter::with_table(&recipe, other.clone()),
        Err(Error::TableMismatch { .. })
    ));
    assert!(matches!(Fingerprinter::with_table(&words, other), Err(Error::TableMismatch { .. })));
    let pairs: Recipe = format!("imatch table={} n=2", one.id()).parse().unwrap();
    assert!(matches!(
        Fingerprinter::with_table(&pairs, one.clone()),
        Err(Error::Contradiction { .. })
    ));
    assert!(Fingerprinter::with_table(&recipe, one).is_ok());
}

#[test]
fn broken_tables_are_refused() {
    let words: Recipe = "simhash-64 n=1".parse().unwrap();
    let mut builder = TableBuilder::new(&words).unwrap();
    builder.add(b"one two three");
    let bytes = builder.finish(1).to_bytes();
    assert!(fpstore_text::Table::from_bytes(&bytes).is_ok());
    for end in 0..bytes.len() {
        assert!(fpstore_text::Table::from_bytes(&bytes[..end]).is_err(), "{end}");
    }
    // The documents, the number of features, the order of features, a count.
    for (at, value) in
        [(8, 2), (32, 0), (40, 4), (47, 255), (48 + 7, 255), (48 + 24, 0), (48 + 24, 2)]
    {
        let mut broken = bytes.clone();
        broken[at] = value;
        assert!(fpstore_text::Table::from_bytes(&broken).is_err(), "{at} {value}");
    }
}

#[cfg(not(feature = "jieba"))]
#[test]
fn a_dictionary_that_is_not_built_in_is_refused() {
    let recipe: Recipe = "simhash-64 cut=uax29+jieba-rs-0.8.1".parse().unwrap();
    assert_eq!(Fingerprinter::new(&recipe).unwrap_err(), Error::NotBuilt { feature: "jieba" });
}

proptest! {
    #[test]
    fn any_line_is_refused_or_canonical_once_printed(index in 0..agree::LINES.len(), change in "[ -~]{0,12}", at in any::<prop::sample::Index>()) {
        let mut line = agree::LINES[index].to_owned();
        line.insert_str(at.index(line.len() + 1), &change);
        if let Ok(recipe) = line.parse::<Recipe>() {
            prop_assert_eq!(Recipe::from_line(&recipe.to_string()), Ok(recipe));
        }
    }
}
