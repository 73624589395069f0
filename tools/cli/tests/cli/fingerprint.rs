//! `fingerprint`: from documents to fingerprints, in every form.

use serde_json::Value;

use crate::Scratch;

/// Documents as JSON lines: some long, two the same, one too short, one that is not all UTF-8 once
/// it is parsed as plain text.
fn corpus(scratch: &Scratch, documents: usize) {
    let lines: String = (0..documents)
        .map(|number| {
            let words: Vec<String> =
                (0..40).map(|word| format!("w{}", (number / 2 * 7 + word * word) % 997)).collect();
            let text = if number == 5 { "short".to_string() } else { words.join(" ") };
            format!("{{\"url\":\"https://{number}/\",\"text\":{text:?}}}\n")
        })
        .collect();
    scratch.write("pages.jsonl", lines);
}

/// What a command that succeeds says beside its results.
#[track_caller]
fn told(scratch: &Scratch, line: &str) -> String {
    let ran = scratch.run(line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stderr
}

fn lines(scratch: &Scratch, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scratch.path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn documents_get_what_the_library_gives_in_their_order_whatever_the_threads() {
    let scratch = Scratch::new();
    corpus(&scratch, 4000);
    let fingerprint = "fingerprint pages.jsonl --id-column url --recipe simhash-64 -q";
    for threads in [1, 2, 4] {
        scratch.run(&format!("{fingerprint} -o {threads}.jsonl -j {threads}")).succeeds();
    }
    let read = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    assert_eq!(read("1.jsonl"), read("2.jsonl"));
    assert_eq!(read("1.jsonl"), read("4.jsonl"));
    let rows = lines(&scratch, "1.jsonl");
    assert_eq!(rows.len(), 4000);
    let recipe = "simhash-64".parse().unwrap();
    let mut own = fpstore_text::Fingerprinter::new(&recipe).unwrap();
    for (document, row) in lines(&scratch, "pages.jsonl").iter().zip(&rows) {
        assert_eq!(document["url"], row["id"]);
        match own.fingerprint(document["text"].as_str().unwrap().as_bytes()).found {
            fpstore_text::Found::Signature(signature) => {
                let value = signature.values().next().unwrap();
                assert_eq!(row["fingerprint"], format!("{value:016x}"));
            }
            fpstore_text::Found::TooFew { exact } => {
                assert_eq!(row["fingerprint"], Value::Null);
                assert_eq!(row["exact"], format!("{exact:032x}"));
            }
        }
    }
}

#[test]
fn too_few_features_are_counted_and_have_a_class_or_no_row() {
    let scratch = Scratch::new();
    corpus(&scratch, 20);
    let fingerprint = "fingerprint pages.jsonl --id-column url --recipe simhash-64";
    let said = told(&scratch, &format!("{fingerprint} -o null.jsonl"));
    assert!(said.contains("20 documents in 20 rows, 1 with too few features"), "{said}");
    assert_eq!(lines(&scratch, "null.jsonl")[5]["exact"].as_str().unwrap().len(), 32);
    let said = told(&scratch, &format!("{fingerprint} -o skip.jsonl --too-few skip"));
    assert!(said.contains("19 rows, 1 left out"), "{said}");
    told(&scratch, &format!("{fingerprint} -o all.u64"));
    assert_eq!(std::fs::read(scratch.path("all.u64")).unwrap().len(), 19 * 8);
    let summary = scratch.run(&format!("{fingerprint} -o again.jsonl --json -q")).succeeds().stdout;
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!([&summary["documents"], &summary["too_few_features"]], [20, 1]);
}

#[test]
fn documents_without_a_text_are_duplicates_of_nothing() {
    let scratch = Scratch::new();
    let texts = "{\"text\":null}\n{\"text\":\"\"}\n{\"text\":\"few\"}\n{\"text\":\"few\"}\n";
    scratch.write("texts.jsonl", texts);
    let fingerprint = "fingerprint texts.jsonl --recipe simhash-64";
    let said = told(&scratch, &format!("{fingerprint} -o rows.jsonl"));
    let counts = "4 documents in 4 rows, 2 with too few features for one, 2 without a text";
    assert!(said.contains(counts), "{said}");
    let rows = lines(&scratch, "rows.jsonl");
    assert!(rows.iter().all(|row| row["fingerprint"] == Value::Null));
    assert_eq!([&rows[0]["exact"], &rows[1]["exact"]], [&Value::Null; 2]);
    assert!(rows[2]["exact"].is_string() && rows[2]["exact"] == rows[3]["exact"]);
    let said = told(&scratch, &format!("{fingerprint} -o skip.jsonl --too-few skip"));
    assert!(said.contains("4 documents in 0 rows"), "{said}");
}

#[cfg(feature = "parquet")]
#[test]
fn what_is_written_as_parquet_is_packed_with_its_recipe_and_ids_at_every_width() {
    let scratch = Scratch::new();
    corpus(&scratch, 40);
    for (recipe, bits) in [("simhash-64", 64), ("onebit-128", 128), ("onebit-256", 256)] {
        let out = format!("{recipe}.parquet");
        told(
            &scratch,
            &format!("fingerprint pages.jsonl --id-column url --recipe {recipe} -o {out}"),
        );
        told(
            &scratch,
            &format!("fingerprint pages.jsonl --id-column url --recipe {recipe} -o {recipe}.jsonl"),
        );
        let pack = format!("pack {out} -o {recipe} --id-column id --on-error skip");
        told(&scratch, &pack);
        let stat = scratch.run(&format!("stat {recipe} --json")).succeeds().stdout;
        let stat: Value = serde_json::from_str(&stat).unwrap();
        let line = stat["recipe"].as_str().unwrap().to_string();
        assert!(line.contains(&format!(" bits={bits} ")), "{line}");
        // The byte order of bits is the same in both.
        let rows = lines(&scratch, &format!("{recipe}.jsonl"));
        let row = &rows[0];
        let query = format!("query {recipe} {} -k 0", row["fingerprint"].as_str().unwrap());
        let found = scratch.run(&query).succeeds().stdout;
        assert!(found.contains("https://0/"), "{found}");
    }
    told(
        &scratch,
        "fingerprint pages.jsonl --id-column url --recipe onebit-64 -o onebit-64.parquet",
    );
    scratch
        .run("pack simhash-64.parquet onebit-64.parquet -o mixed")
        .fails_naming(&["text/1 simhash bits=64", "text/1 onebit bits=64"]);
}

#[test]
fn methods_of_several_values_have_a_row_for_each() {
    let scratch = Scratch::new();
    corpus(&scratch, 4);
    told(&scratch, "fingerprint pages.jsonl --id-column url --recipe bands-20x6 -o keys.jsonl");
    let rows = lines(&scratch, "keys.jsonl");
    assert_eq!(rows.len(), 80);
    assert!(rows[..20].iter().all(|row| row["id"] == "https://0/"));
}

#[test]
fn a_table_is_made_for_recipes_that_need_one() {
    let scratch = Scratch::new();
    corpus(&scratch, 60);
    let said =
        told(&scratch, "fingerprint pages.jsonl --recipe imatch --make-table words --least 1 -j 2");
    assert!(said.contains("words: table=") && said.contains("of 60 documents"), "{said}");
    told(&scratch, "fingerprint pages.jsonl --recipe imatch --make-table one --least 1 -j 1");
    let read = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    assert_eq!(read("words"), read("one"), "whatever the threads");
    told(&scratch, "fingerprint pages.jsonl --recipe imatch --table words -o keys.jsonl");
    scratch.run("fingerprint pages.jsonl --recipe imatch -o no.jsonl").fails_naming(&["table"]);
    assert!(!scratch.path("no.jsonl").exists());
}

#[test]
fn presets_are_listed_and_wrong_arguments_told() {
    let scratch = Scratch::new();
    corpus(&scratch, 3);
    let list = scratch.run("fingerprint --list").succeeds().stdout;
    assert_eq!(list.lines().count(), fpstore_text::Recipe::presets().len());
    assert!(
        list.lines().any(|line| line.starts_with("onebit-256 ") && line.contains("within 40 bits")),
        "{list}"
    );
    scratch.run("fingerprint pages.jsonl -o out.jsonl").fails_naming(&["--recipe"]);
    scratch
        .run("fingerprint pages.jsonl --recipe simhash-64 -o out")
        .fails_naming(&["out", "--as"]);
    scratch
        .run("fingerprint pages.jsonl --recipe simhash-64 --text-column body -o out.jsonl")
        .fails_naming(&["body"]);
    scratch.write("bad.jsonl", "{\"text\":\"one two three four five six\"}\nnonsense\n");
    scratch
        .run("fingerprint bad.jsonl --recipe simhash-64 -o out.jsonl")
        .fails_naming(&["bad.jsonl", "2"]);
    assert!(!scratch.path("out.jsonl").exists());
    let said =
        told(&scratch, "fingerprint bad.jsonl --recipe simhash-64 -o out.jsonl --on-error skip");
    assert!(said.contains("1 bad record skipped"), "{said}");
}
