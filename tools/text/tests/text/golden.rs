//! Frozen fingerprints. For each recipe `tests/golden.txt` has its id and line, and then what each
//! of the fixed texts gets. Recipes are added at the end; what stands there is never changed:
//! `FPSTORE_BLESS=1 cargo test -p fpstore-text --test text golden` adds what the oracle says of
//! recipes that are new, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::agree::{LINES, Pair, given, pair};
use crate::oracle::{Answer, Line};
use crate::texts;

const GOLDEN: &str = include_str!("../golden.txt");
#[cfg(feature = "jieba")]
const DICTIONARY: &str = include_str!("../golden-dictionary.txt");

fn shown(answer: &Answer) -> String {
    let list = |values: &[u64]| {
        let digits: String = values.iter().map(|value| format!("{value:016x}")).collect();
        // Many values stand for themselves by a hash.
        if values.len() <= 8 {
            digits
        } else {
            format!("{}:{:032x}", values.len(), xxhash_rust::xxh3::xxh3_128(digits.as_bytes()))
        }
    };
    match answer {
        Answer::TooFew(exact) => format!("few {exact:032x}"),
        Answer::Bits(digits) => format!("bits {digits}"),
        Answer::Slots(values) => format!("slots {}", list(values)),
        Answer::Set(values) => format!("set {}", list(values)),
    }
}

/// All presets, and the recipes of the other tests.
fn shorts() -> Vec<String> {
    let presets = fpstore_text::Recipe::presets().iter().map(|(name, _)| (*name).to_owned());
    let all = presets.chain(LINES.iter().map(|line| (*line).to_owned()));
    // Some are the same recipe.
    all.map(|short| (pair(&short).line, short)).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The frozen lines of each recipe, by its canonical line.
fn frozen(golden: &'static str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let recipes = golden.split("recipe ").skip(1).map(|part| {
        let mut lines = part.lines();
        let (id, line) = lines.next().unwrap().split_once(' ').unwrap();
        assert_eq!(fpstore_text::Recipe::from_line(line).unwrap().id().to_string(), id);
        (line, lines.collect())
    });
    recipes.collect()
}

#[test]
fn fingerprints_are_those_that_were_frozen() {
    compare(shorts(), GOLDEN, "golden.txt");
}

#[cfg(feature = "jieba")]
#[test]
fn fingerprints_by_the_dictionary_are_those_that_were_frozen() {
    let shorts = crate::agree::DICTIONARY.iter().map(|short| (*short).to_owned()).collect();
    compare(shorts, DICTIONARY, "golden-dictionary.txt");
}

/// Compares with what stands in a file, to which new recipes are added where that is asked for.
fn compare(shorts: Vec<String>, golden: &'static str, file: &str) {
    let mut frozen = frozen(golden);
    let mut added = String::new();
    for short in shorts {
        let Pair { mut fingerprinter, line, frequencies } = pair(&short);
        let Some(expected) = frozen.remove(&*line) else {
            let bless = std::env::var_os("FPSTORE_BLESS").is_some();
            assert!(bless, "not frozen yet (FPSTORE_BLESS=1 does it): {line}");
            writeln!(added, "recipe {} {line}", fingerprinter.recipe().id()).unwrap();
            let oracle = Line::new(&line, frequencies);
            for (name, document) in texts::fixed() {
                writeln!(added, "{name}\t{}", shown(&oracle.answer(&document))).unwrap();
            }
            continue;
        };
        let names = texts::fixed();
        assert_eq!(expected.len(), names.len());
        for ((name, document), expected) in names.iter().zip(expected) {
            let answer = shown(&given(&mut fingerprinter, document));
            assert_eq!(format!("{name}\t{answer}"), expected, "changed: {line}");
        }
    }
    assert!(frozen.is_empty(), "frozen and no longer tested: {frozen:?}");
    if !added.is_empty() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
        fs::write(path, format!("{golden}{added}")).unwrap();
    }
}
