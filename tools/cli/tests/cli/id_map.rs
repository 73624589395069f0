//! Id maps: strings come back, a wrong map is told, and none is lost whenever a pack ends.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Scratch;
use crate::oracle::Random;

/// Strings that need care in some format.
const STRINGS: [&str; 10] =
    ["", "a", "a", "a\tb", "x,y", "\"q\"", "back\\slash", "line\nend\r", "日本", "😀 é"];

fn jsonl(strings: &[&str]) -> String {
    let line = |(fp, string): (usize, &&str)| {
        let object = json!({ "key": string, "fingerprint": format!("0x{:x}", 1u64 << (6 * fp)) });
        format!("{object}\n")
    };
    strings.iter().enumerate().map(line).collect()
}

fn pack(scratch: &Scratch, name: &str, strings: &[&str]) {
    scratch.write("in.jsonl", jsonl(strings));
    let line = format!("pack in.jsonl -o {name} --id-column key --id-map {name}.ids --quiet");
    scratch.run(&line).succeeds();
}

#[test]
fn strings_come_back_in_every_shape() {
    let scratch = Scratch::new();
    pack(&scratch, "store", &STRINGS);
    let dump = scratch.run("dump store --id-map store.ids --output json").succeeds().stdout;
    let strings: Vec<String> = dump
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["ids"][0].as_str().unwrap().into())
        .collect();
    assert_eq!(strings, STRINGS);
    let escaped =
        ["", "a", "a", "a\\tb", "x\\,y", "\"q\"", "back\\\\slash", "line\\nend\\r", "日本", "😀 é"];
    let rows = |columns: fn(u64) -> String| -> String {
        let rows = escaped.iter().enumerate();
        rows.map(|(fp, text)| format!("{}\t{text}\n", columns(1 << (6 * fp)))).collect()
    };
    let dump = scratch.run("dump store --id-map store.ids").succeeds().stdout;
    assert_eq!(dump, rows(|fp| format!("{fp:016x}")));
    let queries: String =
        (0..STRINGS.len()).map(|fp| format!(" 0x{:x}", 1u64 << (6 * fp))).collect();
    let found = scratch.run(&format!("query store -k 0 --id-map store.ids{queries}")).succeeds();
    assert_eq!(found.stdout, rows(|fp| format!("{fp:016x}\t{fp:016x}\t0")));
    // Without the map they are numbers.
    let numbers = scratch.run(&format!("query store -k 0{queries}")).succeeds().stdout;
    for (number, row) in numbers.lines().enumerate() {
        assert!(row.ends_with(&format!("\t0\t{number}")), "{row}");
    }
    let stat = scratch.run("stat store").succeeds().stdout;
    assert!(stat.ends_with("ids are the numbers of 10 strings in an id map\n"), "{stat}");
    let verified = scratch.run("verify store --id-map store.ids").succeeds().stdout;
    assert!(verified.contains("checked 10 strings of the id map"), "{verified}");
}

#[test]
fn a_skipped_record_leaves_an_empty_string() {
    let scratch = Scratch::new();
    scratch.write("in.csv", "fingerprint,id\n0x1,a\nzz,b\n0x1,c\n");
    let line =
        "pack in.csv -o store --ids column --id-map map --on-error skip --digits hex --quiet";
    scratch.run(line).ends_with_code(0);
    assert_eq!(scratch.run("dump store --ids").succeeds().stdout, "0000000000000001\t0,2\n");
    let dump = scratch.run("dump store --id-map map").succeeds().stdout;
    assert_eq!(dump, "0000000000000001\ta,c\n");
}

#[test]
fn the_map_of_another_store_is_told_even_where_fingerprints_and_numbers_are_the_same() {
    let scratch = Scratch::new();
    pack(&scratch, "one", &["a", "b"]);
    pack(&scratch, "two", &["a", "c"]);
    for line in ["query one 0x1", "dump one", "verify one"] {
        scratch.run(&format!("{line} --id-map two.ids")).fails_naming(&[
            "two.ids: [IDM-3] is the id map of another store: 2 strings in 78 bytes with CRC ",
            "give the map that was packed with it",
        ]);
    }
    scratch
        .run("query one 0x1 --id-map nothing")
        .fails_naming(&["nothing: cannot open the id map"]);
    scratch.run("query one 0x1 --id-map one").fails_naming(&["one: is a directory; give"]);
    scratch
        .run("query one 0x1 --id-map in.jsonl")
        .fails_naming(&["in.jsonl: corrupt at byte 0: [PRE-2]"]);
}

#[test]
fn damage_is_told_with_its_place() {
    let scratch = Scratch::new();
    pack(&scratch, "store", &["first", "second"]);
    let mut bytes = fs::read(scratch.path("store.ids")).unwrap();
    bytes[28] ^= 1;
    scratch.write("store.ids", &bytes);
    scratch.run("query store 0x1 --id-map store.ids").ends_with_code(2);
    scratch.run("verify store --id-map store.ids").fails_naming(&[
        "store.ids: corrupt at byte 24: [IDM-8] CRC",
        "restore the id map from a copy or pack it again",
    ]);
    scratch.write("store.ids", &bytes[..30]);
    scratch.run("dump store --id-map store.ids").fails_naming(&["[IDM-1] the id map has 30 bytes"]);
}

#[test]
fn nothing_but_a_map_is_replaced_and_that_only_by_force() {
    let scratch = Scratch::new();
    pack(&scratch, "store", &["a"]);
    let line = "pack in.jsonl -o other --id-column key --id-map";
    scratch.run(&format!("{line} store.ids")).fails_with(
        "store.ids: is an id map, and not that of other; another store may need it: give another \
             FILE, or move it away",
    );
    scratch.write("notes", "mine");
    let foreign = "notes: is no id map, and is not replaced; give another FILE to --id-map";
    scratch.run(&format!("{line} notes --force")).fails_with(foreign);
    scratch.run(&format!("{line} in.jsonl --force")).fails_naming(&["in.jsonl: is an input"]);
    scratch.run(&format!("{line} nowhere/map")).fails_naming(&["nowhere/map", "cannot create"]);
    let inside = "pack in.jsonl -o store --force --id-column key --id-map store/map";
    scratch.run(inside).fails_naming(&["store/map: lies in the directory of the store"]);
    // A pack that fails leaves both as they were.
    let before = fs::read(scratch.path("store.ids")).unwrap();
    scratch.write("bad.jsonl", "{\"key\":\"new\",\"fingerprint\":1}\n{\"key\":\"new\"}\n");
    let line = "pack bad.jsonl -o store --force --id-column key --id-map store.ids";
    scratch.run(line).ends_with_code(2);
    assert!(fs::read(scratch.path("store.ids")).unwrap() == before);
    let names: Vec<_> = scratch.listing("").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["bad.jsonl", "in.jsonl", "notes", "store", "store.ids"]);
    assert_eq!(
        scratch.run("dump store --id-map store.ids").succeeds().stdout,
        "0000000000000001\ta\n"
    );
}

#[test]
fn a_map_that_was_not_renamed_is_found_and_brought_into_place() {
    let scratch = Scratch::new();
    pack(&scratch, "store", &["old"]);
    let old = fs::read(scratch.path("store.ids")).unwrap();
    scratch.write("in.jsonl", jsonl(&["new"]));
    let again = "pack in.jsonl -o store --force --id-column key --id-map store.ids --quiet";
    scratch.run(again).succeeds();
    let new = fs::read(scratch.path("store.ids")).unwrap();
    // What a kill between the two renames leaves.
    scratch.write("store.ids.new", &new);
    scratch.write("store.ids", &old);
    let read = || scratch.run("dump store --id-map store.ids").succeeds().stdout;
    assert_eq!(read(), "0000000000000001\tnew\n");
    scratch.write("in.jsonl", "no JSON");
    scratch.run(&format!("{again} --format jsonl")).ends_with_code(2);
    assert_eq!(read(), "0000000000000001\tnew\n");
    assert!(fs::read(scratch.path("store.ids")).unwrap() == new);
    assert!(!scratch.path("store.ids.new").exists());
    // What a kill just before the store is there leaves.
    scratch.write("in.jsonl", jsonl(&["newer"]));
    let elsewhere = "pack in.jsonl -o elsewhere --id-column key --id-map elsewhere.ids --quiet";
    scratch.run(elsewhere).succeeds();
    fs::rename(scratch.path("elsewhere.ids"), scratch.path("store.ids.new")).unwrap();
    let unfinished = scratch.path("store/.tmp-fpstore-manifest");
    fs::copy(scratch.path("elsewhere/manifest.fps"), &unfinished).unwrap();
    assert_eq!(read(), "0000000000000001\tnew\n");
    let lock = fs::File::options().write(true).open(scratch.path("store/lock")).unwrap();
    lock.lock().unwrap();
    scratch.run(again).fails_naming(&["store.ids.new: stands in the way", "wait for its end"]);
    // Not by dropping it: a process that another test starts may have it for a moment.
    lock.unlock().unwrap();
    scratch.run(again).succeeds();
    assert_eq!(read(), "0000000000000001\tnewer\n");
    assert!(!scratch.path("store.ids.new").exists() && !unfinished.exists());
    // What nobody knows of stays.
    for left in [&new[..0], &new[..20], &old[..]] {
        scratch.write("store.ids.new", left);
        scratch.run(again).fails_naming(&["store.ids.new: stands in the way"]);
        assert!(fs::read(scratch.path("store.ids.new")).unwrap() == left);
        fs::remove_file(scratch.path("store.ids.new")).unwrap();
    }
    assert_eq!(read(), "0000000000000001\tnewer\n");
}

#[cfg(unix)]
#[test]
fn a_pack_that_is_stopped_at_any_moment_leaves_store_and_map_together() {
    let scratch = Scratch::new();
    let mut random = Random(31);
    let lines = |word: &str, count: usize| -> String {
        let line = |n| format!("{{\"key\":\"{word} {n}\",\"fingerprint\":{}}}\n", n * 77);
        (0..count).map(line).collect()
    };
    scratch.write("old.jsonl", lines("old", 1000));
    scratch.write("new.jsonl", lines("new", 15_000));
    let command = |set: &str| {
        format!(
            "pack {set}.jsonl -o store --force --id-column key --id-map map --quiet --threads 1"
        )
    };
    scratch.run(&command("old")).succeeds();
    let start = std::time::Instant::now();
    scratch.run(&command("new")).succeeds();
    let usual = start.elapsed() * 5 / 4;
    let mut found = [0, 0];
    for round in 0..24 {
        scratch.run(&command("old")).succeeds();
        let mut child = scratch.command(&command("new")).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_nanos(random.below(usual.as_nanos() as u64)));
        let is_polite = round % 2 == 0;
        let signal = if is_polite { "-TERM" } else { "-KILL" };
        let id = child.id().to_string();
        Command::new("kill").args([signal, &id]).stderr(Stdio::null()).status().unwrap();
        let status = child.wait().unwrap();
        let dump = scratch.run("dump store --id-map map").succeeds().stdout;
        let (is_new, count) = (dump.contains("\tnew 0\n"), dump.lines().count());
        assert_eq!(count, if is_new { 15_000 } else { 1000 }, "round {round}");
        let word = if is_new { "new" } else { "old" };
        assert!(dump.lines().all(|row| row.contains(word)), "round {round}");
        found[usize::from(is_new)] += 1;
        if is_polite && status.code().is_some() {
            assert!(!scratch.path("map.new").exists(), "round {round}");
        }
    }
    println!("{found:?}");
    assert!(found[0] > 0, "no signal came before the end of a pack");
    scratch.run(&command("old")).succeeds();
    assert!(!scratch.path("map.new").exists());
}
