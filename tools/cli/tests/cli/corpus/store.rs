//! Earlier corpora, as stores.

use super::*;

#[test]
fn what_an_earlier_corpus_holds_does_not_come_again() {
    let scratch = Scratch::new();
    let texts = texts(8, 300, 40);
    for (recipe, k) in [("simhash-64", 3), ("onebit-256", 40)] {
        let (old, new) = texts.split_at(180);
        scratch.write("old.jsonl", jsonl(old));
        scratch.write("new.jsonl", jsonl(new));
        let options =
            format!("--id-column id --recipe {recipe} --against seen-{k} --add --removed jsonl");
        run(&scratch, &format!("old.jsonl {options} -o old-{k}"));
        run(&scratch, &format!("new.jsonl {options} -o new-{k}"));
        let first = kept(&scratch, &format!("old-{k}/documents/old.jsonl"));
        let second = kept(&scratch, &format!("new-{k}/documents/new.jsonl"));

        let signatures = signatures(&fingerprinter(&scratch, recipe), &texts);
        let at = |id: &str| texts.iter().position(|text| text.id == id).unwrap();
        let distance = |one: &str, other: &str| {
            let pair = signatures[at(one)].as_ref().zip(signatures[at(other)].as_ref());
            pair.and_then(|(one, other)| agree(Rule::Within { k }, one, other))
        };
        let rows = removed(&scratch, &format!("new-{k}"));
        let known = rows.iter().filter(|row| row["kept_in"] == "store");
        let mut count = 0;
        for row in known.clone().filter(|row| row["why"] == "near") {
            let (id, kept) = (row["id"].as_str().unwrap(), row["kept"].as_str().unwrap());
            assert!(first.iter().any(|first| first == kept), "{row}");
            assert_eq!(distance(id, kept), row["distance"].as_u64(), "{row}");
            // It is the nearest.
            let nearest = first.iter().filter_map(|first| distance(id, first)).min();
            assert_eq!(nearest, row["distance"].as_u64(), "{row}");
            count += 1;
        }
        assert!(count > 4, "{count}");
        for id in &second {
            assert!(first.iter().all(|first| distance(id, first).is_none()), "{id}");
        }
        // A third run finds all that both have kept.
        run(&scratch, &format!("new.jsonl {options} -o again-{k}"));
        assert_eq!(kept(&scratch, &format!("again-{k}/documents/new.jsonl")), Vec::<String>::new());
        let counts = counts(&scratch, &format!("again-{k}"));
        assert_eq!(counts["kept"].as_u64(), Some(0));
        let ids = scratch.run(&format!("dump seen-{k} --as ids")).succeeds().stdout;
        let stored = ids.lines().flat_map(|line| line.rsplit('\t').next().unwrap().split(','));
        let mut stored: Vec<&str> = stored.collect();
        let mut expected: Vec<&str> = first.iter().chain(&second).map(String::as_str).collect();
        stored.sort_unstable();
        expected.sort_unstable();
        assert_eq!(stored, expected, "{k}");
    }
}

#[test]
fn a_store_whose_creation_was_killed_is_created_again() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", jsonl(&texts(9, 30, 40)));
    std::fs::create_dir(scratch.path("seen")).unwrap();
    scratch.write("seen/segment-0000000000000001-table-000.fpt", "half of it");
    run(&scratch, "in.jsonl --id-column id --recipe simhash-64 --against seen --add -o out");
    scratch.run("verify seen").succeeds();
    assert!(!scratch.dump("seen").is_empty());
}

#[test]
fn stores_that_do_not_fit_are_refused() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", "{\"text\":\"a\",\"id\":\"x\"}\n");
    scratch.pack("old", &[1, 2, 3], "");
    let refused = |line: &str, parts: &[&str]| {
        scratch.run(&format!("corpus dedup in.jsonl {line} --quiet")).fails_naming(parts);
    };
    refused(
        "--recipe simhash-128 --against old -o out",
        &["old: has fingerprints of 64 bits", "128"],
    );
    refused(
        "--recipe bands-20x6 --against old -o out",
        &["old: does not say that it holds keys of documents", "--add"],
    );
    scratch.write("n.jsonl", "{\"text\":\"one two three four five six seven\",\"id\":1}\n");
    run(&scratch, "n.jsonl --id-column id --recipe simhash-64 --against made --add -o made-out");
    refused(
        "--recipe python-simhash --against made -o out",
        &[
            "made: its fingerprints were made by the recipe `text/1 simhash",
            "text/1 python-simhash",
        ],
    );
    // Keys are never taken for fingerprints, nor these for keys.
    refused(
        "--recipe supershingles --against made -o out",
        &["made: its fingerprints were made by", "hold keys of documents by `text/1 supershingles"],
    );
    let keys = "--id-column id --against keys --add --recipe";
    run(&scratch, &format!("n.jsonl {keys} spotsigs -o keys-out"));
    let holds = "keys: it holds keys of documents by the recipe `text/1 spotsigs";
    refused("--recipe simhash-64 --against keys -o out", &[holds]);
    refused("--recipe sentences --against keys -o out", &[holds, "`text/1 longest-sentences"]);
    scratch.run("create bare --recipe bands-20x6 -q").succeeds();
    refused(
        "--recipe bands-20x6 --against bare -o out",
        &["bare: its fingerprints were made by", "it would hold keys"],
    );
    refused("--recipe simhash-64 --against none -o out", &["none"]);
    // What cannot be added is told before anything is read.
    refused(
        "--recipe simhash-64 --against old --add --id-column id -o out",
        &["old: has no ids", "leave --add out"],
    );
    let uuid = "123e4567-e89b-12d3-a456-426614174000";
    scratch.write("uuids.csv", format!("id,fingerprint\n{uuid},00000000000000ff\n"));
    scratch.run("pack uuids.csv -o uuids --id-column id --id-type uuid -q").succeeds();
    refused(
        "--recipe simhash-64 --against uuids --add --id-column id -o out",
        &["uuids: its ids are UUIDs"],
    );
    assert!(!scratch.path("out").exists());
    // Nor is a store made for a command that is refused.
    refused(
        "none.jsonl --recipe simhash-64 --against typo --add --id-column id -o out",
        &["none.jsonl"],
    );
    assert!(!scratch.path("typo").exists());
    scratch.run("create new --recipe simhash-64 -q").succeeds();
    refused(
        "--recipe simhash-64 --against new --add --id-column id -o out",
        &["in.jsonl: line 1, column \"id\": \"x\" is no whole number"],
    );
}

/// The ids of a store, ascending.
fn stored(scratch: &Scratch, store: &str) -> Vec<u64> {
    let ids = scratch.run(&format!("dump {store} --as ids")).succeeds().stdout;
    let ids = ids.lines().flat_map(|line| line.rsplit('\t').next().unwrap().split(','));
    let mut ids: Vec<u64> = ids.map(|id| id.parse().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn what_is_added_is_there_in_the_end_whoever_writes_meanwhile() {
    let scratch = Scratch::new();
    let texts = texts(12, 60, 40);
    scratch.write("in.jsonl", jsonl(&texts));
    scratch.write("one.csv", "id,fingerprint\n1000001,00000000000000ff\n");
    scratch.run("create seen -k 3 --recipe simhash-64").succeeds();
    // It stays in the log.
    scratch.run("insert seen one.csv --id-column id --quiet").succeeds();
    let line = "in.jsonl --id-column id --recipe simhash-64 -k 3 --against seen --add -o out";
    let writer = fpstore::Store::open_writer(scratch.path("seen")).unwrap();
    scratch.run(&format!("corpus dedup {line} --quiet")).fails_naming(&["seen"]);
    // All but that is done. The other one changes the store before it goes.
    writer.insert(0xFF00, 1_000_002).unwrap();
    writer.flush().unwrap();
    writer.close().unwrap();
    run(&scratch, line);
    let mut expected: Vec<u64> = kept(&scratch, "out/documents/in.jsonl")
        .iter()
        .map(|id| id.parse().unwrap())
        .chain([1_000_001, 1_000_002])
        .collect();
    expected.sort_unstable();
    assert_eq!(stored(&scratch, "seen"), expected);
}

#[test]
fn what_was_added_by_a_command_that_was_killed_is_not_added_again() {
    let scratch = Scratch::new();
    let texts = texts(13, 60, 40);
    scratch.write("in.jsonl", jsonl(&texts));
    scratch.write("first.jsonl", "{\"id\":1000001,\"text\":\"a b c d e f g h i j\"}\n");
    let options = "--id-column id --recipe simhash-64 -k 3 --against seen --add";
    run(&scratch, &format!("first.jsonl {options} -o first"));
    let writer = fpstore::Store::open_writer(scratch.path("seen")).unwrap();
    scratch.run(&format!("corpus dedup in.jsonl {options} -o out --quiet")).fails_naming(&["seen"]);
    writer.close().unwrap();
    // The same is added by another command, as if this one had been killed behind its commit.
    run(&scratch, &format!("in.jsonl {options} -o other"));
    let before = scratch.run("stat seen --json").succeeds().stdout;
    run(&scratch, &format!("in.jsonl {options} -o out"));
    assert_eq!(scratch.run("stat seen --json").succeeds().stdout, before);
    assert_eq!(stored(&scratch, "seen").len(), 1 + kept(&scratch, "out/documents/in.jsonl").len());
}
