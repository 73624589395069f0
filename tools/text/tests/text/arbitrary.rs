//! Whatever the bytes, there is an answer.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::agree::{LINES, Pair, given, pair};
use crate::oracle::Line;
use crate::texts;

/// Runs for `FPSTORE_SECONDS` seconds, one by default; prints its seed.
#[test]
fn any_bytes_get_an_answer_and_the_same_from_the_oracle() {
    let seconds =
        std::env::var("FPSTORE_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let seed: [u8; 32] =
        std::array::from_fn(|index| (std::process::id() >> (8 * (index % 4))) as u8);
    println!("seed {seed:?}");
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &seed),
    );
    let mut recipes: Vec<Pair> = LINES.iter().map(|short| pair(short)).collect();
    let strategy = texts::documents();
    let mut documents = 0u64;
    while Instant::now() < end {
        let document = strategy.new_tree(&mut runner).unwrap().current();
        for Pair { fingerprinter, line, frequencies } in &mut recipes {
            let expected = Line::new(line, frequencies.clone()).answer(&document);
            assert_eq!(given(fingerprinter, &document), expected, "{line} {document:?}");
        }
        documents += 1;
    }
    println!("{documents} documents by {} recipes", recipes.len());
}

#[test]
fn strange_documents_never_share_an_answer_without_a_word() {
    let strange: Vec<Vec<u8>> = [
        "a",
        "b",
        "中",
        "文",
        ".",
        "..",
        "。",
        "a b",
        "a c",
        "\u{301}",
        " . ",
        "\u{fffd}",
        "\u{fffd}\u{fffd}",
        "_",
        "0",
        "<b>",
        "👍",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([
        b"\xff".to_vec(),
        b"\xfe".to_vec(),
        b"\xff\xff".to_vec(),
        vec![0],
        vec![0, 0],
        Vec::new(),
    ])
    .collect();
    for short in LINES {
        let Pair { mut fingerprinter, line, .. } = pair(short);
        // With one feature enough, texts of the same features are the same: `<b>` and `b`.
        if line.contains("few=1") || line.contains("python") {
            continue;
        }
        let prepared = Line::new(&line, Default::default());
        let mut seen = std::collections::BTreeMap::new();
        for document in &strange {
            let text = prepared.text(document);
            let same = if std::str::from_utf8(document).is_ok() {
                text.into_bytes()
            } else {
                document.clone()
            };
            let answer = format!("{:?}", given(&mut fingerprinter, document));
            let before = seen.insert(answer.clone(), same.clone());
            assert!(
                before.as_ref().is_none_or(|before| *before == same),
                "{line}: {document:?} and {before:?} both get {answer}"
            );
        }
    }
}

/// Texts that could make something quadratic.
#[test]
fn a_megabyte_on_one_line_takes_no_longer_than_its_length() {
    let patterns = [
        "a",
        " ",
        "_",
        "é",
        "中",
        "the ",
        "<",
        "<a",
        "<!--",
        "&",
        "&#",
        "</",
        "<script>",
        "e\u{301}",
        "\u{301}",
        "\u{200d}",
        "a.",
        "1,",
        "a\u{ad}",
        "中\u{301}",
        "\u{ac00}\u{11a8}",
        "🇩",
        "👩\u{200d}",
        ". ",
        "！",
        "ﾞ",
        "\u{ff}\u{345}",
        "א\"",
    ];
    let recipes = [
        "simhash-64 markup=html",
        "simhash-64-chars space=collapse",
        "onebit-256",
        "spotsigs",
        "longest-sentences",
        "minhash-128 norm=nfc",
        "python-simhash",
    ];
    for short in recipes {
        let mut fingerprinter = pair(short).fingerprinter;
        for pattern in patterns {
            let document = pattern.repeat(1_000_000 / pattern.len());
            let start = Instant::now();
            fingerprinter.fingerprint(document.as_bytes());
            let seconds = start.elapsed().as_secs_f64();
            assert!(seconds < 20.0, "{short} {pattern:?}: {seconds} s");
        }
    }
}
