//! Stores that are written in place: `create`, `insert`, `delete`, `flush`, `merge`.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Scratch, hex, raw};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Inserts what `csv` holds into the store `store`.
fn insert_csv(scratch: &Scratch, csv: &str) {
    scratch.run_with("insert store - --id-column id --format csv -q", csv.as_bytes()).succeeds();
}

#[test]
fn a_created_store_takes_insertions_of_all_inputs_and_answers_queries() {
    let scratch = Scratch::new();
    let created = scratch.run("create store -k 4 --design halves --id-type none").succeeds().stdout;
    assert_eq!(created, "store: created, empty, without ids, for k = 4\n");
    let set = fingerprints(70, 3000);
    let (first, rest) = set.split_at(1000);
    scratch.write("first.txt", hex(first));
    scratch.write("rest.bin", raw(rest));
    let told = scratch.run("insert store first.txt rest.bin").succeeds().stdout;
    let repeated = set.len() - sorted(&set).len();
    let expected =
        format!("store: 2,{} records inserted, {repeated} stored already in ", 1000 - repeated);
    assert!(repeated > 0 && told.starts_with(&expected), "{told}");
    assert_eq!(scratch.dump("store"), sorted(&set));
    let near = set[5] ^ 1;
    let answer = scratch.run(&format!("query store {near:016x} -k 1")).succeeds().stdout;
    assert!(answer.contains(&format!("{:016x}", set[5])), "{answer}");
    scratch.run("verify store").succeeds();
    let told = scratch.run("insert store first.txt --json").succeeds().stdout;
    let told = json(&told);
    assert_eq!((&told["store"], &told["inserted"]), (&"store".into(), &0.into()));
    assert_eq!(told["already_stored"], 1000);
    assert_eq!(scratch.dump("store"), sorted(&set), "what is there already changes nothing");
}

#[test]
fn what_cannot_be_created_is_refused() {
    let scratch = Scratch::new();
    scratch.pack("packed", &[1, 2], "");
    scratch.run("create packed").fails_naming(&["packed", "exists"]);
    scratch.run("create store --block-bytes 300").fails_naming(&["block bytes", "300"]);
    scratch.run("create store --window 0").fails_naming(&["--window", "a second or longer"]);
    scratch.run("create store --window soon").fails_naming(&["soon", "1d, 12h"]);
    scratch.run("insert nothing").fails_naming(&["nothing", "[DIR-1] not a store"]);
    assert!(!scratch.path("store").exists());
}

#[test]
fn ids_are_those_of_columns_or_numbers_of_records() {
    let scratch = Scratch::new();
    scratch.run("create store -q").succeeds();
    insert_csv(
        &scratch,
        "id,fingerprint\n7,000000000000000b\n9,000000000000000b\n8,ffffffffffffffff\n",
    );
    let ids = "--ids line --first-id 100";
    scratch.run_with(&format!("insert store - {ids} -q"), b"0x1 0xb").succeeds();
    let dump = scratch.run("dump store --as ids").succeeds().stdout;
    let expected = "0000000000000001\t100\n000000000000000b\t7,9,101\nffffffffffffffff\t8\n";
    assert_eq!(dump, expected);
    scratch.write("in", "0x1");
    scratch.run("insert store in").fails_naming(&["store: has ids; give --ids line"]);
    scratch.run("create plain --id-type none -q").succeeds();
    scratch.run("insert plain in --ids line").fails_naming(&["plain: has no ids"]);
    scratch.run("insert plain in --time 2026-01-01").fails_naming(&["has no windows", "--time"]);
}

#[test]
fn numbers_of_records_go_on_from_call_to_call() {
    let scratch = Scratch::new();
    scratch.run("create store --window 1d -q").succeeds();
    let insert = |text: &[u8], options: &str| {
        scratch.run_with(&format!("insert store - --ids line -q {options}"), text).succeeds();
    };
    insert(b"0x10 0x20", "--time 2026-01-01");
    insert(b"0x30 0x10", "");
    let dump = || scratch.run("dump store --as ids").succeeds().stdout;
    let line = |fingerprint: u64, ids: &str| format!("{fingerprint:016x}\t{ids}\n");
    assert_eq!(dump(), line(0x10, "0,3") + &line(0x20, "1") + &line(0x30, "2"));
    // An id that went is given to nobody else: neither after a deletion nor after an expiry.
    scratch.run("delete store --id-everywhere 3 -q").succeeds();
    insert(b"0x40", "--time 2026-01-01");
    scratch.run("merge store --full -q").succeeds();
    scratch.run("expire store --before 2026-02-01 -q").succeeds();
    insert(b"0x50", "");
    assert_eq!(dump(), line(0x30, "2") + &line(0x50, "5"));
    // Near ones have numbers too.
    let ran = scratch.run_with("insert store - --ids line -k 1 --unless-near -q", b"0x51 0x7000");
    assert_eq!(
        ran.stdout,
        "6\t0000000000000051\tnear\t0000000000000050\t1\n7\t0000000000007000\tinserted\t\t\n"
    );
    insert(b"0x60", "--first-id 3");
    insert(b"0x61", "");
    assert!(
        dump().ends_with(&(line(0x60, "3") + &line(0x61, "8") + &line(0x7000, "7"))),
        "{}",
        dump()
    );
    insert(b"0x62", "--first-id 18446744073709551615");
    let full = scratch.run_with("insert store - --ids line", b"0x63");
    full.fails_naming(&["store: no number is left", "--first-id"]);
    // A packed store has numbers already, and takes more in both ways.
    scratch.pack("packed", &[1, 2], "--ids line");
    scratch.run_with("pack - --append packed --ids line -q", b"0x3 0x4").succeeds();
    scratch.run_with("insert packed - --ids line -q", b"0x5").succeeds();
    scratch.run_with("pack - --append packed --ids line -q", b"0x6").succeeds();
    let dump = scratch.run("dump packed --as ids").succeeds().stdout;
    let expected: String = (1..=6).map(|at: u64| line(at, &(at - 1).to_string())).collect();
    assert_eq!(dump, expected);
}

#[test]
fn a_packed_store_takes_insertions_and_deletions() {
    let scratch = Scratch::new();
    let set = fingerprints(71, 2000);
    scratch.pack("store", &set, "--design single");
    scratch.run_with("insert store -q", b"0x1 0x2").succeeds();
    let mut expected = sorted(&set);
    expected.extend([1, 2]);
    assert_eq!(scratch.dump("store"), sorted(&expected));
    scratch.run(&format!("delete store {:016x} -q", set[0])).succeeds();
    expected.retain(|&fingerprint| fingerprint != set[0]);
    assert_eq!(scratch.dump("store"), sorted(&expected));
    scratch.run("verify store").succeeds();
}

#[test]
fn a_store_of_names_takes_no_numbers_of_lines() {
    let scratch = Scratch::new();
    scratch.write("pages.csv", "url,fingerprint\nhttp://a,0000000000000001\n");
    scratch.run("pack pages.csv -o store --id-column url -q").succeeds();
    scratch.write("in", "0x2");
    scratch
        .run("insert store in --ids line")
        .fails_naming(&["store: its ids are text", "name a column"]);
}

#[test]
fn unless_near_gives_a_verdict_for_each_record() {
    let scratch = Scratch::new();
    scratch.run("create store -q").succeeds();
    let csv = "id,fingerprint\n1,00000000000000f0\n2,00000000000000f1\n3,0000000000ff0000\n";
    scratch.write("in.csv", csv);
    let ran = scratch.run("insert store in.csv --id-column id --unless-near --as tsv,header");
    assert_eq!(
        ran.stdout,
        "id\tfingerprint\tverdict\tnear\tdistance\n\
         1\t00000000000000f0\tinserted\t\t\n\
         2\t00000000000000f1\tnear\t00000000000000f0\t1\n\
         3\t0000000000ff0000\tinserted\t\t\n"
    );
    assert!(ran.stderr.starts_with("fpstore: 2 inserted, 1 near one within 3; "), "{ran:?}");
    let again = "insert store in.csv --id-column id --unless-near -k 0 --as json -q";
    let rows: Vec<Value> = scratch.run(again).succeeds().stdout.lines().map(json).collect();
    assert_eq!(
        rows[0],
        json(
            r#"{"id":"1","fingerprint":"00000000000000f0","verdict":"near","near":"00000000000000f0","distance":0}"#
        )
    );
    let inserted = r#"{"id":"2","fingerprint":"00000000000000f1","verdict":"inserted"}"#;
    assert_eq!(rows[1], json(inserted));
    assert_eq!(scratch.dump("store"), [0xf0, 0xf1, 0xff_0000]);
    scratch.write("in", "0x1");
    scratch.run("insert store in -k 3").fails_naming(&["--unless-near"]);
    scratch.run("insert store in --as tsv,header").fails_naming(&["a header is for tsv"]);
}

#[test]
fn verdicts_on_a_pipe_come_at_once_and_other_processes_see_what_was_inserted() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none -q").succeeds();
    let mut command = scratch.command("insert store - --unless-near --format hex -q");
    command.args(["--durability", "immediate"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines();
    for (sent, expected) in [
        ("0xf0\n", "00000000000000f0\tinserted\t\t"),
        ("0xf1\n", "00000000000000f1\tnear\t00000000000000f0\t1"),
    ] {
        stdin.write_all(sent.as_bytes()).unwrap();
        assert_eq!(rows.next().unwrap().unwrap(), expected);
    }
    assert_eq!(scratch.dump("store"), [0xf0]);
    scratch.run("insert store").fails_naming(&["store: another writer is open here"]);
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_long_query_sees_what_others_commit_and_stops_where_the_store_was_packed_again() {
    let scratch = Scratch::new();
    scratch.run("create store -q").succeeds();
    scratch.run_with("insert store - --ids line -q", b"0xf0").succeeds();
    let mut command = scratch.command("query store --from - --format hex --as json");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |text: &str| {
        stdin.write_all(text.as_bytes()).unwrap();
        json(&rows.next().unwrap().unwrap())["matches"].clone()
    };
    let of = |fingerprint: u64, id: &str| {
        json(&format!(r#"[{{"fingerprint":"{fingerprint:016x}","distance":0,"ids":["{id}"]}}]"#))
    };
    assert_eq!(ask("0xff00\n"), json("[]"));
    for (write, ids) in [
        ("insert store - --ids line -q", Some("1")),
        ("flush store -q", Some("1")),
        ("delete store 0xff00 -q", None),
        ("merge store --full -q", None),
    ] {
        scratch.run_with(write, b"0xff00").succeeds();
        std::thread::sleep(std::time::Duration::from_millis(150));
        let expected = ids.map_or(json("[]"), |id| of(0xff00, id));
        assert_eq!(ask("0xff00\n"), expected, "{write}");
    }
    scratch.write("in", "0x7");
    scratch.run("pack in -o store --force -q").succeeds();
    std::thread::sleep(std::time::Duration::from_millis(150));
    stdin.write_all(b"0x7\n").unwrap();
    assert!(rows.next().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_an_insertion_and_what_was_inserted_is_durable() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none -q").succeeds();
    let mut command = scratch.command("insert store - --unless-near --format hex");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"0xf0\n").unwrap();
    let mut row = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut row).unwrap();
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(143));
    let told = "fpstore: stopped by SIGTERM; what was written before is durable\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), told);
    assert_eq!(
        (row.as_str(), scratch.dump("store")),
        ("00000000000000f0\tinserted\t\t\n", vec![0xf0])
    );
}

#[test]
fn a_bad_record_ends_an_insertion_and_what_stands_before_it_stays() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none -q").succeeds();
    scratch.write("in.csv", "fingerprint\n1\n2\nx\n4\n");
    scratch.run("insert store in.csv --format auto,hex").fails_naming(&["in.csv: line 4"]);
    assert_eq!(scratch.dump("store"), [1, 2]);
    let ran = scratch.run("insert store in.csv --format auto,hex --on-error skip --json");
    assert_eq!(json(&ran.stdout)["skipped"], 1);
    assert_eq!(scratch.dump("store"), [1, 2, 4]);
}

#[test]
fn deletions_are_of_fingerprints_pairs_files_and_of_an_id_everywhere() {
    let scratch = Scratch::new();
    scratch.run("create store -q").succeeds();
    insert_csv(
        &scratch,
        "id,fingerprint\n1,0000000000000001\n2,0000000000000001\n1,0000000000000002\n\
         3,0000000000000003\n4,0000000000000004\n1,0000000000000005\n6,0000000000000005\n",
    );
    let told = scratch.run("delete store 0x3 0x4ff --json").succeeds().stdout;
    let told = json(&told);
    assert_eq!((&told["deleted"], &told["not_stored"]), (&1.into(), &1.into()));
    scratch.run("delete store 0x1 --id 2 -q").succeeds();
    scratch.write("gone.csv", "id,fingerprint\n6,0000000000000005\n6,0000000000000001\n");
    let told = scratch.run("delete store --from gone.csv --id-column id").succeeds().stdout;
    assert!(told.starts_with("store: 1 record deleted, 1 not stored in "), "{told}");
    let rest = "0000000000000001\t1\n0000000000000002\t1\n0000000000000004\t4\n\
                0000000000000005\t1\n";
    assert_eq!(scratch.run("dump store --as ids").succeeds().stdout, rest);
    let told = scratch.run("delete store --id-everywhere 1").succeeds().stdout;
    assert!(told.starts_with("store: 3 records deleted in "), "{told}");
    // A fingerprint goes with all its ids, each of which was a record.
    insert_csv(&scratch, "id,fingerprint\n7,0000000000000009\n8,0000000000000009\n");
    scratch.run("flush store -q").succeeds();
    insert_csv(&scratch, "id,fingerprint\n8,0000000000000009\n9,0000000000000009\n");
    let told = scratch.run("delete store 0x9 0xa").succeeds().stdout;
    assert!(told.starts_with("store: 3 records deleted, 1 not stored in "), "{told}");
    assert_eq!(scratch.dump("store"), [4]);
    scratch.run_with("delete store --from - -q", b"0x4").succeeds();
    assert_eq!(scratch.dump("store"), [0u64; 0]);
    scratch.run("delete store").fails_naming(&["nothing to delete", "--from FILE"]);
    scratch.run("insert store 00ff").fails_naming(&["00ff: is no file", "echo 0x00ff | fpstore"]);
    scratch.run("delete store --id 3").fails_naming(&["FP"]);
    scratch.run("create plain --id-type none -q").succeeds();
    scratch.run("delete plain 0x1 --id 3").fails_naming(&["plain: has no ids"]);
    scratch.run("delete plain --id-everywhere 3").fails_naming(&["plain: has no ids"]);
    scratch.run("delete nothing 0x1").fails_naming(&["nothing", "not a store"]);
}

#[test]
fn a_created_store_has_the_layout_that_a_pack_would_choose() {
    let scratch = Scratch::new();
    // Small segments have one table whatever the others have.
    let set = fingerprints(73, 20_000);
    for prefer in ["", "--prefer size", "--prefer balanced", "--prefer speed"] {
        let _ = std::fs::remove_dir_all(scratch.path("store"));
        scratch.run(&format!("create store --id-type none -q {prefer}")).succeeds();
        scratch.run_with("insert store - --format u64le -q", &raw(&set)).succeeds();
        scratch.run("flush store -q").succeeds();
        let told = json(&scratch.run("stat store --json").succeeds().stdout);
        // As of ten million, of up to four tables.
        let line = format!("plan --n 1e7 --json {prefer}");
        let plans = json(&scratch.run(&line).succeeds().stdout)["plans"].clone();
        let few = |plan: &&Value| plan["tables"].as_array().unwrap().len() <= 4;
        let plan = plans.as_array().unwrap().iter().find(few).unwrap();
        assert_eq!(told["segments"][0]["design"], plan["design"], "{prefer}");
        let table = &told["segments"][0]["tables"][0];
        assert_eq!(table["block_bytes"], plan["block_bytes"], "{prefer}");
    }
}

#[test]
fn flush_and_merge_tell_segments_and_bytes() {
    let scratch = Scratch::new();
    scratch.run("create store --id-type none -q").succeeds();
    let set = fingerprints(72, 3000);
    let flush = |part: &[u64]| {
        scratch.run_with("insert store - --format u64le -q", &raw(part)).succeeds();
        json(&scratch.run("flush store --json").succeeds().stdout)
    };
    let summary = flush(&set[..1500]);
    assert_eq!((&summary["segments_before"], &summary["segments_after"]), (&0.into(), &1.into()));
    assert!(summary["bytes_after"].as_u64().unwrap() > 0, "{summary}");
    let summary = flush(&set[1500..]);
    assert_eq!((&summary["segments_before"], &summary["segments_after"]), (&1.into(), &2.into()));
    let deleted = set[7];
    scratch.run(&format!("delete store {deleted:016x} -q")).succeeds();
    scratch.run("merge store -q").succeeds();
    let told = scratch.run("merge store --full").succeeds().stdout;
    assert!(told.starts_with("store: merged, 1 segment now, 2 before; "), "{told}");
    let told = scratch.run("merge store --full").succeeds().stdout;
    assert!(told.starts_with("store: nothing to merge; "), "{told}");
    let told = scratch.run("flush store").succeeds().stdout;
    assert!(told.starts_with("store: the log was empty; "), "{told}");
    let mut rest = sorted(&set);
    rest.retain(|&fingerprint| fingerprint != deleted);
    assert_eq!(scratch.dump("store"), rest);
    let before = scratch.listing("store");
    let names = || scratch.listing("store").into_iter().map(|(name, _)| name);
    assert_eq!(names().filter(|name| name.starts_with("segment-")).count(), before.len() - 3);
    scratch.run("verify store").succeeds();
    scratch.run("flush nothing").fails_naming(&["nothing", "not a store"]);
    scratch.run("expire store --before 1d").fails_naming(&["store: has no windows of time"]);
    scratch.run("expire store --before yore").fails_naming(&["yore", "2026-11-22"]);
}
