//! Recipes of stores and files: kept, shown, and never mixed.

use serde_json::Value;

use crate::{Scratch, raw};

const SIMHASH: &str = "text/1 simhash bits=64 weight=tf ";

fn stat(scratch: &Scratch, store: &str) -> Value {
    let ran = scratch.run(&format!("stat {store} --json")).succeeds();
    serde_json::from_str(&ran.stdout).unwrap()
}

/// What a command that succeeds says beside its results.
#[track_caller]
fn told(scratch: &Scratch, line: &str) -> String {
    let ran = scratch.run(line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stderr
}

fn recipe(scratch: &Scratch, store: &str) -> Option<String> {
    stat(scratch, store)["recipe"].as_str().map(str::to_string)
}

/// `a` and `also` by one recipe, `b` by another, `plain` by nobody knows which.
fn stores() -> Scratch {
    let scratch = Scratch::new();
    scratch.pack("a", &[1, 2, 3], "--recipe simhash-64");
    scratch.pack("also", &[3, 4], "--recipe simhash-64");
    scratch.pack("b", &[1, 9], "--recipe x/1");
    scratch.pack("plain", &[1, 7], "");
    scratch
}

#[test]
fn a_recipe_is_kept_by_all_that_makes_stores_of_stores() {
    let scratch = stores();
    let line = recipe(&scratch, "a").unwrap();
    assert!(line.starts_with(SIMHASH), "{line}");
    let told = scratch.run("stat a").succeeds().stdout;
    assert!(told.contains(&format!("\nrecipe: {line}\n")), "{told}");
    assert_eq!(recipe(&scratch, "plain"), None);
    scratch.run("pack a also -o both -q").succeeds();
    scratch.write("more", raw(&[5]));
    scratch.run("pack more --append a --format u64le -q").succeeds();
    scratch.run("merge a --full -q").succeeds();
    scratch.run("backup a copy").succeeds();
    scratch.run("repair a saved").succeeds();
    scratch.run("create living --recipe simhash-64 -q --id-type none").succeeds();
    scratch.run("insert living more --format u64le --recipe simhash-64 -q").succeeds();
    scratch.run("flush living").succeeds();
    for store in ["a", "also", "both", "copy", "saved", "living"] {
        assert_eq!(recipe(&scratch, store).as_deref(), Some(line.as_str()), "{store}");
    }
    scratch
        .run("pack more -o other --format u64le --recipe simhsh-64")
        .fails_naming(&["simhsh-64", "pdq/1"]);
}

#[test]
fn two_recipes_are_refused_with_both_lines_and_nothing_changes() {
    let scratch = stores();
    let both = ["`x/1`", SIMHASH];
    scratch.run("pack a b -o mixed").fails_naming(&both);
    scratch.run("pack a b -o mixed --dry-run").fails_naming(&both);
    scratch.run("pack b --append a").fails_naming(&both);
    scratch.run("pack b -o mixed --recipe simhash-64").fails_naming(&both);
    scratch.run("join a b").fails_naming(&both);
    scratch.write("more", raw(&[5]));
    scratch.run("insert a more --format u64le --recipe x/1").fails_naming(&both);
    assert!(!scratch.path("mixed").exists());
    assert_eq!(scratch.dump("a"), [1, 2, 3]);
}

#[test]
fn that_a_recipe_is_not_known_is_said_where_another_is() {
    let scratch = stores();
    for line in ["pack plain a -o mixed --force", "pack plain --append a", "join a plain"] {
        let told = told(&scratch, line);
        let notes: Vec<_> = told.lines().filter(|line| line.contains("by which recipe")).collect();
        assert_eq!(notes.len(), 1, "{line}: {told}");
        assert!(notes[0].starts_with("fpstore: plain: ") && notes[0].contains(SIMHASH), "{told}");
        assert!(notes[0].contains("those of a: "), "{told}");
    }
    // What is said of it with the option is no question.
    let told = told(&scratch, "pack plain also -o said --recipe simhash-64");
    assert!(!told.contains("by which recipe"), "{told}");
    assert_eq!(recipe(&scratch, "said"), recipe(&scratch, "also"));
    scratch.run("pack plain -o quiet -q").succeeds();
}

#[cfg(feature = "parquet")]
#[test]
fn files_of_parquet_carry_the_recipe_and_are_held_to_it() {
    let scratch = stores();
    let both = ["`x/1`", SIMHASH];
    for line in [
        "dump a --as parquet -o dump",
        "query a 0x1 --as parquet -o query",
        "join a --as parquet -o pairs",
        "dedup a --as parquet -o dedup",
        "join b -k 64 --as parquet -o pairs-b",
    ] {
        told(&scratch, line);
    }
    told(&scratch, "merge-pairs pairs -o merged");
    let has_recipe = |name: &str| {
        let bytes = std::fs::read(scratch.path(name)).unwrap();
        bytes.windows(SIMHASH.len()).any(|window| window == SIMHASH.as_bytes())
    };
    for name in ["dump", "query", "pairs", "dedup", "merged"] {
        assert!(has_recipe(name), "{name}");
    }
    scratch.run("pack dump -o again -q").succeeds();
    assert_eq!(recipe(&scratch, "again"), recipe(&scratch, "a"));
    scratch.run("pack dump b -o mixed").fails_naming(&both);
    scratch.run("pack dump --append b").fails_naming(&both);
    scratch.run("insert b dump").fails_naming(&both);
    scratch.run("delete b --from dump").fails_naming(&both);
    scratch.run("query b --from dump").fails_naming(&both);
    scratch.run("query a --from dump").succeeds();
    scratch.run("merge-pairs pairs pairs-b -o mixed").fails_naming(&both);
    scratch.run("dedup b --pairs pairs").fails_naming(&both);
    assert_eq!(scratch.dump("b"), [1, 9]);
}

#[test]
fn a_recipe_tells_the_bits_of_a_store_and_others_are_refused() {
    let scratch = Scratch::new();
    scratch.run("create wide --recipe simhash-256 -q --id-type none").succeeds();
    assert_eq!(stat(&scratch, "wide")["bits"], 256);
    // Of a line of one's own nobody knows them.
    scratch.run("create own --recipe pdq/1 --bits 256 -q").succeeds();
    assert_eq!(stat(&scratch, "own")["bits"], 256);
    let refused = ["`text/1 simhash bits=256", "256 bits", "these have 64"];
    scratch.run("create narrow --recipe simhash-256 --bits 64").fails_naming(&refused);
    assert!(!scratch.path("narrow").exists());
    scratch.write("raw", raw(&[1, 2]));
    scratch.run("pack raw -o narrow --format u64le --recipe simhash-256").fails_naming(&refused);
    scratch.run("create narrow -q --id-type none").succeeds();
    scratch.run("insert narrow raw --format u64le --recipe simhash-256").fails_naming(&refused);
}

#[test]
fn a_segment_that_is_appended_has_no_distance_of_its_own() {
    let scratch = stores();
    scratch.write("more", raw(&[5]));
    let refused = ["-k <K>", "--append <STORE>"];
    scratch.run("pack more --append a --format u64le -k 9").fails_naming(&refused);
    scratch.run("pack more --append a --format u64le -q").succeeds();
}

/// Two texts at a Jaccard similarity of 0.91 are near by the recipe that their fingerprints say, in
/// stores that say it as well, and in those that say nothing.
#[cfg(feature = "parquet")]
#[test]
fn a_recipe_that_is_known_gives_its_distance_to_packs_stores_and_insertions() {
    let scratch = Scratch::new();
    let words: Vec<String> = (0..200u64).map(|at| format!("w{}", at * at * 31 % 9973)).collect();
    let text = |changed: &[usize]| {
        let word = |(at, word): (usize, &String)| match changed.contains(&at) {
            true => "other".to_string(),
            false => word.clone(),
        };
        words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    };
    let line = |id: u32, text: String| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    scratch.write("in.jsonl", line(1, text(&[])) + &line(2, text(&[50, 100, 150])));
    let made = "fingerprint in.jsonl --id-column id --recipe onebit-256 -o in.parquet -q";
    scratch.run(made).succeeds();
    scratch.run("create said --recipe onebit-256 --id-type text -q").succeeds();
    scratch.run("create silent --bits 256 --id-type text -q").succeeds();
    for (store, k) in [("said", 40), ("silent", 40)] {
        let line = format!("insert {store} in.parquet --id-column id --unless-near");
        let ran = scratch.run(&line).ends_with_code(0);
        assert!(ran.stderr.contains(&format!("1 inserted, 1 near one within {k}")), "{ran:?}");
    }
    scratch.run("pack in.parquet -o packed --id-column id -q").succeeds();
    scratch.run("pack in.parquet -o given --id-column id -k 7 -q").succeeds();
    for (store, k) in [("said", "40"), ("packed", "40"), ("given", "7"), ("silent", "3")] {
        let stat = scratch.run(&format!("stat {store} --json")).succeeds().stdout;
        assert!(stat.contains(&format!("\"radius\":{k},")), "{store}: {stat}");
    }
}
