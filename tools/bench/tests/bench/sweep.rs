//! What is measured is so, and what is said of two sweeps.

use std::fs;

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Scratch, raw};

/// Options of a sweep that takes no time.
pub const SHORT: &str = "--query-count 120 --turn 1 --threads 1,2";
/// A grid of 16 configurations.
pub const GRID: &str =
    "--designs single,24,20,20 --block-bytes 256,1024 --codecs gap,xor --low-bits auto,0";

/// A sweep of `count` fingerprints into the directory `out`, and its results.
pub fn sweep(scratch: &Scratch, count: usize, options: &str) -> Value {
    scratch.write("in", raw(&fingerprints(9, count)));
    let line = format!("in --format u64le --output out {SHORT} --rounds 2 {options}");
    scratch.run(&line).succeeds();
    results(scratch, "out")
}

pub fn results(scratch: &Scratch, directory: &str) -> Value {
    let text = fs::read_to_string(scratch.path(directory).join("results.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn configurations(results: &Value) -> &[Value] {
    results["configurations"].as_array().unwrap()
}

pub fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn every_combination_is_measured_once_and_its_parts_add_up() {
    let scratch = Scratch::new();
    let results = sweep(&scratch, 3000, &format!("{GRID} -k 2,0,5 --cold 2"));
    let configurations = configurations(&results);
    let mut ids: Vec<_> = configurations.iter().map(|m| m["id"].as_str().unwrap()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 16);
    assert_eq!(results["radius"], 2);
    let distinct = float(&results["data"]["distinct"]);
    for m in configurations {
        let size = &m["size"];
        let sum: u64 = ["blocks", "router", "ids", "headers"]
            .iter()
            .map(|part| size[part].as_u64().unwrap())
            .sum();
        assert_eq!(sum, size["bytes"].as_u64().unwrap(), "{m}");
        assert_eq!(float(&size["bytes_per_fingerprint"]), float(&size["bytes"]) / distinct);
        let radii: Vec<_> = m["radii"].as_array().unwrap().iter().map(|at| &at["k"]).collect();
        assert_eq!(radii, [0, 2, 5]);
        assert_eq!(m["warm"]["rounds"].as_array().unwrap().len(), 2);
        assert_eq!(m["warm"]["p999_ns"], Value::Null, "too few samples");
        let threads: Vec<_> = m["throughput"].as_array().unwrap().iter().collect();
        assert_eq!((threads.len(), &threads[1]["threads"]), (2, &Value::from(2)));
        assert!(threads.iter().all(|t| float(&t["queries_per_second"]) > 0.0));
        assert_eq!(m["cold"].is_object(), cfg!(target_os = "linux"), "{m}");
        let matches = |m: &Value| float(&m["work"]["matches"]);
        if m["warm"]["queries"] == 120 {
            assert!(matches(m) > 0.5, "{m}");
        }
        if m["low_bits"] == "0" {
            assert!(m["low_bits_of_tables"].as_array().unwrap().iter().all(|bits| *bits == 0));
            assert_eq!(m["work"]["blocks_decoded"], m["work"]["blocks_scanned"]);
        }
    }
    // The front, by its definition.
    let at = |m: &Value| (float(&m["size"]["bytes_per_fingerprint"]), float(&m["warm"]["p50_ns"]));
    for m in configurations {
        let (bytes, latency) = at(m);
        let better = |other: &Value| {
            let (b, l) = at(other);
            b <= bytes && l <= latency && (b, l) != (bytes, latency)
        };
        assert_eq!(m["on_front"], !configurations.iter().any(better), "{m}");
    }
    let csv = fs::read_to_string(scratch.path("out").join("results.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 16);
    for (row, m) in rows.iter().zip(configurations) {
        assert_eq!(row[0], *m["id"].as_str().unwrap());
        assert_eq!(row[7], m["size"]["bytes"].to_string());
    }
    assert!(float(&results["verified"]["comparisons"]) > 1000.0);
    assert_eq!(fs::read_dir(scratch.path("")).unwrap().count(), 2, "the stores are gone");
}

/// Runs a command that was recommended, with the tool itself; gives the bytes of the store.
fn pack(scratch: &Scratch, command: &str, input: &str) -> u64 {
    let store = scratch.path("store");
    let paths = |word: &str| match word {
        "STORE" => store.clone().into_os_string(),
        word if word == input => scratch.path(input).into_os_string(),
        word => word.into(),
    };
    // As a shell takes them, and nothing but what is printed.
    let split = std::process::Command::new("sh")
        .args(["-c", &format!("printf '%s\\n' {command}")])
        .output()
        .unwrap();
    let words = String::from_utf8(split.stdout).unwrap();
    let _ = std::fs::remove_dir_all(&store);
    fpstore_cli::run(words.lines().map(paths).chain(["--quiet".into()]));
    fpstore::Store::open(&store).unwrap().stats().unwrap().bytes
}

#[test]
fn what_is_recommended_packs_to_the_size_that_was_measured() {
    let scratch = Scratch::new();
    // What no pack makes may dominate what is recommended.
    let grid = GRID.replace("gap,xor", "gap").replace("auto,0", "auto");
    let results = sweep(&scratch, 4000, &format!("{grid} -k 3"));
    let recommended = results["recommended"].as_array().unwrap();
    assert!((1..=3).contains(&recommended.len()));
    for r in recommended {
        let command = r["command"].as_str().unwrap();
        let packed = pack(&scratch, command, "in");
        let measured = configurations(&results).iter().find(|m| m["id"] == r["id"]).unwrap();
        // The sweep packs with a codec that is said, and the manifest remembers that.
        let said = " codec=gap".len() as u64;
        let bytes = measured["size"]["bytes"].as_u64().unwrap();
        let expected = bytes - said.next_multiple_of(8)..=bytes;
        assert!(expected.contains(&packed), "{command}: {packed} for {bytes}");
        assert_eq!(measured["on_front"], true);
    }
    for quick in results["quick"].as_array().unwrap() {
        assert!(float(&quick["from_front"]) <= float(&quick["slower_than_best"]) + 1e-9);
    }
}

#[test]
fn short_tables_are_measured_as_they_pack() {
    let scratch = Scratch::new();
    let grid = "--designs quarters,32,24:short/quarters:short --block-bytes 512 --codecs gap";
    let results = sweep(&scratch, 4000, &format!("{grid} --low-bits auto,16 -k 3"));
    let all = configurations(&results);
    let bytes = |id: &str| {
        let one = all.iter().find(|m| m["id"] == id).unwrap_or_else(|| panic!("no {id}: {all:?}"));
        one["size"]["bytes"].as_u64().unwrap()
    };
    assert_eq!(all.len(), 6);
    assert!(bytes("quarters:short-512-gap-auto") < bytes("quarters-512-gap-auto"));
    let short = sweep(&scratch, 4000, "--designs 32,24:short --block-bytes 512 -k 3");
    for r in short["recommended"].as_array().unwrap() {
        let command = r["command"].as_str().unwrap();
        assert!(command.contains("--design 32,24:short"), "{r}");
        let measured = configurations(&short).iter().find(|m| m["id"] == r["id"]).unwrap();
        assert_eq!(pack(&scratch, command, "in"), measured["size"]["bytes"], "{command}");
    }
    scratch.run("in --format u64le --designs single:short").fails_naming(&["short tables"]);
}

#[test]
fn ids_models_queries_and_samples_of_10000_are_measured() {
    let scratch = Scratch::new();
    scratch.write("queries", raw(&fingerprints(3, 50)));
    let grid = "--designs halves --block-bytes 512 --codecs auto --low-bits auto -k 1 --json";
    for model in ["uniform", "clustered", "skewed"] {
        let line = format!("--{model} 2000 {grid} {SHORT} --queries queries --format u64le");
        let results: Value = serde_json::from_str(&scratch.run(&line).succeeds().stdout).unwrap();
        assert_eq!(results["queries"]["count"], 50);
        assert!(results["data"]["model"].as_str().unwrap().contains("seed"), "{results}");
        assert_eq!(configurations(&results)[0]["size"]["ids"], 0);
    }
    let line = format!("--uniform 2000 {grid} --ids --rounds 5 --query-count 2000 --turn 999");
    let results: Value = serde_json::from_str(&scratch.run(&line).succeeds().stdout).unwrap();
    let m = &configurations(&results)[0];
    assert!(float(&m["size"]["ids"]) > 2000.0 * 11.0 / 8.0, "{m}");
    assert_eq!(m["warm"]["samples"], 10_000);
    assert!(float(&m["warm"]["p999_ns"]) >= float(&m["warm"]["rounds"][0]["p50_ns"]));
}

#[test]
fn the_paper_is_measured_as_it_packs() {
    let scratch = Scratch::new();
    let results =
        sweep(&scratch, 2000, "--designs single --block-bytes 512 --codecs gap -k 3 --paper");
    let ids: Vec<_> = configurations(&results).iter().map(|m| m["id"].as_str().unwrap()).collect();
    for design in ["3of6", "4x4", "2of5", "quarters"] {
        assert!(ids.contains(&format!("{design}-1024-xor-0").as_str()), "{ids:?}");
    }
}

#[test]
fn the_time_limit_leaves_out_what_it_does_not_reach() {
    let scratch = Scratch::new();
    let grid = "--designs single,halves --block-bytes 256 --codecs gap --low-bits auto -k 3";
    let run = scratch.run(&format!("--uniform 3000 {grid} {SHORT} --time-limit 0 --json"));
    let results: Value = serde_json::from_str(&run.succeeds().stdout).unwrap();
    assert_eq!(results["skipped"].as_array().unwrap().len(), 2, "{results}");
    let text = scratch.run(&format!("--uniform 3000 {grid} {SHORT}")).succeeds().stdout;
    assert!(text.contains("single 256 gap") && text.contains("halves 256 gap"), "{text}");
    assert!(text.contains("worth having") && text.contains("fpstore pack INPUT -o STORE -k 3"));
    assert!(text.contains("times as long as predicted"), "{text}");
}

#[test]
fn the_quick_recommendation_prints_commands_that_pack() {
    let scratch = Scratch::new();
    scratch.write("in", raw(&fingerprints(4, 5000)));
    let text = scratch.run("in --quick -k 3 --format u64le").succeeds().stdout;
    let distinct = sorted(&fingerprints(4, 5000)).len();
    assert!(text.starts_with(&format!("{distinct} distinct fingerprints\n")), "once each: {text}");
    let commands: Vec<_> =
        text.lines().filter_map(|line| line.split_once("fpstore pack ")).collect();
    for prefer in ["size", "balanced", "speed"] {
        let chosen: Vec<_> = commands.iter().filter(|(who, _)| who.contains(prefer)).collect();
        let [(_, command)] = chosen[..] else { panic!("{prefer}: {text}") };
        let bytes = pack(&scratch, &format!("fpstore pack {command}"), "in");
        // A pack by itself takes about as much: it does not know how many queries match.
        let line = format!("fpstore pack in --format u64le -o STORE -k 3 --prefer {prefer}");
        let by_itself = pack(&scratch, &line, "in");
        assert!(bytes.abs_diff(by_itself) < by_itself / 20, "{prefer}, {by_itself}: {text}");
    }
    // Of a table with a column of another name, and a name that a shell would take apart.
    let rows = sorted(&fingerprints(4, 5000)).into_iter().map(|one| format!("{one:016x}\n"));
    scratch.write("a b.csv", format!("simhash\n{}", rows.collect::<String>()));
    let mut command = scratch.command("--quick -k 3 --fingerprint-column simhash");
    let ran = command.arg(scratch.path("a b.csv")).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let commands = text.lines().filter_map(|line| line.split_once("fpstore pack "));
    let sizes: Vec<u64> = commands
        .map(|(_, command)| pack(&scratch, &format!("fpstore pack {command}"), "in"))
        .collect();
    assert!((1..=3).contains(&sizes.len()) && sizes.iter().all(|&bytes| bytes > 0), "{text}");
    for prefer in ["size", "balanced", "speed"] {
        assert_eq!(text.matches(prefer).count(), 1, "{text}");
    }
}

/// A copy of results with the latencies of some configurations made larger.
fn scaled(results: &Value, factor: f64, ids: impl Fn(&str) -> bool) -> String {
    let mut results = results.clone();
    for m in results["configurations"].as_array_mut().unwrap() {
        if ids(m["id"].as_str().unwrap()) {
            for round in m["warm"]["rounds"].as_array_mut().unwrap() {
                round["p50_ns"] = Value::from(float(&round["p50_ns"]) * factor);
            }
        }
    }
    results.to_string()
}

#[test]
fn the_records_of_the_repository_are_read() {
    let records = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/record");
    let scratch = Scratch::new();
    let mut read = 0;
    for entry in std::fs::read_dir(records).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let path = path.to_str().unwrap();
            let same = scratch.run(&format!("compare {path} {path}")).succeeds().stdout;
            assert!(same.contains("nothing changed"), "{same}");
            read += 1;
        }
    }
    assert!(read > 0);
}

#[test]
fn a_comparison_names_what_got_slower_and_ends_with_1() {
    let scratch = Scratch::new();
    let mut results = sweep(&scratch, 2000, &format!("{GRID} -k 2"));
    // Quiet rounds, as a machine with nothing else to do would have them.
    for m in results["configurations"].as_array_mut().unwrap() {
        let rounds = m["warm"]["rounds"].as_array_mut().unwrap();
        rounds.resize(6, rounds[0].clone());
        for (number, round) in rounds.iter_mut().enumerate() {
            round["p50_ns"] = Value::from(1000 + number % 3);
            round["reference_ns"] = Value::from(500 + number % 2);
        }
    }
    scratch.write("a", results.to_string());
    scratch.write("one", scaled(&results, 1.1, |id| id == "single-256-gap-auto"));
    scratch.write("all", scaled(&results, 1.04, |_| true));
    let same = scratch.run("compare a a").succeeds().stdout;
    assert!(
        same.contains("16 configurations compared") && same.contains("nothing changed"),
        "{same}"
    );
    let slower = scratch.run("compare a one").ends_with_code(1).stdout;
    assert!(slower.contains("slower: single-256-gap-auto"), "{slower}");
    assert_eq!(slower.matches("slower: ").count(), 1, "{slower}");
    let faster = scratch.run("compare one a").succeeds().stdout;
    assert!(faster.contains("faster: single-256-gap-auto"), "{faster}");
    // A little of each is found by their number.
    let all = scratch.run("compare a all --json").ends_with_code(1).stdout;
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all["slower"].as_array().unwrap().len(), 0, "{all}");
    assert!((float(&all["overall"]) - 4.0).abs() < 0.2, "{all}");
    scratch.run("compare a one --least 12").succeeds();
}

#[test]
fn what_cannot_be_measured_or_compared_is_told() {
    let scratch = Scratch::new();
    scratch.write("empty", "");
    scratch.write("in", raw(&fingerprints(1, 100)));
    scratch.write("text", "{}");
    scratch.run("").fails_naming(&["bench: ", "--uniform N"]);
    scratch.run("in --uniform 5").fails_naming(&["not both"]);
    scratch.run("none").fails_naming(&["none"]);
    scratch.run("empty --format u64le").fails_naming(&["no fingerprints"]);
    scratch.run("in --format u64le --queries empty").fails_naming(&["--queries"]);
    scratch.run("--uniform 50 --output in").fails_naming(&["in", "cannot write"]);
    scratch.run("--uniform 50 --tmp-dir nowhere").fails_naming(&["nowhere", "--tmp-dir"]);
    scratch.run("--uniform 50 --overlay text").fails_naming(&["text", "peers --json"]);
    scratch.run("--uniform 50 --calibration in").fails_naming(&["in"]);
    scratch.run("compare text text").fails_naming(&["text", "results.json"]);
    scratch.run("compare none text").fails_naming(&["none", "check the path"]);
    scratch.run("report text -o out").fails_naming(&["text", "results.json"]);
    for line in [
        "--uniform x",
        "--uniform 5 --clustered 5",
        "in --codecs zip",
        "in --low-bits 12",
        "in --designs nonsense",
        "in -k 65",
        "in --rounds 0",
        "in --quick --output x",
        "compare text",
    ] {
        let ran = scratch.run(line);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{line}");
        ran.ends_with_code(2);
    }
    scratch.run("in --format u64le --block-bytes 1000").fails_naming(&["block bytes", "1000"]);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_sweep_and_removes_its_stores() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let scratch = Scratch::new();
    fs::create_dir(scratch.path("tmp")).unwrap();
    let line = "--uniform 20000 --tmp-dir tmp --rounds 1000 --turn 50";
    let mut child = scratch.command(line).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The header is printed before the first store is packed.
    assert!(lines.next().unwrap().unwrap().contains("20000 distinct"));
    while fs::read_dir(scratch.path("tmp")).unwrap().next().is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on until it is stopped");
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(scratch.path("tmp")).unwrap().count(), 0);
}

#[test]
fn designs_of_32_bits_are_measured() {
    let scratch = Scratch::new();
    // A turn in which even a busy machine gets through all queries, and as many of these as build
    // a hot index.
    let all = SHORT.replace("--turn 1", "--turn 50").replace("120", "480");
    let grid = "--designs single,11,11,10/quarters --block-bytes 256 --codecs gap --low-bits auto";
    scratch
        .run(&format!(
            "--clustered 20000 --bits 32 -k 3,0 {grid} --output out {all} --rounds 2 --ids"
        ))
        .succeeds();
    let results = results(&scratch, "out");
    let configurations = configurations(&results);
    let ids: Vec<_> = configurations.iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["single-256-gap-auto", "thirds-256-gap-auto", "quarters-256-gap-auto"]);
    for (m, tables) in configurations.iter().zip([1, 3, 4]) {
        assert_eq!(m["tables"], tables);
        let (size, predicted) = (&m["size"], &m["predicted"]);
        let (own, ids) = (float(&size["bytes_per_fingerprint"]), float(&size["ids"]) / 20_000.0);
        assert!(own - ids < 4.0 * tables as f64, "{m}");
        let predicted = float(&predicted["bytes_per_fingerprint"]);
        assert!((predicted / (own - ids) - 1.0).abs() < 0.15, "{predicted}: {m}");
        assert!(float(&m["warm"]["p50_ns"]) > 0.0, "{m}");
        assert!(float(&m["work"]["blocks_scanned"]) > 0.0, "{m}");
        // In so small a set most searches go by the hot index.
        assert!(float(&m["work"]["keys_compared"]) > 0.0, "{m}");
    }
    // Each of them gave the answers of brute force, and the others those of the first.
    let verified = &results["verified"];
    assert_eq!(verified["by_brute_force"], 100);
    assert!(float(&verified["comparisons"]) >= 3.0 * 100.0 + 2.0 * 20.0, "{verified}");
    let quick = scratch.run("--uniform 2e5 --bits 32 -k 2 --quick").succeeds().stdout;
    assert!(quick.contains("--bits 32 -k 2 --design "), "{quick}");
    scratch.run("--uniform 50 --bits 32 --designs 30,34").fails_naming(&["30,34"]);
}

#[test]
fn stores_of_other_widths_are_measured_by_their_parts() {
    let scratch = Scratch::new();
    for (bits, k, options) in
        [(256u32, 31, ""), (128, 8, "--parts 5,6"), (32, 3, "--parts"), (64, 3, "--parts")]
    {
        let sweep = format!("--uniform 20000 --bits {bits} -k {k},0,{} {options} --cold 2", k / 2);
        scratch.run(&format!("{sweep} --output out-{bits} {SHORT} --rounds 2")).succeeds();
        let results = results(&scratch, &format!("out-{bits}"));
        assert_eq!((&results["data"]["bits"], &results["radius"]), (&bits.into(), &k.into()));
        let configurations = configurations(&results);
        let ids: Vec<_> = configurations.iter().map(|m| m["id"].as_str().unwrap()).collect();
        match options {
            "--parts 5,6" => assert_eq!(ids, ["parts-5", "parts-6"]),
            _ => {
                assert!(!ids.is_empty() && ids.iter().all(|id| id.starts_with("parts-")), "{ids:?}")
            }
        }
        for m in configurations {
            let (size, predicted) = (&m["size"], &m["predicted"]);
            let own = float(&size["bytes_per_fingerprint"]);
            let sum: f64 =
                ["blocks", "router", "headers"].iter().map(|part| float(&size[part])).sum();
            assert_eq!(sum, float(&size["bytes"]), "{m}");
            assert!(
                own > f64::from(bits / 8) && float(&size["bound_bits"]) > f64::from(bits) - 15.0,
                "{m}"
            );
            assert!((float(&predicted["bytes_per_fingerprint"]) / own - 1.0).abs() < 0.1, "{m}");
            assert!(float(&predicted["warm_ns"]) > 0.0 && float(&m["warm"]["p50_ns"]) > 0.0, "{m}");
            // Equal ones are looked up where parts are, but a small set of narrow ones is compared
            // whole.
            let groups = float(&m["radii"][0]["groups_probed"]);
            assert!(m["tables"] == 0 || bits == 32 || groups > 0.0, "{m}");
            assert!(float(&m["work"]["rows_compared"]) > 0.5, "{m}");
            assert_eq!(
                (&m["work"]["blocks_scanned"], &m["block_bytes"]),
                (&0.0.into(), &0.into()),
                "{m}"
            );
            assert!(float(&m["work"]["matches"]) > 0.5, "{m}");
        }
    }
    scratch
        .run("--uniform 2000 --bits 256 --paper --output out")
        .fails_with("the paper's designs are tables of 64 bits; leave --paper out");
    scratch
        .run("--uniform 2000 --bits 256 -k 31 --parts 11,99 --output out")
        .fails_with("--parts 99: a store of 256 bits has up to 42 parts");
    scratch.run("--uniform 2000 --bits 32 -k 33 --output out").fails_with(
        "invalid value '33' for '-k <K>': a distance is a whole number of bits, from 0 to 32; see \
         `fpstore bench --help`",
    );
    let quick = scratch.run("--uniform 2e5 --bits 128 -k 8 --quick").succeeds().stdout;
    assert!(quick.contains("--bits 128 -k 8 --design parts:"), "{quick}");
}

#[cfg(unix)]
#[test]
fn results_do_not_replace_what_the_sweep_reads() {
    let scratch = Scratch::new();
    scratch.write("in.txt", "0000000000000001\n00000000000000ff\n");
    fs::create_dir(scratch.path("out")).unwrap();
    scratch.write("out/results.csv", "0000000000000001\n");
    fs::hard_link(scratch.path("out/results.csv"), scratch.path("out/report.html")).unwrap();
    for (inputs, name) in [
        ("in.txt --queries out/results.csv", "out/results.csv: is an input"),
        ("out/results.csv", "out/results.csv: is an input"),
    ] {
        scratch.run(&format!("{inputs} --output out")).fails_naming(&[name, "name another file"]);
    }
    scratch.run("report out/results.csv -o out").fails_naming(&["out/report.html: is the input"]);
    assert_eq!(fs::read(scratch.path("out/results.csv")).unwrap(), b"0000000000000001\n");
    assert_eq!(scratch.listing("out").len(), 2);
}
