//! `pack`: the summary, the options, and what it refuses to replace.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::oracle::{Random, bound_bits, fingerprints, sorted};
use crate::{Scratch, assert_is_near, hex, raw};

fn json(scratch: &Scratch, line: &str) -> Value {
    // What the inputs of a pack were taken for is of no interest here.
    let is_loud = line.starts_with("pack ") && !line.contains("--quiet");
    let quiet = if is_loud { " -q" } else { "" };
    let ran = scratch.run(&format!("{line}{quiet}")).succeeds();
    assert_eq!(ran.stdout.matches('\n').count(), 1, "one object on one line: {ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The rows of a summary, by name.
fn rows(text: &str) -> BTreeMap<&str, &str> {
    let rows = text.lines().skip(1).map(|line| line.trim_start());
    rows.map(|row| row.split_once(' ').map(|(name, value)| (name, value.trim())).unwrap()).collect()
}

#[test]
fn the_summary_tells_size_design_and_what_else_there_would_be() {
    let scratch = Scratch::new();
    let mut set = fingerprints(1, 20_000);
    set.push(set[0]);
    scratch.write("in", hex(&set));
    let ran = scratch.run("pack in -o store --design halves --block-bytes 512").packs_telling();
    let distinct = sorted(&set).len() as u64;
    let first = ran.stdout.lines().next().unwrap();
    assert!(first.starts_with("store: ") && first.ends_with(" seconds"), "{first}");
    assert!(first.contains(&format!(" {},{:03} ", distinct / 1000, distinct % 1000)), "{first}");
    let rows = rows(&ran.stdout);
    assert_eq!(
        rows.keys().collect::<Vec<_>>(),
        [&"design", &"queries", &"read", &"size", &"smaller"]
    );
    assert_eq!(rows["design"], "halves (2 tables), blocks of 512 bytes; as given");
    let bytes: u64 = scratch.store_files("store").iter().map(|(_, bytes)| bytes).sum();
    let share = format!(", {:.0}% of the ", 100.0 * bytes as f64 / (8 * distinct) as f64);
    assert!(rows["size"].contains(&share) && rows["size"].contains(" KiB"), "{}", rows["size"]);
    assert!(rows["queries"].contains("predicted at distance 3, "), "{}", rows["queries"]);
    assert!(
        rows["queries"].ends_with(" once searches have built a hot index"),
        "{}",
        rows["queries"]
    );
    assert!(rows["smaller"].starts_with("--prefer size: single, about "), "{}", rows["smaller"]);
}

#[test]
fn a_set_as_small_as_a_header_has_no_figures_that_mean_nothing() {
    let scratch = Scratch::new();
    for set in [&[][..], &[7], &[1, 2, 3]] {
        scratch.write("in", raw(set));
        let _ = std::fs::remove_dir_all(scratch.path("store"));
        let line = "pack in -o store --format u64le --design halves";
        let text = scratch.run(line).ends_with_code(0).stdout;
        let stat = scratch.run("stat store").succeeds().stdout;
        for text in [&text, &stat] {
            for word in ["%", "NaN", "inf", "-0.0", "predicted", "1 tables", "1 blocks"] {
                assert!(!text.contains(word), "{word} in {text}");
            }
        }
        assert_eq!(rows(&text).keys().collect::<Vec<_>>(), [&"design", &"size"], "{text}");
        let json = json(&scratch, "stat store --json");
        let table = &json["segments"][0]["tables"][0];
        for figure in [&json["bytes_per_fingerprint"], &table["bound_bits"]] {
            assert_eq!(figure.is_null(), set.is_empty(), "{json}");
        }
    }
}

#[test]
fn a_store_takes_half_more_than_the_fingerprints_at_most_unless_speed_is_preferred() {
    let scratch = Scratch::new();
    // So many that no usual machine has the memory for their hot index.
    scratch.write("in.u64", raw(&fingerprints(12, 2_400_000)));
    let pack = |prefer: &str| {
        let line = format!("pack in.u64 -o store --force --json {prefer}");
        json(&scratch, &line)
    };
    let bytes = |summary: &Value| summary["bytes"].as_u64().unwrap();
    let balanced = pack("");
    let raw_bytes = 8 * balanced["distinct"].as_u64().unwrap();
    assert_eq!(
        (balanced["design"].as_str(), &balanced["raw_bytes"]),
        (Some("32,24"), &raw_bytes.into())
    );
    assert!(2 * bytes(&balanced) <= 3 * raw_bytes, "{balanced}");
    let (size, speed) = (pack("--prefer size"), pack("--prefer speed"));
    // Of the tables alone: a manifest holds what was said of the layout.
    let of_tables = |summary: &Value| -> u64 {
        let tables = summary["tables"].as_array().unwrap();
        tables.iter().map(|table| table["file_bytes"].as_u64().unwrap()).sum()
    };
    let [size_bytes, balanced_bytes, speed_bytes] = [&size, &balanced, &speed].map(of_tables);
    assert!(size_bytes < balanced_bytes && balanced_bytes < speed_bytes);
    assert!(speed["tables"].as_array().unwrap().len() > 1);
    // What is told of a preference is what it gives.
    let told = |summary: &Value, prefer: &str| {
        let others = summary["alternatives"].as_array().unwrap();
        others.iter().find(|other| other["prefer"] == prefer).cloned().unwrap()
    };
    for (other, done) in [(told(&balanced, "speed"), &speed), (told(&speed, "size"), &size)] {
        assert_eq!(
            (&other["design"], &other["block_bytes"]),
            (&done["design"], &done["block_bytes"])
        );
        let error = other["bytes"].as_f64().unwrap() / bytes(done) as f64 - 1.0;
        assert!(error.abs() < 0.02, "{other} {done}");
        let (told, own) = (other["query_ns"].as_f64().unwrap(), done["query_ns"].as_f64().unwrap());
        assert!((told / own - 1.0).abs() < 1e-6, "{told} {own}");
    }
    assert!(speed["query_ns"].as_f64() < balanced["query_ns"].as_f64());
    let text = scratch.run("pack in.u64 -o store --force").ends_with_code(0).stdout;
    assert!(text.contains("fast for its size") && !text.contains("the smallest"), "{text}");
}

#[test]
fn a_small_store_has_one_table_whatever_is_preferred() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&fingerprints(13, 20_000)));
    for prefer in ["", "--prefer size", "--prefer speed"] {
        let summary = json(&scratch, &format!("pack in -o store --force --json {prefer}"));
        assert_eq!(summary["design"], "single", "{prefer}");
        // Searches go by the hot index, and more tables would make none of them faster.
        assert!(summary["hot_query_ns"].as_f64() < summary["query_ns"].as_f64(), "{prefer}");
        let others = summary["alternatives"].as_array().unwrap();
        assert!(others.iter().all(|other| other["prefer"] != "speed"), "{summary}");
    }
}

#[test]
fn inputs_of_nothing_never_replace_a_store_that_holds_some() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    let before = scratch.listing("store");
    scratch.write("none", "");
    scratch.write("bad", "fingerprint\nxyz\n");
    for input in ["none", "bad --on-error skip --format csv --quiet"] {
        let ran = scratch.run(&format!("pack {input} -o store --force"));
        let refused = "fpstore: store: holds 2 fingerprints, and the inputs hold no fingerprint; check \
                       what wrote them, or remove the store\n";
        assert!(ran.stderr.ends_with(refused), "{ran:?}");
        assert_eq!(ran.ends_with_code(2).stdout, "");
        assert_eq!(scratch.listing("store"), before);
        assert_eq!(scratch.dump("store"), [1, 2]);
    }
    let warning = |name: &str| {
        format!(
            "fpstore: warning: {name}: the inputs hold no fingerprint, and the store is empty\n"
        )
    };
    // Where nothing is lost a warning does.
    let ran = scratch.run("pack none -o fresh --quiet").ends_with_code(0);
    assert_eq!(ran.stderr, warning("fresh"));
    let ran = scratch.run("pack none -o fresh --force --quiet").ends_with_code(0);
    assert_eq!(ran.stderr, warning("fresh"));
}

#[test]
fn an_output_that_is_an_input_is_told_as_such() {
    let scratch = Scratch::new();
    scratch.write("q.txt", hex(&[3]));
    for line in
        ["pack q.txt -o q.txt", "pack q.txt -o ./q.txt --force", "pack q.txt -o q.txt --dry-run"]
    {
        scratch.run(line).fails_with("q.txt: is an input; give -o a new directory for the store");
    }
    assert_eq!(fs::read_to_string(scratch.path("q.txt")).unwrap(), hex(&[3]));
}

#[test]
fn the_json_summary_is_one_object_that_agrees_with_the_files() {
    let scratch = Scratch::new();
    let set = fingerprints(2, 4000);
    scratch.write("in", hex(&set));
    let summary = json(&scratch, "pack in -o store --json --design thirds --block-bytes 1024 -k 2");
    let bytes: u64 = scratch.store_files("store").iter().map(|(_, bytes)| bytes).sum();
    let distinct = sorted(&set).len();
    assert_eq!(summary["store"], "store");
    assert_eq!(summary["read"], 4000);
    assert_eq!(summary["distinct"], distinct);
    assert_eq!(summary["bytes"], bytes);
    assert_is_near(&summary["bytes_per_fingerprint"], bytes as f64 / distinct as f64);
    assert!(summary["seconds"].as_f64().unwrap() > 0.0);
    let tables = summary["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 3);
    for (number, table) in tables.iter().enumerate() {
        assert_eq!(table["table"], number);
        assert_eq!(table["fingerprints"], distinct);
        let blocks = table["blocks"].as_u64().unwrap();
        let bits = |block_bytes: u64| (blocks * block_bytes * 8) as f64 / distinct as f64;
        assert_is_near(&table["bits_per_fingerprint"], bits(1024));
        assert_is_near(&table["bits_with_router"], bits(1032));
        assert_is_near(&table["bound_bits"], bound_bits(distinct as u64));
    }
}

#[test]
fn quiet_prints_nothing_but_the_json_that_is_asked_for() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&fingerprints(3, 10)));
    assert_eq!(scratch.run("pack in -o a --quiet").succeeds().stdout, "");
    assert_eq!(json(&scratch, "pack in -o b --quiet --json")["read"], 10);
}

#[test]
fn inputs_of_several_formats_and_standard_input_become_one_set() {
    let scratch = Scratch::new();
    scratch.write("hex", "00000000000000ff\n0000000000000001\n");
    scratch.write("dec", "5\n-1\n");
    scratch.write("raw.u64", raw(&[7, 1]));
    let ran =
        scratch.run_with("pack hex dec - raw.u64 -o store --json", b"0x9 0x5").packs_telling();
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(summary["read"], 8);
    assert_eq!(summary["distinct"], 6);
    assert_eq!(scratch.dump("store"), [1, 5, 7, 9, 255, u64::MAX]);
}

#[test]
fn an_empty_input_is_an_empty_store() {
    let scratch = Scratch::new();
    scratch.write("in", "");
    let ran = scratch.run("pack in -o store --json").ends_with_code(0);
    assert!(ran.stdout.contains("\"distinct\":0,"), "{ran:?}");
    assert_eq!(scratch.run("dump store").succeeds().stdout, "");
    assert_eq!(scratch.run("query store 0x0 -k 64").ends_with_code(1).stdout, "");
    scratch.run("verify store").succeeds();
    let stat = json(&scratch, "stat store --json");
    assert_eq!(stat["fingerprints"], 0);
    assert!(scratch.run("stat store").succeeds().stdout.contains("table 0: empty"));
}

#[test]
fn every_named_design_and_widths_give_their_tables() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&fingerprints(4, 200)));
    let names = fpstore::Design::NAMES
        .iter()
        .map(|name| (name.to_string(), name.parse::<fpstore::Design>().unwrap().table_count()));
    let widths = [("22,21,21".to_string(), 3), ("16,16,16,16".to_string(), 4)];
    for (design, tables) in names.chain(widths) {
        let line = format!("pack in -o store --force --json --design {design}");
        assert_eq!(json(&scratch, &line)["tables"].as_array().unwrap().len(), tables, "{design}");
        scratch.run("verify store").succeeds();
        let stat = json(&scratch, "stat store --json");
        assert_eq!(stat["segments"][0]["tables"].as_array().unwrap().len(), tables, "{design}");
    }
}

#[test]
fn the_help_names_every_design() {
    let help = Scratch::new().run("pack --help").succeeds().stdout;
    for name in fpstore::Design::NAMES {
        assert!(help.split_whitespace().any(|word| word == *name), "{name}");
    }
}

#[test]
fn auto_is_what_the_planner_recommends_for_the_set() {
    let scratch = Scratch::new();
    let set = sorted(&fingerprints(5, 3000));
    scratch.write("in", hex(&set));
    scratch.run("pack in -o auto -q").succeeds();
    let plan = fpstore::plan::Planner::new(set.len() as u64).sample(&set).best().unwrap().unwrap();
    let (design, block_bytes) = (plan.design.to_string(), plan.block_bytes);
    scratch
        .run(&format!("pack in -o given --design {design} --block-bytes {block_bytes} -q"))
        .succeeds();
    // The manifest alone tells that something was said.
    for store in ["auto", "given"] {
        fs::remove_file(scratch.path(store).join("manifest.fps")).unwrap();
    }
    assert_same_files(&scratch, "auto", "given");
    scratch.run("pack in -o again -q").succeeds();
    let stat = json(&scratch, "stat again --json");
    assert_eq!(stat["segments"][0]["design"], *design);
    assert_eq!(stat["segments"][0]["tables"][0]["block_bytes"], block_bytes);
    let planned = scratch.run("plan --sample in").succeeds().stdout;
    assert_eq!(planned.lines().last(), Some("fpstore pack in -o STORE -k 3"));
}

#[test]
fn block_bytes_are_those_of_the_tables() {
    let scratch = Scratch::new();
    let set = fingerprints(6, 2000);
    scratch.write("in", hex(&set));
    for block_bytes in [256, 4096, 8192] {
        let line = format!("pack in -o store --force --quiet --block-bytes {block_bytes}");
        scratch.run(&line).succeeds();
        let stat = json(&scratch, "stat store --json");
        for table in stat["segments"][0]["tables"].as_array().unwrap() {
            assert_eq!(table["block_bytes"], block_bytes);
            assert_eq!(table["codec"], "gap");
        }
        scratch.run("verify store").succeeds();
        assert_eq!(scratch.dump("store"), sorted(&set));
    }
}

#[test]
fn impossible_options_exit_with_2_before_any_input_is_read() {
    let scratch = Scratch::new();
    for (option, word) in [
        ("--block-bytes 1000", "1000"),
        ("--block-bytes 12x", "12x"),
        ("--design none-such", "none-such"),
        ("--design 32,33", "32,33"),
        ("--design 0,64", "0,64"),
        ("--format xlsx", "xlsx"),
        ("--on-error ignore", "ignore"),
        ("-k 65", "65"),
        ("--threads 1025", "1025"),
        ("--threads -1", "-1"),
    ] {
        let ran =
            scratch.run_without_reading(&format!("pack - -o store {option}")).ends_with_code(2);
        assert!(ran.stderr.contains(word), "{ran:?}");
        assert!(!scratch.path("store").exists(), "{ran:?}");
    }
}

#[test]
fn the_files_depend_on_the_set_alone() {
    let scratch = Scratch::new();
    let mut set = fingerprints(7, 20_000);
    scratch.write("in", hex(&set));
    scratch.run("pack in -o one --threads 1 -q").succeeds();
    scratch.run("pack in -o two --threads 2 -q").succeeds();
    Random(8).shuffle(&mut set);
    set.extend_from_within(..100);
    scratch.write("shuffled", hex(&set));
    scratch.run("pack shuffled -o three -q").succeeds();
    assert_same_files(&scratch, "one", "two");
    assert_same_files(&scratch, "one", "three");
}

fn assert_same_files(scratch: &Scratch, a: &str, b: &str) {
    assert_eq!(scratch.listing(a), scratch.listing(b));
    for (name, _) in scratch.listing(a) {
        let read = |store| fs::read(scratch.path(store).join(&name)).unwrap();
        assert!(read(a) == read(b), "{name} of {a} and {b} differ");
    }
}

#[test]
fn a_store_is_replaced_only_by_force() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    scratch.write("in", hex(&[3]));
    scratch.run("pack in -o store").fails_with(
        "store: a store exists here already; choose another output, or replace it (--force)",
    );
    assert_eq!(scratch.dump("store"), [1, 2]);
    scratch.run("pack in -o store --force --design halves -q").succeeds();
    assert_eq!(scratch.dump("store"), [3]);
    assert_eq!(
        scratch.listing("store").iter().filter(|(name, _)| name.ends_with("fpt")).count(),
        2
    );
}

#[test]
fn force_packs_into_a_fresh_place_too() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&[3]));
    scratch.run("pack in -o store --force --design halves -q").succeeds();
    assert_eq!(scratch.dump("store"), [3]);
}

#[test]
fn an_existing_output_is_refused_before_any_input_is_read() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    scratch.run_without_reading("pack - -o store").fails_naming(&["store: ", "--force"]);
}

#[test]
fn a_directory_or_file_that_is_no_store_is_never_replaced() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&[3]));
    fs::create_dir(scratch.path("photos")).unwrap();
    scratch.write("photos/me.jpg", "dear");
    scratch.write("file", "dear");
    for force in ["", "--force"] {
        scratch.run(&format!("pack in -o photos {force}")).fails_with(
            "photos: not a store, and not empty (it holds \"me.jpg\"); choose a new or empty directory",
        );
        scratch.run(&format!("pack in -o file {force}")).fails_naming(&["file: ", "; choose"]);
    }
    assert_eq!(scratch.listing("photos"), [("me.jpg".to_string(), 4)]);
    assert_eq!(fs::read(scratch.path("file")).unwrap(), b"dear");
}

#[test]
fn an_empty_directory_becomes_a_store() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&[3]));
    fs::create_dir(scratch.path("store")).unwrap();
    scratch.run("pack in -o store -q").succeeds();
    assert_eq!(scratch.dump("store"), [3]);
}

#[test]
fn a_pack_that_fails_on_its_input_changes_nothing() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    let before = scratch.listing("store");
    scratch.write("good", hex(&fingerprints(9, 100)));
    scratch.write("bad", "0000000000000001\nxyz\n");
    scratch.run("pack good bad -o store --force --format hex").fails_naming(&["bad: line 2"]);
    assert_eq!(scratch.listing("store"), before);
    assert_eq!(scratch.dump("store"), [1, 2]);
    scratch.run("pack good bad -o fresh --format hex").fails_naming(&["bad: line 2"]);
    assert!(!scratch.path("fresh").exists());
}

#[test]
fn without_a_terminal_no_progress_bar_is_drawn() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&fingerprints(10, 50_000)));
    scratch.run("pack in -o store").packs_telling();
}
