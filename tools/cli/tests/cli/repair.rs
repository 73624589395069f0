//! `repair`: what is saved of damaged stores, and what is told of the rest.

use std::fs;

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Scratch, hex};

/// Changes a byte of a file.
fn damage(scratch: &Scratch, name: &str, at: usize) {
    let mut bytes = fs::read(scratch.path(name)).unwrap();
    bytes[at] ^= 1;
    fs::write(scratch.path(name), bytes).unwrap();
}

fn table(number: u32) -> String {
    format!("store/segment-0000000000000001-table-{number:03}.fpt")
}

/// Repairs `store` into `saved`.
fn repair(scratch: &Scratch, code: i32) -> Value {
    let ran = scratch.run("repair store saved --json").ends_with_code(code);
    scratch.run("verify saved -q").succeeds();
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn what_another_table_still_holds_is_saved() {
    let scratch = Scratch::new();
    let set = fingerprints(100, 3000);
    scratch.pack("store", &set, "--design halves --block-bytes 1024 -k 5");
    damage(&scratch, &table(0), 4096 + 2 * 1024 + 100);
    damage(&scratch, &table(1), 4096 + 5 * 1024 + 100);
    let before = scratch.listing("store");
    let ran = scratch.run("repair store other");
    let lost = sorted(&set).len() - scratch.dump("other").len();
    assert!(ran.stdout.contains(" 0 tables unreadable, 2 blocks damaged; lost: "), "{ran:?}");
    let told = repair(&scratch, i32::from(lost > 0));
    assert_eq!(told["segments"][0]["damaged_blocks"], 2);
    assert_eq!(told["segments"][0]["lost_fingerprints"], lost);
    assert!(lost < 20, "{lost} are in both blocks");
    assert_eq!(scratch.listing("store"), before, "a damaged store is only read");
    let stat = scratch.run("stat saved --json").succeeds().stdout;
    assert_eq!(serde_json::from_str::<Value>(&stat).unwrap()["radius"], 5);
    scratch.run("repair store saved").fails_naming(&["saved: a store exists"]);
}

#[test]
fn routers_and_whole_tables_are_not_needed() {
    let scratch = Scratch::new();
    let set = fingerprints(101, 3000);
    scratch.pack("store", &set, "--design halves --block-bytes 1024");
    damage(&scratch, &table(1), 20);
    let stat: Value =
        serde_json::from_str(&scratch.run("stat store --json").stdout).unwrap_or_default();
    assert_eq!(stat, Value::Null, "it cannot be opened");
    // The router stands behind the blocks.
    let blocks = (fs::metadata(scratch.path(&table(0))).unwrap().len() as usize - 4096) / 1032;
    damage(&scratch, &table(0), 4096 + (blocks - 1) * 1024 + 100);
    let told = repair(&scratch, 1);
    assert_eq!(told["segments"][0]["damaged_tables"], 1);
    let saved = scratch.dump("saved");
    let all = sorted(&set);
    let lost = told["segments"][0]["lost_fingerprints"].as_u64().unwrap() as usize;
    assert!(saved.len() + lost == all.len() && lost < 300, "{lost}");
    assert!(saved.iter().all(|fingerprint| all.binary_search(fingerprint).is_ok()));
}

#[test]
fn ids_are_saved_where_it_is_known_whose_they_are() {
    let scratch = Scratch::new();
    let set = sorted(&fingerprints(102, 3000));
    scratch.write("in", hex(&set));
    let pack = "pack in -o store --ids line -q --format hex --design halves --block-bytes 1024";
    scratch.run(pack).succeeds();
    let expected = scratch.run("dump store --as ids").succeeds().stdout;
    damage(&scratch, &table(0), 4096 + 2 * 1024 + 100);
    let told = repair(&scratch, 0);
    assert_eq!(told["whole"], true);
    assert_eq!(scratch.run("dump saved --as ids").succeeds().stdout, expected);
    // A block in which something is lost does not tell any more whose its ids are.
    fs::remove_dir_all(scratch.path("saved")).unwrap();
    fs::remove_file(scratch.path(&table(1))).unwrap();
    let told = repair(&scratch, 1);
    let lost = told["segments"][0]["lost_fingerprints"].as_u64().unwrap() as usize;
    let saved = scratch.run("dump saved --as ids").succeeds().stdout;
    assert!(lost > 50 && saved.lines().count() + lost == set.len(), "{told}");
    assert!(saved.lines().all(|line| expected.contains(line)));
    // Of ids in a damaged part nobody knows.
    fs::remove_dir_all(scratch.path("saved")).unwrap();
    damage(&scratch, "store/segment-0000000000000001-ids.fpi", 3000);
    let told = repair(&scratch, 1);
    assert!(told["segments"][0]["fingerprints_without_ids"].as_u64().unwrap() > 0, "{told}");
    let saved = scratch.run("dump saved --as ids").succeeds().stdout;
    assert!(saved.lines().all(|line| expected.contains(line)));
}

#[test]
fn deletions_logs_and_windows_count_as_far_as_they_are_sound() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none --window 1d -q").succeeds();
    let insert = |day: &str, set: &str| {
        let line = format!("insert store - -q --time {day}");
        scratch.run_with(&line, set.as_bytes()).succeeds();
    };
    insert("2026-01-01", "0x1 0x2 0x3");
    scratch.run("flush store -q").succeeds();
    scratch.run("delete store 0x1 -q").succeeds();
    insert("2026-01-02", "0x4");
    scratch.run("flush store -q").succeeds();
    scratch.run("delete store 0x2 -q").succeeds();
    insert("2026-01-03", "0x5");
    let told = repair(&scratch, 0);
    assert_eq!(told["fingerprints"], 3);
    assert_eq!(scratch.dump("saved"), [3, 4, 5]);
    let of_day = scratch.run("dump saved --since 2026-01-03 --until 2026-01-04").succeeds();
    assert_eq!(of_day.stdout, "0000000000000005\n");
    // Without its deletions what they hid is back, and that is told.
    fs::remove_dir_all(scratch.path("saved")).unwrap();
    let deletions = scratch.listing("store").into_iter().find(|(name, _)| name.contains("del"));
    fs::remove_file(scratch.path("store").join(deletions.unwrap().0)).unwrap();
    let told = repair(&scratch, 1);
    assert_eq!(told["problems"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(scratch.dump("saved"), [1, 3, 4, 5]);
}

#[test]
fn without_a_manifest_all_segments_are_taken() {
    let scratch = Scratch::new();
    let set = fingerprints(103, 2000);
    scratch.pack("store", &set, "");
    scratch.run("delete store 0x1 -q").succeeds();
    fs::remove_file(scratch.path("store/manifest.fps")).unwrap();
    let told = repair(&scratch, 1);
    assert!(told["manifest"].as_str().unwrap().contains("manifest.fps"), "{told}");
    assert_eq!(scratch.dump("saved"), sorted(&set));
    fs::create_dir(scratch.path("empty")).unwrap();
    scratch.run("repair empty x").fails_naming(&["empty", "neither a sound manifest nor"]);
    assert!(!scratch.path("x").exists());
}

#[test]
fn ids_that_are_lost_are_counted_also_those_of_fingerprints_that_are() {
    let scratch = Scratch::new();
    let set = sorted(&fingerprints(105, 3000));
    // Three ids each.
    let rows = (0..3 * set.len()).map(|id| format!("{id},{:016x}\n", set[id / 3]));
    scratch.write("in.csv", format!("id,fingerprint\n{}", rows.collect::<String>()));
    scratch
        .run("pack in.csv -o store --id-column id -q --design single --block-bytes 1024")
        .succeeds();
    damage(&scratch, &table(0), 4096 + 2 * 1024 + 100);
    let told = repair(&scratch, 1);
    let loss = &told["segments"][0];
    let lost = loss["lost_fingerprints"].as_u64().unwrap() as usize;
    assert!(lost > 50, "{told}");
    assert_eq!(loss["lost_ids"], 3 * lost, "{told}");
    assert_eq!(told["ids"], 3 * (set.len() - lost));
    let text = scratch.run("repair store other").ends_with_code(1).stdout;
    assert!(
        text.contains(&format!("{lost} fingerprints, 0 without ids, {} ids\n", 3 * lost)),
        "{text}"
    );
    // Without the file of ids nobody knows how many there were.
    fs::remove_file(scratch.path("store/segment-0000000000000001-ids.fpi")).unwrap();
    fs::remove_dir_all(scratch.path("saved")).unwrap();
    let told = repair(&scratch, 1);
    assert_eq!(told["segments"][0]["lost_ids"], Value::Null, "{told}");
    assert_eq!((&told["fingerprints"], &told["ids"]), (&0.into(), &0.into()));
}

#[test]
fn less_memory_than_a_repair_takes_is_refused() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    for (memory, told) in [("100KiB", "100 KiB"), ("16777215", "16 MiB")] {
        let ran = scratch.run(&format!("repair store dest --memory {memory}"));
        ran.fails_naming(&[told, "a repair needs at least 16 MiB; give more (--memory)"]);
        assert!(!scratch.path("dest").exists());
    }
    scratch.run("repair store dest --memory 16MiB").succeeds();
    assert_eq!(scratch.dump("dest"), [1, 2]);
}
