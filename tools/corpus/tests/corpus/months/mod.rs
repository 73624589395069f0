//! Months that come one after the other, each compared with all before it, against one run over all
//! of them and against the definition of what is near.

use std::path::Path;

use fpstore_corpus::{Decided, Dedup, Document, Kept, Why};
use fpstore_text::{Fingerprinter, Found, Rule, Signature};

use super::by;

const MONTHS: usize = 6;

/// A document: its id, which may come again with another text, and its text.
type Text = (String, String);

/// Texts of some sentences, of which many are nearly those of others before them, or the same.
fn texts(count: usize) -> Vec<Text> {
    let mut random = 11u64;
    let mut below = move |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % bound
    };
    let mut all: Vec<Text> = Vec::new();
    for number in 0..count {
        let mut sentences: Vec<String> = match below(5) {
            0 | 1 if number > 0 => {
                let near = &all[below(number)].1;
                near.split_inclusive(". ").map(str::to_string).collect()
            }
            // Too short for most recipes.
            2 => vec![format!("Only w{} w{}. ", below(30), below(2))],
            _ => (0..3 + below(3))
                .map(|_| {
                    let words = (0..12).map(|_| format!("the w{} w{}", below(50), below(3000)));
                    format!("He was {}. ", words.collect::<Vec<_>>().join(" "))
                })
                .collect(),
        };
        // Boilerplate that many have.
        if below(3) == 0 {
            sentences
                .push(format!("All of the rights are reserved by the press number {}. ", below(2)));
        }
        for _ in 0..below(3) {
            let at = below(sentences.len());
            sentences[at] = match below(3) {
                0 => format!("He was the w{} and the w{} of it. ", below(3000), below(3000)),
                _ => sentences[at].replacen(" the ", " a ", 1),
            };
        }
        let id = if below(8) == 0 { below(number + 1) } else { number };
        all.push((format!("https://example.org/{id}"), sentences.concat()));
    }
    all
}

fn decided(dedup: &Dedup, texts: &[Text]) -> Decided {
    let mut session = dedup.session().unwrap();
    let documents = texts.iter().map(|(id, text)| Document { id: id.into(), ..Document::of(text) });
    session.add(documents).unwrap();
    session.finish().unwrap()
}

fn kept(decided: &Decided) -> Vec<bool> {
    (0..decided.documents()).map(|document| decided.keeps(document)).collect()
}

fn signature(recipe: &str, text: &str) -> Option<Signature<'static>> {
    let mut one = Fingerprinter::new(&recipe.parse().unwrap()).unwrap();
    match one.fingerprint(text.as_bytes()).found {
        Found::Signature(signature) => Some(signature.into_owned()),
        Found::TooFew { .. } => None,
    }
}

/// By how much two documents differ, if they agree: value by value; those that agree with nothing
/// by their texts.
fn difference(
    rule: Rule,
    a: &(Option<Signature<'_>>, &str),
    b: &(Option<Signature<'_>>, &str),
) -> Option<u32> {
    let same_text = (a.1 == b.1).then_some(0);
    match (rule, &a.0, &b.0) {
        (Rule::Within { k }, Some(Signature::Bits(a)), Some(Signature::Bits(b))) => {
            let differ =
                (0..a.width().bits()).filter(|bit| a.bit(*bit) != b.bit(*bit)).count() as u32;
            (differ <= k).then_some(differ)
        }
        (Rule::Equal { least, .. }, Some(Signature::Slots(a)), Some(Signature::Slots(b))) => {
            let equal = (0..a.len()).filter(|&slot| a[slot] == b[slot]).count();
            (equal >= least as usize).then_some((a.len() - equal) as u32)
        }
        (rule, Some(Signature::Set(a)), Some(Signature::Set(b))) => {
            let common = a.iter().filter(|value| b.contains(value)).count();
            let all = a.len() + b.len() - common;
            let agrees = match rule {
                Rule::Common { least } => common >= least as usize,
                Rule::Jaccard { threshold } => common as f64 >= threshold * all as f64 - 1e-9,
                _ => false,
            };
            agrees.then_some(100 - (100 * common / all) as u32).or(same_text)
        }
        _ => same_text,
    }
}

/// Checks what is known of a month against all documents that were kept before it.
fn check(recipe: &str, rule: Rule, decided: &Decided, month: &[Text], before: &[&Text]) -> u32 {
    let of = |text: &'_ Text| (signature(recipe, &text.1), text.1.clone());
    let before: Vec<_> = before.iter().map(|text| (of(text), &text.0)).collect();
    let mut known = 0;
    for (number, text) in (0..).zip(month) {
        let own = of(text);
        let own = (own.0, &*own.1);
        let nearest = before.iter().filter_map(|((signature, text), id)| {
            Some((difference(rule, &own, &(signature.clone(), text))?, id.as_str()))
        });
        let nearest = nearest.min();
        let verdict = decided.verdict(number).filter(|verdict| verdict.why == Why::Old);
        let found = verdict.as_ref().map(|verdict| match &verdict.matched {
            Kept::Earlier(id) => (verdict.distance, id.as_str()),
            Kept::Document(_) => panic!("{number}"),
        });
        let is_named = !matches!(rule, Rule::Within { .. });
        match is_named {
            true => assert_eq!(found, nearest, "{recipe} {text:?}"),
            // Of fingerprints that are equally near the least is named.
            false => assert_eq!(found.map(|found| found.0), nearest.map(|near| near.0)),
        }
        known += u32::from(found.is_some());
    }
    known
}

/// Gives the documents in months to the store at a path, and compares that with one run.
fn months(recipe: &str, path: &Path, texts: &[Text]) {
    let dedup = by(recipe);
    let rule = dedup.recipe().rule();
    let whole = kept(&decided(&dedup, texts));
    let mut before: Vec<&Text> = Vec::new();
    let (mut all, mut known) = (Vec::new(), 0);
    for month in texts.chunks(texts.len().div_ceil(MONTHS)) {
        let of_month = decided(&dedup.clone().against(path, true), month);
        known += check(recipe, rule, &of_month, month, &before);
        let kept = kept(&of_month);
        before.extend(month.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(text, _)| text));
        all.extend(kept);
    }
    assert_eq!(all, whole, "{recipe}");
    assert!(known as usize > texts.len() / 10, "{recipe}: {known}");
    // One by one, so that keys are looked up in place of a pass.
    let against = dedup.clone().against(path, false);
    for text in &texts[texts.len() - 3..] {
        let alone = decided(&against, std::slice::from_ref(text));
        assert_eq!(check(recipe, rule, &alone, std::slice::from_ref(text), &before), 1);
    }
}

#[test]
fn months_one_by_one_are_as_one_run_over_all() {
    let directory = tempfile::tempdir().unwrap();
    let texts = texts(240);
    let recipes = [
        "bands-20x6",
        "minhash-128",
        "minhash-128 keep-bits=2",
        "supershingles",
        "spotsigs",
        "sentences",
        "sentences agree=1",
    ];
    std::thread::scope(|scope| {
        for recipe in recipes {
            let (path, texts) = (directory.path().join(recipe), &texts);
            scope.spawn(move || months(recipe, &path, texts));
        }
    });
    // What has no fingerprint is not in a store of fingerprints.
    let signed = |text: &&Text| signature("onebit-256", &text.1).is_some();
    let texts: Vec<Text> = texts.iter().filter(signed).cloned().collect();
    months("onebit-256", &directory.path().join("onebit-256"), &texts);
}
