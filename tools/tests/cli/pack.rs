//! `pack`: the summary, the options, and what it refuses to replace.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::oracle::{Random, bound_bits, fingerprints, sorted};
use crate::{Scratch, assert_is_near, hex, raw};

fn json(scratch: &Scratch, line: &str) -> Value {
    let ran = scratch.run(line).succeeds();
    assert_eq!(ran.stdout.matches('\n').count(), 1, "one object on one line: {ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_summary_tells_counts_bytes_and_bits_against_the_bound() {
    let scratch = Scratch::new();
    let mut set = fingerprints(1, 5000);
    set.push(set[0]);
    scratch.write("in", raw(&set));
    let ran = scratch.run("pack in -o store --design halves").succeeds();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let distinct = sorted(&set).len();
    assert_eq!(lines[0], format!("store: 5001 fingerprints read, {distinct} distinct"));
    let bytes: u64 = scratch.listing("store").iter().map(|(_, bytes)| bytes).sum();
    let second = format!(
        "2 tables, {bytes} bytes, {:.2} bytes per fingerprint, ",
        bytes as f64 / distinct as f64
    );
    assert!(lines[1].starts_with(&second), "{} is not {second}", lines[1]);
    assert!(lines[1].ends_with(" seconds"), "{}", lines[1]);
    for (number, line) in lines[2..].iter().enumerate() {
        assert!(line.starts_with(&format!("table {number}: ")), "{line}");
        assert!(line.contains(" bits per fingerprint ("), "{line}");
        let bound = format!(" with the router), bound {:.2}, ", bound_bits(distinct as u64));
        assert!(line.contains(&bound) && line.ends_with('%'), "{line} has no {bound}");
    }
    assert_eq!(lines.len(), 4);
}

#[test]
fn the_json_summary_is_one_object_that_agrees_with_the_files() {
    let scratch = Scratch::new();
    let set = fingerprints(2, 4000);
    scratch.write("in", raw(&set));
    let summary = json(&scratch, "pack in -o store --json --design thirds --block-bytes 1024 -k 2");
    let bytes: u64 = scratch.listing("store").iter().map(|(_, bytes)| bytes).sum();
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
    scratch.write("raw", raw(&[7, 1]));
    let ran = scratch.run_with("pack hex dec - raw -o store --json", b"0x9 0x5").succeeds();
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(summary["read"], 8);
    assert_eq!(summary["distinct"], 6);
    assert_eq!(scratch.dump("store"), [1, 5, 7, 9, 255, u64::MAX]);
}

#[test]
fn an_empty_input_is_an_empty_store() {
    let scratch = Scratch::new();
    scratch.write("in", "");
    assert_eq!(json(&scratch, "pack in -o store --json")["distinct"], 0);
    assert_eq!(scratch.run("dump store").succeeds().stdout, "");
    assert_eq!(scratch.run("query store 0x0 -k 64").ends_with_code(1).stdout, "");
    scratch.run("verify store").succeeds();
    let stat = json(&scratch, "stat store --json");
    assert_eq!(stat["fingerprints"], 0);
    assert_eq!(stat["bytes_per_fingerprint"], 0.0);
    assert!(scratch.run("stat store").succeeds().stdout.contains("table 0: empty"));
    assert!(scratch.run("pack in -o store --force").succeeds().stdout.contains("table 0: empty"));
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
    scratch
        .run("pack in -o auto --design auto --block-bytes auto --codec auto --low-bits auto")
        .succeeds();
    let plan = fpstore::Planner::new(set.len() as u64).sample(&set).best().unwrap().unwrap();
    let (design, block_bytes) = (plan.design.to_string(), plan.block_bytes);
    scratch
        .run(&format!("pack in -o given --design {design} --block-bytes {block_bytes}"))
        .succeeds();
    assert_same_files(&scratch, "auto", "given");
    let stat = json(&scratch, "stat auto --json");
    assert_eq!(stat["segments"][0]["design"], *design);
    assert_eq!(stat["segments"][0]["tables"][0]["block_bytes"], block_bytes);
}

#[test]
fn block_bytes_codec_and_low_bits_are_those_of_the_tables() {
    let scratch = Scratch::new();
    let set = fingerprints(6, 2000);
    scratch.write("in", raw(&set));
    for (block_bytes, codec, low_bits) in [(256, "xor", 0), (4096, "gap", 8), (65536, "gap", 32)] {
        let line = format!(
            "pack in -o store --force --quiet --block-bytes {block_bytes} --codec {codec} \
             --low-bits {low_bits}"
        );
        scratch.run(&line).succeeds();
        let stat = json(&scratch, "stat store --json");
        for table in stat["segments"][0]["tables"].as_array().unwrap() {
            assert_eq!(table["block_bytes"], block_bytes);
            assert_eq!(table["codec"], codec);
            assert_eq!(table["low_bits"], low_bits);
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
        ("--low-bits 7", "7"),
        ("--design none-such", "none-such"),
        ("--design 32,33", "32,33"),
        ("--design 0,64", "0,64"),
        ("--codec zip", "zip"),
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
    scratch.write("in", raw(&set));
    scratch.run("pack in -o one --threads 1").succeeds();
    scratch.run("pack in -o two --threads 2").succeeds();
    Random(8).shuffle(&mut set);
    set.extend_from_within(..100);
    scratch.write("shuffled", hex(&set));
    scratch.run("pack shuffled -o three").succeeds();
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
    scratch.run("pack in -o store --force --design halves").succeeds();
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
    scratch.run("pack in -o store --force --design halves").succeeds();
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
    scratch.run("pack in -o store").succeeds();
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
    scratch.write("in", raw(&fingerprints(10, 50_000)));
    let ran = scratch.run("pack in -o store");
    assert_eq!(ran.stderr, "");
    ran.ends_with_code(0);
}

#[test]
fn on_a_terminal_a_progress_bar_is_drawn_unless_quiet() {
    let scratch = Scratch::new();
    scratch.write("in", raw(&fingerprints(11, 50_000)));
    let tool = env!("CARGO_BIN_EXE_fpstore");
    for (quiet, drawn) in [("", true), ("--quiet", false)] {
        // `script` gives the command a terminal and prints what is drawn on it.
        let line = format!("{tool} pack in -o store --force --json {quiet}");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(scratch.path(""));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let screen = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{screen}");
        assert!(screen.contains("{\"store\":\"store\",\"read\":50000,"), "{screen}");
        assert_eq!(screen.contains("read   ["), drawn, "{screen}");
    }
}
