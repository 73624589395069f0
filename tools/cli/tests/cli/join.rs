//! `join` and `merge-pairs`: pairs against brute force, in shards, in pieces, and stopped.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Scratch;
use crate::oracle::{Random, fingerprints, sorted};
use crate::stoppable::stoppable;

/// All pairs of a set with itself, as `merge-pairs` prints them.
fn self_pairs(set: &[u64], k: u32) -> String {
    let set = sorted(set);
    let mut rows = String::new();
    for (i, &a) in set.iter().enumerate() {
        for &b in &set[i + 1..] {
            row(&mut rows, a, b, k);
        }
    }
    rows
}

fn row(rows: &mut String, a: u64, b: u64, k: u32) {
    let distance = (a ^ b).count_ones();
    if distance <= k {
        rows.push_str(&format!("{a:016x}\t{b:016x}\t{distance}\n"));
    }
}

/// The lines of an output in ascending order.
fn in_order(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// A set that a join in the least memory needs several ranges for.
fn large_set(seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut set: Vec<u64> = (0..400_000).map(|_| random.next()).collect();
    for i in 0..4000 {
        let near = random.near(set[i * 100], 4);
        set.push(near);
    }
    set
}

#[test]
fn pairs_are_those_of_brute_force_at_every_distance() {
    let scratch = Scratch::new();
    let set = fingerprints(200, 1500);
    for design in ["single", "quarters"] {
        scratch.pack("store", &set, &format!("--force --design {design}"));
        for k in [0, 1, 3, 6, 20, 64] {
            let ran = scratch.run(&format!("join store -k {k} --quiet")).succeeds();
            let pairs = self_pairs(&set, k);
            assert_eq!(pairs.is_empty(), k == 0);
            assert!(in_order(&ran.stdout) == pairs, "{design}, k = {k}");
        }
    }
}

#[test]
fn a_join_of_two_stores_of_any_design_has_equal_fingerprints_too() {
    let scratch = Scratch::new();
    let (a, b) = (fingerprints(201, 700), fingerprints(201, 1400));
    scratch.pack("a", &a, "--design halves");
    scratch.pack("b", &b, "--design 2of5 -k 5");
    let mut rows = String::new();
    for &a in &sorted(&a) {
        sorted(&b).iter().for_each(|&b| row(&mut rows, a, b, 4));
    }
    assert!(rows.contains("\t0\n"));
    assert!(in_order(&scratch.run("join a b -k 4 --quiet").succeeds().stdout) == rows);
}

#[test]
fn raw_pairs_are_the_same_and_the_summary_says_what_was_done() {
    let scratch = Scratch::new();
    let set = fingerprints(202, 1000);
    scratch.pack("store", &set, "");
    let ran = scratch.run("join store -o pairs --as u64le --threads 1").ends_with_code(0);
    let pairs = self_pairs(&set, 3);
    let begin = format!(
        "fpstore: {} pairs within 3; {} fingerprints joined, ",
        pairs.lines().count(),
        sorted(&set).len()
    );
    assert!(ran.stderr.starts_with(&begin), "{}", ran.stderr);
    let bytes = fs::read(scratch.path("pairs")).unwrap();
    let (integers, rest) = bytes.as_chunks::<8>();
    assert!(rest.is_empty());
    let integers: Vec<u64> = integers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let mut rows = String::new();
    integers.chunks(2).for_each(|pair| row(&mut rows, pair[0], pair[1], 3));
    assert!(in_order(&rows) == pairs);
    let merged = scratch.run("merge-pairs pairs --format u64le --as tsv --quiet").succeeds();
    assert!(merged.stdout == pairs);
}

#[test]
fn ids_follow() {
    let scratch = Scratch::new();
    let table = "fingerprint,url\n00000000000000ff,a\n00000000000000fe,\"b,c\"\n\
                 00000000000000ff,d\nff00000000000000,e\n";
    scratch.write("in.csv", table);
    scratch.run("pack in.csv -o store --quiet --id-column url").succeeds();
    let keys = "00000000000000fe\t00000000000000ff\t1";
    let out = |line: &str| scratch.run(line).succeeds().stdout;
    assert_eq!(out("join store --quiet"), format!("{keys}\n"));
    assert_eq!(out("join store --quiet --as ids"), format!("{keys}\tb\\,c\ta,d\n"));
    assert_eq!(out("join store --quiet --as ids --limit-ids 1"), format!("{keys}\tb\\,c\ta,...\n"));
    let both = out("join store store -k 0 --quiet --as ids");
    assert!(both.contains("00000000000000ff\t00000000000000ff\t0\ta,d\ta,d\n"), "{both}");
    scratch.write("pairs", out("join store --quiet --as ids"));
    assert_eq!(out("merge-pairs pairs --quiet"), format!("{keys}\tb\\,c\ta,d\n"));
    scratch
        .run("join store --as u64le,ids")
        .fails_with("join: u64le has no room for ids; give --as tsv or parquet");
    scratch.pack("bare", &[1], "");
    scratch.run("join bare --as ids").fails_with("bare: has no ids; leave ids out (--as)");
}

#[test]
fn many_ids_of_a_fingerprint_are_all_there() {
    let scratch = Scratch::new();
    let mut set = vec![0xff; 5000];
    set.push(0xfe);
    scratch.pack("store", &set, "--ids line");
    let ids: Vec<String> = (0..5000).map(|id: u32| id.to_string()).collect();
    let row = format!("00000000000000fe\t00000000000000ff\t1\t5000\t{}\n", ids.join(","));
    assert!(scratch.run("join store --quiet --as ids").succeeds().stdout == row);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_the_pairs_and_their_ids() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt8Type, UInt64Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let scratch = Scratch::new();
    let set = fingerprints(203, 3000);
    scratch.pack("store", &set, "--ids line");
    scratch.run("join store -k 5 --as parquet,ids -o pairs --quiet").succeeds();
    let file = fs::File::open(scratch.path("pairs")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut rows = String::new();
    for batch in reader {
        let batch = batch.unwrap();
        let integers = |name: &str| batch[name].as_primitive::<UInt64Type>().values().to_vec();
        let (a, b) = (integers("a"), integers("b"));
        let distances = batch["distance"].as_primitive::<UInt8Type>();
        let ids = |name: &str, row: usize| {
            let list = batch[name].as_list::<i32>().value(row);
            let ids: Vec<String> =
                list.as_primitive::<UInt64Type>().values().iter().map(u64::to_string).collect();
            ids.join(",")
        };
        for row in 0..batch.num_rows() {
            rows.push_str(&format!(
                "{:016x}\t{:016x}\t{}\t{}\t{}\n",
                a[row],
                b[row],
                distances.value(row),
                ids("a_ids", row),
                ids("b_ids", row)
            ));
        }
    }
    let tsv = scratch.run("join store -k 5 --as ids --quiet").succeeds().stdout;
    assert!(tsv.lines().count() > 100);
    assert!(in_order(&rows) == in_order(&tsv));
    scratch.run("join store --as parquet").fails_with("join: parquet goes to a file; give -o FILE");
}

#[test]
fn shards_in_processes_of_their_own_make_the_whole() {
    let scratch = Scratch::new();
    let set = large_set(204);
    scratch.pack("store", &set, "");
    for (output, merged) in [("tsv", "whole.tsv"), ("u64le", "whole.bin")] {
        scratch.run(&format!("join store --as {output} -o all --force --quiet")).succeeds();
        let format = if output == "tsv" { "" } else { "--format u64le" };
        scratch.run(&format!("merge-pairs all -o {merged} --quiet {format}")).succeeds();
        let children = (0..7).map(|shard| {
            let line = format!(
                "join store --shard {shard}/7 --as {output} -o {output}-{shard} --quiet \
                 --threads 1 --memory 16MiB"
            );
            scratch.command(&line).spawn().unwrap()
        });
        for mut child in children.collect::<Vec<_>>() {
            assert!(child.wait().unwrap().success());
        }
        let parts: Vec<String> = (0..7).rev().map(|shard| format!("{output}-{shard}")).collect();
        // A shard that comes twice changes nothing.
        let parts_twice = format!("{} {output}-3", parts.join(" "));
        let line = format!("merge-pairs {parts_twice} -o merged --force {format}");
        let ran = scratch.run(&format!("{line} --memory 16MiB")).ends_with_code(0);
        assert!(ran.stderr.contains(" rows in 8 files, "), "{}", ran.stderr);
        let [whole, merged] = [merged, "merged"].map(|name| fs::read(scratch.path(name)).unwrap());
        assert!(merged.len() > 16 * 2000, "{} bytes", merged.len());
        assert!(whole == merged, "{output}");
        let sizes = parts.iter().map(|part| fs::metadata(scratch.path(part)).unwrap().len());
        assert!(sizes.filter(|&size| size > 0).count() > 1);
    }
}

#[test]
fn shards_that_are_none_are_refused() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    for (shard, why) in [
        ("7/7", "7 shards have the numbers 0 to 6"),
        ("0/0", "there is at least one shard"),
        ("1", "a shard is its number and that of all, such as 0/4"),
    ] {
        let ran = scratch.run(&format!("join store --shard {shard}")).ends_with_code(2);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(scratch.run("join store --shard 3/9 --quiet").succeeds().stdout, "");
}

/// Runs a join until it is whole, and stops it each time after a moment. Gives the number of stops.
fn join_and_stop(scratch: &Scratch, signal: &str, moment: Duration) -> u32 {
    let line = "join store -o pairs --resume --memory 16MiB --threads 1 --progress none --quiet";
    let mut stops = 0;
    for round in 0..200 {
        let mut command = scratch.command(line);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let noted = noted(scratch);
        let start = Instant::now();
        // Each round notes something, so that there is an end.
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > moment * (round % 4) && noted != self::noted(scratch) {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // It may have ended before.
        Command::new("kill").args([signal, &child.id().to_string()]).output().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            return stops;
        }
        stops += 1;
        if signal == "-TERM" {
            assert_eq!(output.status.code(), Some(143));
            let stderr = String::from_utf8(output.stderr).unwrap();
            let words = "fpstore: stopped by SIGTERM; give the same command again to go on\n";
            assert_eq!(stderr, words);
        }
        if scratch.path("pairs").exists() {
            // It was killed behind the point where the output came to be.
            assert_eq!(signal, "-KILL");
            if scratch.path("pairs.resume").exists() {
                scratch.run(line).succeeds();
            }
            return stops;
        }
    }
    panic!("no end after {stops} stops");
}

fn noted(scratch: &Scratch) -> Option<Vec<u8>> {
    fs::read(scratch.path("pairs.resume")).ok()
}

#[test]
fn a_join_that_is_stopped_again_and_again_is_the_whole_one_in_the_end() {
    let scratch = Scratch::new();
    scratch.pack("store", &large_set(205), "");
    scratch.run("join store -o all --quiet").succeeds();
    scratch.run("merge-pairs all -o whole --quiet").succeeds();
    let whole = fs::read(scratch.path("whole")).unwrap();
    for signal in ["-TERM", "-KILL"] {
        // A join may end before this process comes to stop it.
        let stopped = (0..20).any(|_| {
            let _ = fs::remove_file(scratch.path("pairs"));
            join_and_stop(&scratch, signal, Duration::from_millis(7)) > 0
        });
        assert!(stopped, "{signal}");
        // Not one pair is written twice.
        let pairs = fs::read_to_string(scratch.path("pairs")).unwrap();
        assert!(in_order(&pairs).as_bytes() == whole, "{signal}");
        let names = scratch.listing("").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names, ["all", "pairs", "store", "whole"]);
        fs::remove_file(scratch.path("pairs")).unwrap();
    }
}

#[test]
fn what_a_join_left_that_was_killed_while_it_wrote_a_note_goes_with_the_next() {
    let scratch = Scratch::new();
    scratch.pack("store", &fingerprints(211, 500), "");
    scratch.write(".tmp-fpstore-dead01", "half a note");
    scratch.run("join store -o pairs --resume --quiet").succeeds();
    let names = scratch.listing("").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names, ["pairs", "store"]);
}

#[test]
fn a_join_that_was_killed_once_its_output_was_there_is_done() {
    let scratch = Scratch::new();
    scratch.pack("store", &fingerprints(210, 500), "");
    let line = "join store -o pairs --resume --quiet";
    // The last note is written before the output has its name.
    let noted = (0..500).find_map(|_| {
        let mut child = scratch.command(line).spawn().unwrap();
        let mut noted = None;
        while child.try_wait().unwrap().is_none() {
            let is_last = |note: &Vec<u8>| note.windows(11).any(|part| part == b"\"next\":null");
            noted = self::noted(&scratch).filter(is_last).or(noted);
        }
        assert!(child.wait().unwrap().success());
        if noted.is_none() {
            fs::remove_file(scratch.path("pairs")).unwrap();
        }
        noted
    });
    scratch.write("pairs.resume", noted.expect("a note that is seen"));
    scratch.run(line).succeeds();
    assert!(!scratch.path("pairs.resume").exists());
    scratch.run(line).fails_with("pairs: exists; name another file, or give --force");
}

#[test]
fn what_a_stopped_join_noted_belongs_to_that_join() {
    let scratch = Scratch::new();
    let set = large_set(206);
    scratch.pack("store", &set, "");
    let line = "join store -o pairs --quiet --memory 16MiB --threads 1";
    let mut child = scratch.command(&format!("{line} --resume")).spawn().unwrap();
    while noted(&scratch).is_none() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(noted(&scratch).is_some(), "the join ended before it was stopped");
    scratch.run(line).fails_with(
        "pairs.resume: notes what a stopped join has done; give --resume to go on with it, or \
         --force to start again",
    );
    scratch.run(&format!("{line} --resume -k 2")).fails_naming(&["pairs.resume", "other options"]);
    scratch.pack("store", &set[1..], "--force");
    scratch.run(&format!("{line} --resume")).fails_naming(&["pairs.resume", "other stores"]);
    scratch.run(&format!("{line} --force")).succeeds();
    assert!(noted(&scratch).is_none());
    scratch.run(line).fails_with("pairs: exists; name another file, or give --force");
}

#[test]
fn a_stopped_join_without_resume_leaves_nothing() {
    let scratch = Scratch::new();
    scratch.pack("store", &large_set(207), "");
    let line = "join store -k 8 -o pairs --memory 16MiB --threads 1 --progress none";
    let mut command = stoppable(&scratch, line);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    // Beside the store its temporary file.
    while scratch.listing("").len() < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(20));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "fpstore: stopped by SIGINT; nothing was changed\n");
    assert_eq!(scratch.listing("").len(), 1);
}

#[test]
fn a_merge_or_dedup_that_is_stopped_while_it_reads_leaves_nothing() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 3], "");
    // More rows than the memory holds.
    let pairs = "0000000000000001\t0000000000000003\t1\n".repeat(600_000);
    for (line, signal, name, code) in [
        ("merge-pairs - -o out --memory 16MiB --progress none", "-INT", "SIGINT", 130),
        ("dedup store --pairs - -o out --progress none", "-TERM", "SIGTERM", 143),
    ] {
        let mut command = stoppable(&scratch, line);
        let mut child =
            command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts");
        let mut input = child.stdin.take().unwrap();
        // Once this is written, all but what a pipe holds is read; then it waits for more.
        input.write_all(pairs.as_bytes()).unwrap();
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        drop(input);
        assert_eq!(output.status.code(), Some(code), "{line}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr, format!("fpstore: stopped by {name}; nothing was changed\n"), "{line}");
        let names = scratch.listing("").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names, ["store"], "{line}");
    }
}

#[test]
fn progress_as_json_tells_fingerprints_and_pairs() {
    let scratch = Scratch::new();
    let set = fingerprints(208, 3000);
    scratch.pack("store", &set, "");
    let ran = scratch.run("join store --progress json --quiet").ends_with_code(0);
    let last: serde_json::Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&last["phase"], &last["done"]), (&"join".into(), &sorted(&set).len().into()));
    assert!(last["total"] == last["done"] && last["seconds_left"].is_number(), "{last}");
}

#[test]
fn files_that_hold_no_pairs_are_refused_with_their_place() {
    let scratch = Scratch::new();
    let good = "0000000000000001\t0000000000000003\t1\n";
    scratch.write("good", good);
    for (bytes, place, what) in [
        (format!("{good}x\n"), "line 2", "is no pair: two fingerprints"),
        (format!("{good}{}", &good[..35]), "line 2", "the file ends within this row"),
        (good.replace("\t1\n", "\t2\n"), "line 1", "the distance is not that of these"),
        (format!("{good}0000000000000001\t0000000000000003\t1\t1\t2\n"), "line 2", "other columns"),
        (
            "\u{1}234567".to_string(),
            "byte 0",
            "neither rows of TSV nor Parquet; give --format u64le",
        ),
        ("hello\n".to_string(), "line 1", "is no pair: two fingerprints"),
        ("1234567890abcdef".repeat(4), "line 1", "is no pair: two fingerprints"),
        ("a\tb\tdistance\nx\n".to_string(), "line 2", "is no pair: two fingerprints"),
        ("a".repeat((1 << 24) + 1), "line 1", "a row of more than 16777216 bytes"),
    ] {
        scratch.write("bad", &bytes);
        scratch.run("merge-pairs good bad -o out").fails_naming(&["bad: ", place, what]);
    }
    scratch.write("bad", "\u{1}234567");
    scratch
        .run("merge-pairs bad --format u64le")
        .fails_naming(&["bad: byte 0: the file ends within this pair of 16 bytes"]);
    scratch
        .run("merge-pairs good --format u64le")
        .fails_naming(&["good: byte 0: these are rows of TSV, not raw integers"]);
    scratch.run("merge-pairs good --format parquet").fails_naming(&["this is no Parquet"]);
    scratch.write("ids", "0000000000000001\t0000000000000003\t1\t5\t6\n");
    scratch.run("merge-pairs good ids").fails_naming(&["ids has ids and good has none"]);
    scratch.run("merge-pairs absent").fails_naming(&["absent: cannot open it"]);
    scratch.run("merge-pairs good --memory 1MiB").fails_naming(&["at least 16 MiB"]);
    scratch.write("empty", "");
    assert_eq!(scratch.run("merge-pairs empty --quiet").succeeds().stdout, "");
    let names = scratch.listing("").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names, ["bad", "empty", "good", "ids"]);
}

#[test]
fn the_output_does_not_replace_what_is_no_file_of_its_own() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1], "");
    scratch.run("join store -o store").fails_with("store: is a directory; name a file");
    scratch.run("join store -o there/").fails_with("there/: is a directory; name a file");
}

/// All values within three flips of one, which have 11,986,528 pairs: too many to be in the gate as
/// rows.
#[test]
fn the_heaviest_cluster_of_three_flips_ends_and_says_what_it_did() {
    let scratch = Scratch::new();
    let centre = 0x9d18_dc59_2abf_a1bb_u64;
    let mut values = BTreeSet::from([centre]);
    for _ in 0..3 {
        let near = values.iter().flat_map(|&value| (0..64).map(move |bit| value ^ 1 << bit));
        values = near.chain(values.iter().copied()).collect();
    }
    let mut records: Vec<u64> = values.iter().copied().collect();
    assert_eq!(records.len(), 43_745);
    let mut random = Random(209);
    while records.len() < 200_000 {
        records.push(records[random.below(43_745) as usize]);
    }
    random.shuffle(&mut records);
    scratch.pack("store", &records, "--ids line");
    let ran = scratch.run("join store -k 3 --as u64le -o pairs --memory 16MiB");
    let words = "fpstore: 11986528 pairs within 3; 43745 fingerprints joined, ";
    assert!(ran.ends_with_code(0).stderr.starts_with(words));
    assert_eq!(fs::metadata(scratch.path("pairs")).unwrap().len(), 16 * 11_986_528);
    let ran = scratch.run("dedup store -k 3 --keep central --memory 20MiB").ends_with_code(0);
    assert_eq!(ran.stdout.lines().filter(|line| line.ends_with("\tkeep")).count(), 1);
    let kept = ran.stdout.lines().find(|line| line.ends_with("\tkeep")).unwrap();
    assert!(kept.starts_with(&format!("{centre:016x}\t")), "{kept}");
    for part in [" 200000 ", " 156255 ", " 43744 ", "number 0 has 43745"] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}
