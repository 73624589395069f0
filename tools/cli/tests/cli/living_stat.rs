//! What `stat` and `verify` tell of stores that are written in place.

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Scratch, raw};

fn stat(scratch: &Scratch) -> Value {
    serde_json::from_str(&scratch.run("stat store --json").succeeds().stdout).unwrap()
}

#[test]
fn stat_tells_of_log_windows_deletions_writes_and_what_a_merge_would_bring() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none --window 1d -q").succeeds();
    let set = fingerprints(80, 9000);
    // The last one is too small to be merged with the one before by itself.
    let parts = [(0..3000, "2026-01-01"), (3000..7500, "2026-01-02"), (7500..9000, "2026-01-02")];
    for (part, day) in parts {
        let part = &set[part];
        let line = format!("insert store - --format u64le -q --time {day}");
        scratch.run_with(&line, &raw(part)).succeeds();
        scratch.run("flush store -q").succeeds();
    }
    scratch.run(&format!("delete store {:016x} {:016x} -q", set[0], set[1])).succeeds();
    scratch.run_with("insert store - -q --time 2026-01-03", b"0x5").succeeds();
    let told = stat(&scratch);
    let living = &told["living"];
    assert_eq!((&living["ids"], &living["window_seconds"]), (&false.into(), &86_400.into()));
    assert_eq!((&living["log_operations"], &living["log_insertions"]), (&3.into(), &1.into()));
    // What comes twice in a window is inserted once, and three operations follow.
    let distinct = sorted(&set[..3000]).len() + sorted(&set[3000..]).len();
    assert_eq!(living["sequence"], distinct + 3);
    let mut stored = sorted(&[&set[..], &[5]].concat());
    stored.retain(|one| ![set[0], set[1]].contains(one));
    assert_eq!((&told["fingerprints"], &told["exact"]), (&stored.len().into(), &true.into()));
    let log_bytes: u64 = scratch
        .listing("store")
        .iter()
        .filter(|(name, _)| name.starts_with("log-"))
        .map(|(_, bytes)| bytes)
        .sum();
    assert_eq!(living["log_bytes"], log_bytes);
    let amplification = living["write_amplification"].as_f64().unwrap();
    let ratio =
        living["written_bytes"].as_f64().unwrap() / living["inserted_bytes"].as_f64().unwrap();
    assert!(amplification > 0.5 && (amplification - ratio).abs() < 1e-9, "{amplification}");
    assert_eq!(living["slowing"]["segments"], 1);
    assert_eq!(living["slowing"]["delay_ns"], 0);
    assert!(living["slowing"]["free_segments"].as_u64().unwrap() > 1);
    let segments = told["segments"].as_array().unwrap();
    let since: Vec<&str> = segments.iter().map(|at| at["since"].as_str().unwrap()).collect();
    let days = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"];
    assert_eq!(since, days);
    let full = &told["full_merge"];
    assert_eq!((&full["segments"], &full["segments_now"]), (&2.into(), &3.into()));
    let (then, now) = (full["query_ns"].as_f64().unwrap(), full["query_ns_now"].as_f64().unwrap());
    assert!(0.0 < then && then < now, "{full}");
    let text = scratch.run("stat store").succeeds().stdout;
    for part in [
        ", window from 2026-01-02T00:00:00Z\n",
        "log         1 insertion and 2 deletions in ",
        "windows     2 in segments, of 1 day each, from 2026-01-01T00:00:00Z to 2026-01-02",
        "deletions   none in segments",
        "written     ",
        "writers     at full speed; 1 segment waits for a merge, more than 40 slow them down",
        "full merge  2 segments instead of 3, about ",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    scratch.run("flush store -q").succeeds();
    let told = stat(&scratch);
    assert_eq!(
        (&told["living"]["deletions"], &told["living"]["log_operations"]),
        (&2.into(), &0.into())
    );
    scratch.run("merge store --full -q").succeeds();
    let told = stat(&scratch);
    assert_eq!(told["full_merge"], Value::Null);
    assert_eq!(told["living"]["deletions"], 0);
}

#[test]
fn a_packed_store_has_nothing_to_tell_of_writing() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2, 3], "");
    let told = stat(&scratch);
    assert_eq!((&told["living"], &told["full_merge"]), (&Value::Null, &Value::Null));
    assert_eq!(told["segments"][0]["since"], Value::Null);
    assert!(!scratch.run("verify store").succeeds().stdout.contains("log"));
}

#[test]
fn verify_counts_deletions_and_what_the_log_holds() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none -q").succeeds();
    scratch.run_with("insert store - -q", b"0x1 0x2 0x3").succeeds();
    scratch.run("flush store -q").succeeds();
    scratch.run("delete store 0x1 -q").succeeds();
    scratch.run("flush store -q").succeeds();
    for fingerprint in ["0x2", "0x3"] {
        scratch.run(&format!("delete store {fingerprint} -q")).succeeds();
    }
    let text = scratch.run("verify store").succeeds().stdout;
    assert!(text.contains("checked 1 deletion, 2 operations of the log: "), "{text}");
    let log = scratch.listing("store").into_iter().find(|(name, _)| name.starts_with("log-"));
    let name = format!("store/{}", log.unwrap().0);
    let mut bytes = std::fs::read(scratch.path(&name)).unwrap();
    // Of the first record, which the second one says was durable.
    bytes[80 + 32] ^= 1;
    std::fs::write(scratch.path(&name), bytes).unwrap();
    scratch.run("verify store").fails_naming(&[&name, "corrupt", "[LOG-"]);
}

/// The numbers that `stat` and the commands that change a store print, on a store with everything
/// that could mislead them.
#[test]
fn counts_are_those_of_what_is_stored() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none -q").succeeds();
    let first =
        |line: &str| scratch.run(line).succeeds().stdout.lines().next().unwrap().to_string();
    let told = scratch.run_with("insert store -", b"0xa 0xa 0xa").succeeds().stdout;
    assert!(told.starts_with("store: 1 record inserted, 2 stored already in "), "{told}");
    let bytes = || {
        let files = scratch.listing("store").into_iter().filter(|(name, _)| name != "lock");
        files.map(|(_, bytes)| bytes).sum::<u64>()
    };
    let told = first("stat store");
    assert!(told.starts_with("store: 1 fingerprint, "), "{told}");
    assert!(!told.contains(" 0.00 bytes per fingerprint"), "{told}");
    // All files but the lock.
    assert_eq!(stat(&scratch)["bytes"], bytes());
    // The same one in a segment and in the log, in two segments, and deleted.
    scratch.run("flush store -q").succeeds();
    let before = bytes();
    let told = scratch.run_with("insert store - --json", b"0xa 0xb 0xb").succeeds().stdout;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["inserted"], &told["already_stored"]), (&1.into(), &2.into()));
    scratch.run_with("insert store -q", b"0xa").succeeds();
    scratch.run("flush store -q").succeeds();
    scratch.run_with("pack - --append store -q", b"0xa 0xb 0xc").succeeds();
    assert!(bytes() > before);
    assert_eq!(stat(&scratch)["fingerprints"], 3);
    scratch.run("delete store 0xa 0xdd -q").succeeds();
    assert_eq!(stat(&scratch)["fingerprints"], 2);
    scratch.run("flush store -q").succeeds();
    let told = stat(&scratch);
    assert_eq!((&told["fingerprints"], &told["exact"]), (&2.into(), &true.into()));
    assert_eq!(told["bytes"], bytes());
    // In a store with windows a record is stored in each of its own.
    scratch.run("create days --id-type none --window 1d -q").succeeds();
    for (day, inserted) in [("01", 2), ("02", 2), ("01", 0)] {
        let line = format!("insert days - --time 2026-01-{day} --json");
        let told = scratch.run_with(&line, b"0x1 0x2").succeeds().stdout;
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["inserted"], inserted, "{day}");
    }
    let told = scratch.run("expire days --before 2026-01-02 --json").succeeds().stdout;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["windows_dropped"], &told["fingerprints_dropped"]), (&1.into(), &2.into()));
    assert_eq!(scratch.dump("days"), [1, 2]);
}

/// More records than are looked up together, some of them stored, deleted, with other ids, or twice
/// in the input.
#[test]
fn records_that_are_stored_are_told_from_new_ones_however_many_come() {
    let scratch = Scratch::new();
    let csv = |pairs: &[(u64, u64)]| {
        let rows = pairs.iter().map(|(fingerprint, id)| format!("{fingerprint:016x},{id}\n"));
        format!("fingerprint,id\n{}", rows.collect::<String>())
    };
    let set = fingerprints(81, 80_000);
    // A fingerprint with very many ids takes no longer than others.
    let pairs = |range: std::ops::Range<usize>| -> Vec<(u64, u64)> {
        let pair = |at: usize| (if at.is_multiple_of(4) { 7 } else { set[at] }, at as u64 / 2);
        range.map(pair).collect()
    };
    let insert = |line: &str, csv: &str| -> (u64, u64) {
        scratch.write("in.csv", csv);
        let told = scratch.run(&format!("insert store in.csv --json {line}")).succeeds().stdout;
        let told: Value = serde_json::from_str(&told).unwrap();
        (told["inserted"].as_u64().unwrap(), told["already_stored"].as_u64().unwrap())
    };
    type Model = std::collections::BTreeSet<(u64, u64)>;
    let expected = |model: &mut Model, some: &[(u64, u64)]| -> (u64, u64) {
        let new = some.iter().filter(|pair| model.insert(**pair)).count() as u64;
        (new, some.len() as u64 - new)
    };
    for ids in [true, false] {
        let pairs = |range| -> Vec<(u64, u64)> {
            let pairs = pairs(range).into_iter();
            pairs.map(|(fingerprint, id)| (fingerprint, if ids { id } else { 0 })).collect()
        };
        let _ = std::fs::remove_dir_all(scratch.path("store"));
        scratch
            .run(&format!("create store -q {}", if ids { "" } else { "--id-type none" }))
            .succeeds();
        let line = if ids { "--id-column id" } else { "" };
        let mut model = Model::new();
        let first = [pairs(0..50_000), pairs(10_000..12_000)].concat();
        assert_eq!(insert(line, &csv(&first)), expected(&mut model, &first));
        let second = [pairs(30_000..80_000), pairs(0..20_000), pairs(70_000..80_000)].concat();
        assert_eq!(insert(line, &csv(&second)), expected(&mut model, &second));
        assert_eq!(insert(line, &csv(&second)), expected(&mut model, &second));
        // What was deleted is new again.
        let gone = if ids { "--id-column id" } else { "" };
        scratch.write("gone.csv", csv(&second[..40_000]));
        scratch.run(&format!("delete store --from gone.csv {gone} -q")).succeeds();
        let again = pairs(25_000..75_000);
        for pair in &second[..40_000] {
            model.remove(pair);
        }
        assert_eq!(insert(line, &csv(&again)), expected(&mut model, &again), "ids: {ids}");
        let stored: Vec<u64> = model.iter().map(|pair| pair.0).collect();
        assert_eq!(scratch.dump("store"), sorted(&stored));
        let ids_stored = scratch.run(&format!("dump store {}", if ids { "--as ids" } else { "" }));
        let rows = ids_stored.succeeds().stdout;
        let count = rows.lines().map(|row| row.matches(',').count() + 1).sum::<usize>();
        assert_eq!(count, model.len());
    }
}
