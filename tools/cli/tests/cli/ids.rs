//! Ids, from the inputs to what `query`, `dump` and `stat` print, against a map.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::oracle::{Random, matches};
use crate::writers::gzip;
use crate::{Scratch, hex};

type Map = BTreeMap<u64, BTreeSet<u64>>;

fn joined(ids: &BTreeSet<u64>) -> String {
    ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// What `dump --as ids` prints.
fn dumped(map: &Map) -> String {
    map.iter().map(|(fp, ids)| format!("{fp:016x}\t{}\n", joined(ids))).collect()
}

/// What `query` prints.
fn rows(map: &Map, queries: &[u64], k: u32) -> String {
    let set: Vec<u64> = map.keys().copied().collect();
    let of_query = |&query: &u64| {
        let found = matches(&set, query, k).into_iter();
        found.map(move |(distance, fp)| (query, fp, distance))
    };
    let rows = queries.iter().flat_map(of_query);
    rows.map(|(query, fp, distance)| {
        format!("{query:016x}\t{fp:016x}\t{distance}\t{}\n", joined(&map[&fp]))
    })
    .collect()
}

/// A record of an input; `None` where it is faulty.
type Record = Option<(u64, u64)>;

/// An input in one of the formats that have columns; columnar ones leave faulty records empty.
fn input(records: &[Record], format: usize) -> (&'static str, Vec<u8>) {
    let lines = |write: &dyn Fn(&str, u64) -> String| -> Vec<u8> {
        let line = |record: &Record| match record {
            Some((fp, id)) => write(&format!("{fp:016x}"), *id),
            None => write("zz", 7),
        };
        records.iter().map(line).collect::<String>().into_bytes()
    };
    match format {
        0 => {
            let text = lines(&|fp, id| format!("\"a, b\",{id},{fp}\n"));
            ("in.csv", [b"x,id,fingerprint\n".to_vec(), text].concat())
        }
        1 => {
            let text = lines(&|fp, id| format!("{fp}\t{id}\n"));
            ("in.tsv.gz", gzip(&[b"fingerprint\tid\n".to_vec(), text].concat()))
        }
        2 => ("in.jsonl", lines(&|fp, id| format!("{{\"id\":{id},\"fingerprint\":\"{fp}\"}}\n"))),
        3 => {
            let text = lines(&|fp, id| format!("{{\"fingerprint\":\"{fp}\",\"id\":\"{id}\"}}\n"));
            ("in.json.gz", gzip(&text))
        }
        #[cfg(feature = "arrow")]
        4 => ("in.arrow", crate::writers::batches::file(&[pairs(records)], None)),
        #[cfg(feature = "parquet")]
        5 => {
            let compression = ::parquet::basic::Compression::SNAPPY;
            ("in.parquet", crate::writers::batches::parquet(&[pairs(records)], compression))
        }
        _ => input(records, 0),
    }
}

#[cfg(feature = "arrow")]
fn pairs(records: &[Record]) -> arrow_array::RecordBatch {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, RecordBatch, UInt64Array};

    let column = |of: fn(&(u64, u64)) -> u64| -> ArrayRef {
        Arc::new(records.iter().map(|record| record.as_ref().map(of)).collect::<UInt64Array>())
    };
    let columns = [("id", column(|pair| pair.1)), ("fingerprint", column(|pair| pair.0))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Random records: near duplicates, several ids, pairs that come again, one in 40 faulty.
fn records(random: &mut Random, count: usize, id_bits: u64) -> Vec<Record> {
    let bases: Vec<u64> = (0..1 + count / 3).map(|_| random.next()).collect();
    let record = |random: &mut Random| {
        let base = bases[random.below(bases.len() as u64) as usize];
        (random.below(40) > 0).then(|| (random.near(base, 2), random.next() >> (64 - id_bits)))
    };
    (0..count).map(|_| record(random)).collect()
}

#[test]
fn pairs_of_several_inputs_in_any_format_are_those_of_a_map() {
    let scratch = Scratch::new();
    for round in 0..8 {
        let mut random = Random(100 + round);
        // One round of four does not fit into the least memory.
        let (count, little) =
            if round % 4 == 0 { (60_000, "--memory 16MiB --threads 4") } else { (900, "") };
        let id_bits = [3, 20, 64][random.below(3) as usize];
        let (mut by_column, mut by_line) = (Map::new(), Map::new());
        let (mut names, mut number, mut faulty) = (Vec::new(), 0, 0);
        for part in 0..3 {
            let records = records(&mut random, count, id_bits);
            for record in &records {
                match record {
                    Some((fp, id)) => {
                        by_column.entry(*fp).or_default().insert(*id);
                        by_line.entry(*fp).or_default().insert(number);
                    }
                    None => faulty += 1,
                }
                number += 1;
            }
            let (name, bytes) = input(&records, random.below(6) as usize);
            let name = format!("{part}-{name}");
            scratch.write(&name, bytes);
            names.push(name);
        }
        for (options, map) in [("--id-column id", &by_column), ("--ids line", &by_line)] {
            let line = format!(
                "pack {} -o store --force --json --on-error skip --quiet {options} {little}",
                names.join(" ")
            );
            let ran = scratch.run(&line).ends_with_code(0);
            assert_eq!(ran.stderr, format!("fpstore: {faulty} of {number} records skipped\n"));
            let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
            let ids: usize = map.values().map(BTreeSet::len).sum();
            assert_eq!(summary["read"], number - faulty, "{summary}");
            assert_eq!(summary["skipped"], faulty, "{summary}");
            assert_eq!((&summary["distinct"], &summary["ids"]), (&json!(map.len()), &json!(ids)));
            assert_eq!(summary["temporary_bytes"] != 0, !little.is_empty(), "{summary}");
            let dump = scratch.run("dump store --as ids").succeeds().stdout;
            assert!(dump == dumped(map), "round {round}, {options}");
            scratch.run("verify store --quiet").succeeds();
            let queries: Vec<u64> = map.keys().step_by(map.len() / 7).map(|fp| fp ^ 1).collect();
            let list: String = queries.iter().map(|query| format!(" {query:016x}")).collect();
            let ran = scratch.run(&format!("query store -k 2{list}")).succeeds();
            assert!(ran.stdout == rows(map, &queries, 2), "round {round}, {options}: {ran:?}");
        }
    }
}

#[test]
fn numbers_of_lines_count_skipped_ones_over_all_inputs() {
    let scratch = Scratch::new();
    scratch.write("a", "10\n11\nx\n10\n");
    scratch.write("b", hex(&[11, u64::MAX]));
    let line = "pack a -o store --ids line --on-error skip --quiet";
    scratch.run(line).ends_with_code(0);
    let expected = "000000000000000a\t0,3\n000000000000000b\t1\n";
    assert_eq!(scratch.run("dump store --as ids").succeeds().stdout, expected);
    scratch.write("a", "10\n11\n12\n10\n");
    scratch.run("pack a b -o store --force --ids line --quiet").succeeds();
    let expected = "000000000000000a\t0,3\n000000000000000b\t1,4\n000000000000000c\t2\n\
                    ffffffffffffffff\t5\n";
    assert_eq!(scratch.run("dump store --as ids").succeeds().stdout, expected);
}

/// A store of two fingerprints with the ids 5, 2^64 - 1 and 7.
fn small(scratch: &Scratch) {
    let csv = "id,fp\n5,0x10\n18446744073709551615,0x10\n7,0x11\n5,0x10\n";
    scratch.write("small.csv", csv);
    let line = "pack small.csv -o small --id-column id --fingerprint-column fp --quiet";
    scratch.run(line).succeeds();
}

#[test]
fn query_prints_ids_as_the_fourth_column_and_as_strings_in_json() {
    let scratch = Scratch::new();
    small(&scratch);
    let (a, b) = ("0000000000000010", "0000000000000011");
    for (options, first, second) in [
        ("", "\t5,18446744073709551615", "\t7"),
        ("--limit-ids 2", "\t5,18446744073709551615", "\t7"),
        ("--limit-ids 1", "\t5,...", "\t7"),
        ("--limit-ids 0", "", ""),
    ] {
        let ran = scratch.run(&format!("query small 0x10 -k 1 {options}")).succeeds();
        assert_eq!(ran.stdout, format!("{a}\t{a}\t0{first}\n{a}\t{b}\t1{second}\n"), "{options}");
    }
    let count = scratch.run("query small 0x10 -k 1 --as count").succeeds().stdout;
    assert_eq!(count, format!("{a}\t2\n"));
    let json = scratch.run("query small 0x10 -k 1 --as json --limit-ids 1").succeeds().stdout;
    let expected = json!({"query": a, "matches": [
        {"fingerprint": a, "distance": 0, "ids": ["5"], "more_ids": true},
        {"fingerprint": b, "distance": 1, "ids": ["7"]},
    ]});
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
    let json = scratch.run("query small 0xff --as json --limit-ids 0").ends_with_code(1).stdout;
    assert_eq!(json, "{\"query\":\"00000000000000ff\",\"matches\":[]}\n");
}

#[test]
fn dump_prints_ids_if_asked_to() {
    let scratch = Scratch::new();
    small(&scratch);
    let (a, b) = ("0000000000000010", "0000000000000011");
    assert_eq!(scratch.run("dump small").succeeds().stdout, format!("{a}\n{b}\n"));
    let json = scratch.run("dump small --as json,ids --limit-ids 1").succeeds().stdout;
    let expected = format!(
        "{{\"fingerprint\":\"{a}\",\"ids\":[\"5\"],\"more_ids\":true}}\n\
         {{\"fingerprint\":\"{b}\",\"ids\":[\"7\"]}}\n"
    );
    assert_eq!(json, expected);
    let json = scratch.run("dump small --as json").succeeds().stdout;
    assert_eq!(json, format!("{{\"fingerprint\":\"{a}\"}}\n{{\"fingerprint\":\"{b}\"}}\n"));
    scratch
        .run("dump small --as u64le,ids")
        .fails_with("dump: u64le has no room for ids; give --as tsv, json or parquet");
    scratch.pack("none", &[1], "");
    scratch.run("dump none --as ids").fails_with("none: has no ids; leave ids out (--as)");
    assert_eq!(scratch.run("query none 0x1").succeeds().stdout.matches('\t').count(), 2);
}

#[test]
fn stat_tells_the_parts_of_the_ids() {
    let scratch = Scratch::new();
    small(&scratch);
    let stat: Value =
        serde_json::from_str(&scratch.run("stat small --json").succeeds().stdout).unwrap();
    let ids = &stat["segments"][0]["ids"];
    let field = |name: &str| ids[name].as_u64().unwrap();
    assert_eq!((field("ids"), field("id_bits"), field("id_bytes")), (3, 64, 24));
    let parts = ["id_bytes", "multiplicity_bytes", "rank_bytes", "other_bytes"];
    assert_eq!(parts.map(field).iter().sum::<u64>(), field("file_bytes"));
    let files = scratch.listing("small");
    assert!(
        files.iter().any(|(name, bytes)| name.ends_with(".fpi") && *bytes == field("file_bytes"))
    );
    assert_eq!((&stat["id_kind"], &stat["name_bytes"]), (&json!("numbers of 64 bits"), &json!(0)));
    let text = scratch.run("stat small").succeeds().stdout;
    assert!(text.contains("\n  ids: 3, 448.00 bits per fingerprint"), "{text}");
    let text = scratch.run("verify small").succeeds().stdout;
    assert!(text.contains("\nchecked 3 ids: "), "{text}");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let scratch = Scratch::new();
    scratch.write("in", "0x10\n");
    for (options, part) in [
        ("--ids none --id-column id", "--ids none wants none"),
        ("--ids line --id-column id", "two kinds of ids"),
        ("--ids line --id-type text", "name it with --id-column"),
        ("--id-type uuid", "name it with --id-column"),
        ("--id-column id", "in: a list in hexadecimal digits has no columns of ids"),
        ("--ids column", "in: a list in hexadecimal digits has no columns of ids"),
    ] {
        let ran = scratch.run(&format!("pack in -o store {options}"));
        assert!(ran.stderr.contains(part), "{options}: {ran:?}");
        ran.ends_with_code(2);
        assert_eq!(scratch.listing("").len(), 1);
    }
    small(&scratch);
    scratch.run("query small 0x10 --limit-ids 0 --limit-ids 1").ends_with_code(2);
    scratch.write("text.csv", "id,fingerprint\n7,0x1\na,0x2\n");
    scratch.run("pack text.csv -o store --id-column id").fails_with(
        "text.csv: line 3, column \"id\": \"a\" is no number from 0 to 18446744073709551615 \
         without zeros in front, which the first id was (names need --id-type text); correct it, or \
         give --on-error skip",
    );
}

#[test]
fn a_dry_run_tells_what_ids_need() {
    let scratch = Scratch::new();
    let mut random = Random(9);
    let csv: String =
        (0..200_000).map(|line| format!("{:016x},key {line:06}\n", random.next())).collect();
    scratch.write("in.csv", format!("fingerprint,id\n{csv}"));
    for options in ["--ids line", "--ids line --memory 16MiB", "--id-column id"] {
        // A dry run does not see the set, and may choose other blocks where two sizes are as good.
        let blocks = "--design quarters --block-bytes 1024";
        let line = format!("pack in.csv -o store --force --json {blocks} {options}");
        let told = scratch.run(&format!("{line} --dry-run")).succeeds().stdout;
        let told: Value = serde_json::from_str(&told).unwrap();
        assert!(!scratch.path("store").exists());
        let done: Value = serde_json::from_str(&scratch.run(&line).packs_telling().stdout).unwrap();
        let near = |told: &Value, done: u64| {
            let told = told.as_f64().unwrap();
            assert!((told - done as f64).abs() <= 0.05 * done as f64, "{told} is told of {done}");
        };
        let names = scratch.listing("store").into_iter().filter(|(name, _)| name.ends_with(".fpn"));
        let names: u64 = names.map(|(_, bytes)| bytes).sum();
        near(&told["store_bytes"], done["bytes"].as_u64().unwrap() - names);
        near(&told["id_bytes"], done["id_bytes"].as_u64().unwrap());
        // The text of names is the most that they take.
        assert_eq!(names > 0, options.contains("column"));
        assert!(told["name_bytes"].as_u64().unwrap() >= names);
        if names == 0 {
            near(&told["temporary_bytes"], done["temporary_bytes"].as_u64().unwrap());
        }
        fs::remove_dir_all(scratch.path("store")).unwrap();
    }
}

#[test]
fn progress_has_a_phase_for_the_ids() {
    let scratch = Scratch::new();
    scratch.write("in", hex(&(0..50_000).collect::<Vec<u64>>()));
    let ran = scratch.run("pack in -o store --quiet --progress json --ids line --design halves");
    let lines: Vec<Value> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut phases: Vec<&str> = lines.iter().map(|line| line["phase"].as_str().unwrap()).collect();
    phases.dedup();
    assert_eq!(phases, ["read", "sort", "encode", "ids", "encode", "sync"]);
    let last = lines.iter().rfind(|line| line["phase"] == "ids").unwrap();
    assert_eq!((&last["done"], &last["total"]), (&json!(50_000), &json!(50_000)));
}

#[cfg(all(target_os = "linux", feature = "parquet"))]
#[test]
fn what_a_reader_of_parquet_buffers_is_counted_in_the_memory() {
    let scratch = Scratch::new();
    let mut random = Random(17);
    let records: Vec<Record> = (0..1_500_000).map(|id| Some((random.next(), id))).collect();
    let compression = ::parquet::basic::Compression::UNCOMPRESSED;
    scratch.write("in", crate::writers::batches::parquet(&[pairs(&records)], compression));
    let line = "pack in -o store --id-column id --quiet --threads 2 --design halves --memory 36MiB";
    let peak = crate::peak::peak_of(&mut scratch.command(line));
    assert!((4 << 10..=36 << 10).contains(&peak), "{peak} KiB");
}

#[cfg(target_os = "linux")]
#[test]
fn two_million_ids_of_one_fingerprint_are_printed_in_little_memory() {
    let scratch = Scratch::new();
    let count = 2_000_000u64;
    let mut set = vec![0xABCD; count as usize];
    set.extend([0xABCC, 0xFF]);
    scratch.write("in", hex(&set));
    scratch.run("pack in -o store --ids line --quiet --memory 32MiB").succeeds();
    for line in
        ["query store 0xABCC -k 1", "dump store --as ids", "query store 0xABCC -k 1 --as json"]
    {
        let mut command = scratch.command(line);
        let out = fs::File::create(scratch.path("out")).unwrap();
        let peak = crate::peak::peak_of(command.stdout(Stdio::from(out)));
        // The ids alone would take 16,000,000 bytes, as text or as integers.
        assert!((1..8 << 10).contains(&peak), "{peak} KiB, {line}");
        let text = fs::read_to_string(scratch.path("out")).unwrap();
        let quote = if line.ends_with("json") { "\"" } else { "" };
        let ids: Vec<String> = (0..count).map(|id| format!("{quote}{id}{quote}")).collect();
        assert!(text.contains(&ids.join(",")), "{line}");
        assert!(text.contains(&count.to_string()), "{line}");
    }
    let few = scratch.run("query store 0xABCC -k 1 --limit-ids 2").succeeds().stdout;
    let expected = "000000000000abcc\t000000000000abcc\t0\t2000000\n\
                    000000000000abcc\t000000000000abcd\t1\t0,1,...\n";
    assert_eq!(few, expected);
}
