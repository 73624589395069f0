//! Precision and recall of each preset over the texts of a file: `cargo run --release -p
//! fpstore-text --example evaluate FILE [PRESET...]`.
//!
//! FILE has a text per line, as JSON with a member `text` or plain. The true similarity is that of
//! the sets of word 3-grams. Pairs with a Jaccard similarity of 0.8 and more should be found;
//! `under 0.5` is the part that is found of those from 0.2 to 0.5.

use std::sync::Arc;

use fpstore_text::evaluate::{Curve, labelled};
use fpstore_text::{Fingerprinter, Recipe, Rule, TableBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: evaluate FILE [PRESET...]")?;
    let wanted: Vec<String> = arguments.collect();
    let texts: Vec<String> = std::fs::read_to_string(path)?.lines().map(text).collect();
    let mut truth = Fingerprinter::new(&"simhash-64".parse()?)?;
    let set = labelled(&texts, 1, &mut truth);
    println!("{} texts, {} pairs", set.texts.len(), set.pairs.len());
    println!(
        "{:30}{:>6}{:>9}{:>11}{:>8}{:>12}{:>16}{:>14}",
        "preset", "k", "recall", "precision", "f1", "under 0.5", "k of best f1", "f1 of that"
    );

    let mut builder = TableBuilder::new(&"simhash-64 n=1".parse()?)?;
    texts.iter().for_each(|text| builder.add(text.as_bytes()));
    let table = Arc::new(builder.finish(1));
    for (preset, line) in Recipe::presets() {
        if !wanted.is_empty() && !wanted.iter().any(|one| one == preset) {
            continue;
        }
        let recipe: Recipe = line.replace("table=?", &format!("table={}", table.id())).parse()?;
        let mut fingerprinter = match recipe.table() {
            Some(_) => Fingerprinter::with_table(&recipe, table.clone())?,
            None => Fingerprinter::new(&recipe)?,
        };
        let k = match recipe.rule() {
            Rule::Within { k } => k,
            Rule::Equal { least, of } => of - least,
            Rule::Jaccard { threshold } => (100.0 - 100.0 * threshold).round() as u32,
            _ => 50,
        };
        let curve = Curve::of(&set, &mut fingerprinter);
        let score = curve.score(k, 16);
        let best = (0..=curve.greatest())
            .map(|k| (k, curve.score(k, 16).f1()))
            .fold((0, 0.0), |best, one| if one.1 > best.1 { one } else { best });
        let (all, found) = (4..10)
            .map(|bin| curve.bin(bin, k))
            .fold((0, 0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
        println!(
            "{preset:30}{k:6}{:9.4}{:11.4}{:8.4}{:11.3}%{:16}{:14.4}",
            score.recall(),
            score.precision(),
            score.f1(),
            100.0 * found as f64 / all as f64,
            best.0,
            best.1
        );
    }
    Ok(())
}

fn text(line: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
    value
        .and_then(|value| value["text"].as_str().map(str::to_owned))
        .unwrap_or_else(|| line.to_owned())
}
