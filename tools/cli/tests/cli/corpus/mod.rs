//! `corpus dedup`: what is kept and removed, against plain definitions over all pairs.

mod again;
mod clusters;
mod files;
mod kills;
mod shown;
mod store;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use fpstore_text::{Fingerprinter, Found, Rule, Signature, Table};
use serde_json::{Value, json};

use crate::Scratch;
use crate::oracle::Random;

/// A document of a test.
#[derive(Clone, Debug)]
struct Text {
    id: String,
    text: String,
    rank: i64,
}

/// Documents of which a third are near, or equal to, one before them.
fn texts(seed: u64, count: usize, words: usize) -> Vec<Text> {
    let mut random = Random(seed);
    let mut all: Vec<Text> = Vec::new();
    for number in 0..count {
        let word = |random: &mut Random| format!("w{}", random.below(5000));
        let mut own: Vec<String> = match random.below(3) {
            0 if number > 0 => {
                let near = &all[random.below(number as u64) as usize].text;
                near.split(' ').map(str::to_string).collect()
            }
            _ => (0..words).map(|_| word(&mut random)).collect(),
        };
        for _ in 0..random.below(4) {
            let at = random.below(own.len() as u64) as usize;
            own[at] = word(&mut random);
        }
        own.truncate(own.len() - random.below(3) as usize);
        let id = format!("{}", (number * 7919) % 100_003);
        all.push(Text { id, text: own.join(" "), rank: random.below(50) as i64 });
    }
    all
}

fn jsonl(texts: &[Text]) -> String {
    let line =
        |text: &Text| format!("{}\n", json!({"id": text.id, "text": text.text, "rank": text.rank}));
    texts.iter().map(line).collect()
}

/// Runs a command, whose summary is not looked at.
#[track_caller]
fn run(scratch: &Scratch, line: &str) {
    scratch.run(&format!("corpus dedup {line} --quiet")).succeeds();
}

/// The ids of the documents that are kept in a file of JSON lines.
fn kept(scratch: &Scratch, file: &str) -> Vec<String> {
    let text = fs::read_to_string(scratch.path(file)).unwrap();
    let id = |line: &str| -> String {
        serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_string()
    };
    text.lines().map(id).collect()
}

/// The rows of a table of removed documents.
fn removed(scratch: &Scratch, directory: &str) -> Vec<Value> {
    let text = fs::read_to_string(scratch.path(directory).join("removed.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn counts(scratch: &Scratch, directory: &str) -> Value {
    let text = fs::read_to_string(scratch.path(directory).join("report.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["counts"].clone()
}

/// All files below a directory, by name.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

/// A fingerprinter for a recipe; with the file `table` where it needs a table.
fn fingerprinter(scratch: &Scratch, recipe: &str) -> Fingerprinter {
    if !recipe.starts_with("imatch") {
        return Fingerprinter::new(&recipe.parse().unwrap()).unwrap();
    }
    let table = Table::from_bytes(&fs::read(scratch.path("table")).unwrap()).unwrap();
    let recipe = format!("{recipe} table={}", table.id()).parse().unwrap();
    Fingerprinter::with_table(&recipe, Arc::new(table)).unwrap()
}

/// The signature of each text, if it has one.
fn signatures(fingerprinter: &Fingerprinter, texts: &[Text]) -> Vec<Option<Signature<'static>>> {
    let mut fingerprinter = fingerprinter.clone();
    let mut signature = |text: &Text| match fingerprinter.fingerprint(text.text.as_bytes()).found {
        Found::Signature(signature) => Some(signature.into_owned()),
        Found::TooFew { .. } => None,
    };
    texts.iter().map(&mut signature).collect()
}

/// Whether two signatures agree, bit by bit and value by value, and by how much they differ.
fn agree(rule: Rule, a: &Signature<'_>, b: &Signature<'_>) -> Option<u64> {
    match (rule, a, b) {
        (Rule::Within { k }, Signature::Bits(a), Signature::Bits(b)) => {
            let bits = a.width().bits();
            let differ = (0..bits).filter(|&bit| a.bit(bit) != b.bit(bit)).count() as u64;
            (differ <= k.into()).then_some(differ)
        }
        (Rule::Equal { least, of }, Signature::Slots(a), Signature::Slots(b)) => {
            let equal = (0..of as usize).filter(|&slot| a[slot] == b[slot]).count() as u64;
            (equal >= least.into()).then_some(u64::from(of) - equal)
        }
        (rule, Signature::Set(a), Signature::Set(b)) => {
            let common = a.iter().filter(|value| b.contains(value)).count() as u64;
            let all = (a.len() + b.len()) as u64 - common;
            let agrees = match rule {
                Rule::Common { least } => common >= least.into(),
                Rule::Jaccard { threshold } => common as f64 >= threshold * all as f64 - 1e-9,
                _ => false,
            };
            agrees.then(|| 100 - 100 * common / all.max(1))
        }
        _ => None,
    }
}

/// By the definition: for each document the one that is kept instead, itself included. Documents
/// come in this order, the best first.
fn by_definition(
    shape: &str,
    fingerprinter: &Fingerprinter,
    rule: Rule,
    texts: &[Text],
    order: &[usize],
) -> Vec<usize> {
    let signatures = signatures(fingerprinter, texts);
    let near = |a: usize, b: usize| match (&signatures[a], &signatures[b]) {
        (Some(one), Some(other)) => agree(rule, one, other).is_some(),
        _ => false,
    };
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    let mut exact = Vec::new();
    for &document in order {
        // The text stands for all that are equal. (These have no blanks or letters that recipes
        // change.)
        let same = |other: &&usize| texts[**other].text == texts[document].text;
        if let Some(&first) = clusters.iter().flatten().find(same) {
            exact.push((document, first));
            continue;
        }
        let fits = |cluster: &Vec<usize>| match shape {
            "star" => near(cluster[0], document),
            "complete" => cluster.iter().all(|&member| near(member, document)),
            _ => cluster.iter().any(|&member| near(member, document)),
        };
        let fitting = clusters.iter().filter(|cluster| fits(cluster)).count();
        let takes = if shape == "components" { fitting } else { fitting.min(1) };
        let mut joined = Vec::new();
        for _ in 0..takes {
            let at = clusters.iter().position(fits).unwrap();
            joined.push((at, clusters.remove(at)));
        }
        let at = joined.first().map_or(clusters.len(), |(at, _)| *at);
        let mut joined: Vec<usize> = joined.into_iter().flat_map(|(_, cluster)| cluster).collect();
        joined.push(document);
        clusters.insert(at, joined);
    }
    let mut instead = vec![0; texts.len()];
    let place = |document: &usize| order.iter().position(|other| other == document);
    for cluster in clusters {
        let first = *cluster.iter().min_by_key(|document| place(document)).unwrap();
        cluster.iter().for_each(|&document| instead[document] = first);
    }
    if shape == "star" {
        // Of those that are kept before, the nearest, of several the first.
        let kept: Vec<usize> = order.iter().copied().filter(|&at| instead[at] == at).collect();
        let twins: Vec<usize> = exact.iter().map(|(document, _)| *document).collect();
        for &document in order.iter().filter(|at| !kept.contains(at) && !twins.contains(at)) {
            let distance = |other: &usize| {
                let pair = signatures[document].as_ref().zip(signatures[*other].as_ref());
                pair.and_then(|(one, other)| agree(rule, one, other))
            };
            let before = kept.iter().filter(|other| place(other) < place(&document));
            let near = before.filter(|other| distance(other).is_some());
            instead[document] = *near.min_by_key(|other| distance(other)).unwrap();
        }
    }
    for (document, first) in exact {
        instead[document] = instead[first];
    }
    instead
}
