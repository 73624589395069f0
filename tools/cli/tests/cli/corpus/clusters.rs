//! Clusters of all methods and shapes, and what is kept of them.

use std::collections::BTreeMap;

use fpstore_text::Rule;

use super::*;

/// Checks a run against the definition; gives the table.
fn check(
    scratch: &Scratch,
    texts: &[Text],
    recipe: &str,
    k: Option<u32>,
    shape: &str,
    keep: &str,
    order: &[usize],
) -> Vec<Value> {
    let name = format!("out-{}", scratch.listing("").len());
    let distance = k.map_or(String::new(), |k| format!("-k {k}"));
    let fingerprinter = fingerprinter(scratch, recipe);
    let table = if recipe.starts_with("imatch") { "--table table" } else { "" };
    let mut command = scratch.command(&format!(
        "corpus dedup in.jsonl --id-column id {distance} {table} -o {name} --clusters {shape} --keep {keep} --removed jsonl --quiet"
    ));
    let output = command.args(["--recipe", recipe]).output().unwrap();
    crate::Ran::new(recipe, output).succeeds();
    let rule = k.map_or(fingerprinter.recipe().rule(), |k| Rule::Within { k });
    let instead = by_definition(shape, &fingerprinter, rule, texts, order);
    let expected: Vec<&String> =
        (0..texts.len()).filter(|&at| instead[at] == at).map(|at| &texts[at].id).collect();
    let what = format!("{recipe} {shape} {keep}");
    assert_eq!(
        kept(scratch, &format!("{name}/documents/in.jsonl")).iter().collect::<Vec<_>>(),
        expected,
        "{what}"
    );

    let signatures = signatures(&fingerprinter, texts);
    let by_id: BTreeMap<&str, usize> = texts.iter().map(|text| text.id.as_str()).zip(0..).collect();
    let rows = removed(scratch, &name);
    assert_eq!(rows.len() + expected.len(), texts.len(), "{what}");
    for row in &rows {
        let at = |column: &str| by_id[row[column].as_str().unwrap()];
        let (id, matched) = (at("id"), at("matched"));
        assert_eq!(at("kept"), instead[id], "{what} {row}");
        if row["why"] == "exact" {
            assert_eq!(texts[id].text, texts[matched].text, "{what} {row}");
            assert!(shape == "components" || row["matched"] == row["kept"], "{what} {row}");
            continue;
        }
        let pair = signatures[id].as_ref().zip(signatures[matched].as_ref());
        let difference = pair.and_then(|(one, other)| agree(rule, one, other));
        assert_eq!(row["distance"].as_u64(), difference, "{what} {row}");
        // Each document that is removed is near the one that is kept.
        assert!(shape == "components" || row["matched"] == row["kept"], "{what} {row}");
    }
    rows
}

fn as_they_come(count: usize) -> Vec<usize> {
    (0..count).collect()
}

#[test]
fn what_is_removed_is_near_what_is_kept_by_every_method() {
    let scratch = Scratch::new();
    let mut texts = texts(1, 240, 60);
    // The same words in another order: for some recipes the same fingerprint, of another text.
    for at in 0..20 {
        let words: Vec<&str> = texts[at].text.rsplit(' ').collect();
        let text = words.join(" ");
        texts.push(Text { id: format!("turned-{at}"), text, rank: 0 });
    }
    // Spots need an antecedent, and the longest sentences some sentences.
    for text in &mut texts {
        let words: Vec<&str> = text.text.split(' ').collect();
        let sentences: Vec<String> =
            words.chunks(6).map(|words| format!("the {}", words.join(" the "))).collect();
        text.text = sentences.join("! ");
    }
    scratch.write("in.jsonl", jsonl(&texts));
    let line = "fingerprint in.jsonl --make-table table --least 1 --quiet --recipe";
    let made = scratch.command(line).arg("imatch n=1").output().unwrap();
    crate::Ran::new(line, made).succeeds();
    let mut without = Vec::new();
    for (recipe, k) in [
        ("simhash-64 n=1", Some(9)),
        ("simhash-128", Some(20)),
        ("onebit-256", None),
        ("projection-64 weight=tf", Some(8)),
        ("python-simhash", Some(5)),
        ("minhash-128", None),
        ("minhash-128 keep-bits=4", None),
        ("bands-20x6", None),
        ("supershingles", None),
        ("spotsigs", None),
        ("longest-sentences", None),
        ("exact", None),
        ("imatch n=1 low=1 high=16384", None),
    ] {
        let rows = check(&scratch, &texts, recipe, k, "star", "first", &as_they_come(texts.len()));
        if rows.iter().filter(|row| row["why"] == "near").count() < 10 {
            without.push(recipe);
        }
    }
    assert_eq!(without, ["exact"]);
}

#[test]
fn clusters_have_the_shape_that_is_asked_for() {
    let scratch = Scratch::new();
    let texts = texts(2, 300, 40);
    scratch.write("in.jsonl", jsonl(&texts));
    let mut removed = Vec::new();
    for shape in ["star", "complete", "components"] {
        let rows = check(
            &scratch,
            &texts,
            "simhash-64 n=1",
            Some(14),
            shape,
            "first",
            &as_they_come(texts.len()),
        );
        removed.push(rows.len());
    }
    // Chains remove more than stars.
    assert!(removed[2] > removed[0], "{removed:?}");
}

/// There are more pairs than are kept of a join.
#[test]
fn documents_that_are_all_near_each_other_become_what_the_definitions_say() {
    let scratch = Scratch::new();
    let mut random = Random(6);
    let base: Vec<String> = (0..80).map(|word| format!("w{word}")).collect();
    let text = |number: usize| {
        let mut words = base.clone();
        for _ in 0..1 + number % 3 {
            words[random.below(80) as usize] = format!("v{}", random.below(5000));
        }
        Text { id: number.to_string(), text: words.join(" "), rank: 0 }
    };
    let texts: Vec<Text> = (0..250).map(text).collect();
    scratch.write("in.jsonl", jsonl(&texts));
    for shape in ["star", "complete", "components"] {
        let order = as_they_come(texts.len());
        let rows = check(&scratch, &texts, "simhash-64 n=1", Some(24), shape, "first", &order);
        // All pairs but a few.
        assert!(rows.len() > 230, "{shape} {}", rows.len());
    }
}

#[test]
fn what_is_kept_is_the_best() {
    let scratch = Scratch::new();
    let texts = texts(3, 200, 30);
    scratch.write("in.jsonl", jsonl(&texts));
    let by = |key: &dyn Fn(&Text) -> i64| {
        let mut order = as_they_come(texts.len());
        order.sort_by_key(|&at| key(&texts[at]));
        order
    };
    let id = |text: &Text| text.id.parse().unwrap();
    for (keep, order) in [
        ("longest", by(&|text| -(text.text.len() as i64))),
        ("smallest-id", by(&id)),
        ("max:rank", by(&|text| -text.rank)),
        ("priority:rank", by(&|text| text.rank)),
        (
            "priority:rank=7,3",
            by(&|text| [7, 3].iter().position(|&rank| rank == text.rank).map_or(9, |at| at as i64)),
        ),
    ] {
        for shape in ["star", "components"] {
            check(&scratch, &texts, "simhash-64 n=1", Some(10), shape, keep, &order);
        }
    }
    // As many are near as the table of all pairs says, among those that stand for their text.
    let signatures = signatures(&fingerprinter(&scratch, "simhash-64 n=1"), &texts);
    let first = |at: usize| texts.iter().position(|text| text.text == texts[at].text) == Some(at);
    let degree = |at: usize| {
        let near = (0..texts.len()).filter(|&other| {
            let pair = signatures[at].as_ref().zip(signatures[other].as_ref());
            other != at
                && first(other)
                && pair.is_some_and(|(a, b)| agree(Rule::Within { k: 10 }, a, b).is_some())
        });
        near.count()
    };
    let mut order = as_they_come(texts.len());
    order.sort_by_key(|&at| (!first(at), std::cmp::Reverse(degree(at))));
    check(&scratch, &texts, "simhash-64 n=1", Some(10), "star", "central", &order);
}

#[test]
fn pairs_are_checked_on_the_texts() {
    let scratch = Scratch::new();
    let texts = texts(4, 200, 30);
    scratch.write("in.jsonl", jsonl(&texts));
    let line = "corpus dedup in.jsonl --id-column id -k 20 -o out --removed jsonl --verify jaccard:0.8 --quiet --recipe";
    let output = scratch.command(line).arg("simhash-64 n=1").output().unwrap();
    crate::Ran::new(line, output).succeeds();
    let words = |id: &str| -> std::collections::BTreeSet<String> {
        let text = &texts.iter().find(|text| text.id == id).unwrap().text;
        text.split(' ').map(str::to_string).collect()
    };
    let rows = removed(&scratch, "out");
    let mut near = 0;
    for row in rows.iter().filter(|row| row["why"] == "near") {
        let (one, other) =
            (words(row["id"].as_str().unwrap()), words(row["kept"].as_str().unwrap()));
        let share = one.intersection(&other).count() as f64 / one.union(&other).count() as f64;
        assert!((row["jaccard"].as_f64().unwrap() - share).abs() < 1e-6, "{row} {share}");
        assert!(share >= 0.8, "{row}");
        near += 1;
    }
    assert!(near > 10, "{near}");
    // And nothing that is kept is near and similar to what is kept before it.
    let kept = kept(&scratch, "out/documents/in.jsonl");
    let signatures = signatures(&fingerprinter(&scratch, "simhash-64 n=1"), &texts);
    let at = |id: &String| texts.iter().position(|text| text.id == *id).unwrap();
    for (number, one) in kept.iter().enumerate() {
        for other in &kept[..number] {
            let pair = signatures[at(one)].as_ref().zip(signatures[at(other)].as_ref());
            let (a, b) = (words(one), words(other));
            let share = a.intersection(&b).count() as f64 / a.union(&b).count() as f64;
            let is_near = pair.is_some_and(|(a, b)| agree(Rule::Within { k: 20 }, a, b).is_some());
            assert!(!(is_near && share >= 0.8), "{one} {other}");
        }
    }
}
