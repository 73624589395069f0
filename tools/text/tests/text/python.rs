//! What the Python package `simhash` 2.1.2 gave.

use fpstore_text::{Fingerprinter, Found, Recipe, Signature};

fn fingerprint(fingerprinter: &mut Fingerprinter, text: &str) -> u64 {
    match fingerprinter.fingerprint(text.as_bytes()).found {
        Found::Signature(Signature::Bits(fingerprint)) => fingerprint.as_u64().unwrap(),
        other => panic!("{text:?}: {other:?}"),
    }
}

fn fingerprinter() -> Fingerprinter {
    Fingerprinter::new(&"python-simhash".parse::<Recipe>().unwrap()).unwrap()
}

fn text_of(line: &str) -> (String, Option<String>) {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let field = |name: &str| value[name].as_str().map(str::to_owned);
    (field("text").unwrap(), field("simhash"))
}

#[test]
fn texts_get_what_the_package_gave_them() {
    let mut fingerprinter = fingerprinter();
    let lines = include_str!("../data/python-simhash.jsonl");
    for line in lines.lines() {
        let (text, expected) = text_of(line);
        assert_eq!(
            format!("{:016x}", fingerprint(&mut fingerprinter, &text)),
            expected.unwrap(),
            "{text:?}"
        );
    }
    assert!(lines.lines().count() > 300);
}

/// With `FPSTORE_TEXTSET=DIR`, the 1,334 texts of `DIR/textset.jsonl`, whose fingerprints are in
/// `DIR/textset.u64`: their licences keep them out of this package.
#[test]
fn the_text_set_gets_what_the_package_gave_it() {
    let Some(directory) = std::env::var_os("FPSTORE_TEXTSET") else { return };
    let directory = std::path::Path::new(&directory);
    let texts = std::fs::read_to_string(directory.join("textset.jsonl")).unwrap();
    let expected = std::fs::read(directory.join("textset.u64")).unwrap();
    let (expected, _) = expected.as_chunks::<8>();
    assert_eq!(texts.lines().count(), expected.len());
    let mut fingerprinter = fingerprinter();
    for (line, expected) in texts.lines().zip(expected) {
        assert_eq!(
            fingerprint(&mut fingerprinter, &text_of(line).0),
            u64::from_le_bytes(*expected)
        );
    }
}
