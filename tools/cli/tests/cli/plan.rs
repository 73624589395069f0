//! `plan`: what it recommends, and that a pack does what it says.

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Ran, Scratch, raw};

fn json(scratch: &Scratch, line: &str) -> Value {
    serde_json::from_str(&scratch.run(line).succeeds().stdout).unwrap()
}

/// The cells of the row of a design.
fn row<'a>(text: &'a str, design: &str) -> Vec<&'a str> {
    let rows = text.lines().map(|line| line.trim_start_matches(['*', ' ']));
    let row = rows.map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()));
    row.map(Iterator::collect::<Vec<_>>).find(|row| row.first() == Some(&design)).unwrap()
}

#[test]
fn the_table_of_the_paper_is_printed() {
    let text = Scratch::new().run("plan --n 2^34 -k 3 --details").succeeds().stdout;
    for (design, tables, prefix, candidates) in [
        ("3of6", "20", "31-33", "8"),
        ("4x4", "16", "28", "64"),
        ("2of5", "10", "25-26", "512"),
        ("quarters", "4", "16", "262k"),
    ] {
        let row = row(&text, design);
        assert_eq!([row[1], row[8], row[9], row[10]], [tables, prefix, "0", candidates], "{text}");
    }
}

#[test]
fn rows_say_what_a_store_takes_and_details_say_how_queries_find_matches() {
    let scratch = Scratch::new();
    let text = scratch.run("plan --n 1e8 -k 8").succeeds().stdout;
    let names = text.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(names, ["design", "tables", "block", "store", "B/fp", "router", "warm", "cold"]);
    let details = scratch.run("plan --n 1e8 -k 8 --details").succeeds().stdout;
    let report = json(&scratch, "plan --n 1e8 -k 8 --json");
    for name in ["single", "halves", "2of5", "3of6"] {
        let mut plans = report["plans"].as_array().unwrap().iter();
        let best = plans.find(|plan| plan["design"] == name).unwrap();
        let thresholds: Vec<_> =
            best["tables"].as_array().unwrap().iter().map(|t| t["threshold"].as_u64()).collect();
        let used: Vec<u64> = thresholds.iter().copied().flatten().collect();
        let (least, most) = (used.iter().min(), used.iter().max());
        let cell = row(&details, name)[9];
        if best["scans"] == true {
            assert_eq!(cell, "all are read");
            continue;
        }
        let bits = if least == most {
            format!("{}", used[0])
        } else {
            format!("{}-{}", least.unwrap(), most.unwrap())
        };
        match used.len() == thresholds.len() {
            true => assert_eq!(cell, bits, "{details}"),
            false => assert_eq!(cell, format!("{bits} in {} of {}", used.len(), thresholds.len())),
        }
    }
    // Nothing is written as a power of ten, nor as a list of dashes.
    assert!(
        !details.contains("e-") && !details.contains("-x") && !details.contains("e9"),
        "{details}"
    );
}

#[test]
fn one_plan_is_recommended_with_its_command() {
    let scratch = Scratch::new();
    let text = scratch.run("plan --n 8e9").succeeds().stdout;
    assert!(text.starts_with("8000000000 fingerprints, queries within k = 3 bits\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with('*')).count(), 1, "{text}");
    let report = json(&scratch, "plan --n 8_000_000_000 --json");
    let plans = report["plans"].as_array().unwrap();
    let best: Vec<_> = plans.iter().filter(|plan| plan["recommended"] == true).collect();
    assert_eq!(best.len(), 1);
    assert_eq!(best[0]["design"], "halves");
    let command = "fpstore pack INPUT -o STORE -k 3";
    assert_eq!(report["recommended"], *command);
    assert_eq!(text.lines().last(), Some(command));
    for name in fpstore::Design::NAMES {
        assert!(plans.iter().any(|plan| plan["design"] == *name), "{name}");
    }
}

#[test]
fn preference_and_budget_change_the_recommendation() {
    let scratch = Scratch::new();
    let best = |options: &str| {
        let report = json(&scratch, &format!("plan --n 1e8 --json {options}"));
        report["plans"][0]["bytes_per_fingerprint"].as_f64().unwrap()
    };
    assert!(best("--prefer size") < best("--prefer speed"));
    assert!(best("--prefer speed --budget 11") <= 11.0);
    let text = scratch.run("plan --n 1e8 --budget 1").succeeds().stdout;
    assert!(text.ends_with("no design is within the budget; give more, or none\n"), "{text}");
    let sizes = json(&scratch, "plan --n 1e6 --json --block-bytes 512,8192");
    let sizes = sizes["plans"].as_array().unwrap().iter().map(|plan| plan["block_bytes"].as_u64());
    assert!(sizes.clone().all(|size| [Some(512), Some(8192)].contains(&size)));
    assert!(sizes.clone().any(|size| size == Some(8192)));
}

#[test]
fn what_a_hot_index_makes_of_it_is_told() {
    let scratch = Scratch::new();
    for prefer in ["size", "balanced", "speed"] {
        let line = format!("plan --n 20000 --prefer {prefer}");
        let report = json(&scratch, &format!("{line} --json"));
        let best = &report["plans"][0];
        assert_eq!(best["design"], "single", "{report}");
        assert!(report["hot_query_ns"].as_f64() < best["warm_ns"].as_f64(), "{report}");
        assert!(scratch.run(&line).succeeds().stdout.contains("hot index, each takes about "));
    }
    assert!(json(&scratch, "plan --n 1e9 --json")["hot_query_ns"].is_null());
    assert!(!scratch.run("plan --n 1e9").succeeds().stdout.contains("hot index"));
}

#[test]
fn the_command_for_a_sample_packs_it_in_the_recommended_design() {
    let scratch = Scratch::new();
    scratch.write("in.u64", raw(&fingerprints(1, 20_000)));
    let text = scratch.run("plan --sample in.u64 -k 4").succeeds().stdout;
    let command = text.lines().last().unwrap();
    assert_eq!(command, "fpstore pack in.u64 -o STORE -k 4");
    let line = command.strip_prefix("fpstore ").unwrap().replace("STORE", "planned");
    scratch.run(&format!("{line} --quiet")).succeeds();
    let design = text.lines().find_map(|line| line.strip_prefix('*')).unwrap();
    let stat = json(&scratch, "stat planned --json");
    assert_eq!(stat["segments"][0]["design"], *design.split_whitespace().next().unwrap());
    assert_eq!(stat["radius"], 4);
}

#[cfg(unix)]
#[test]
fn the_command_runs_as_it_is_printed_whatever_the_sample_is() {
    let scratch = Scratch::new();
    let set = fingerprints(2, 5000);
    let csv = |header: &str, digits: &dyn Fn(u64) -> String| {
        let rows = set.iter().enumerate();
        let rows = rows.map(|(at, &one)| format!("{at},{}\n", digits(one)));
        format!("{header}{}", rows.collect::<String>())
    };
    let hexadecimal = |one: u64| format!("{one:016x}");
    scratch.write("a table's.csv", csv("n,simhash\n", &hexadecimal));
    scratch.write("no-header.csv", csv("", &|one| one.to_string()));
    let half = |one: u64| format!("{:08x}", one as u32);
    scratch.write("narrow.csv", csv("n,fingerprint\n", &half));
    scratch.write("wide.csv", csv("n,hash\n", &|one| format!("{one:064x}")));
    scratch.write(
        "bad.txt",
        format!("{}\nzz\n", set.iter().map(|&one| hexadecimal(one)).collect::<Vec<_>>().join("\n")),
    );
    scratch.write("raw", raw(&set));
    for (input, options) in [
        ("a table's.csv", "--fingerprint-column simhash"),
        ("no-header.csv", "--format auto,no-header,dec --fingerprint-column 2 "),
        ("narrow.csv", "--bits 32"),
        ("wide.csv", "--fingerprint-column hash --bits 256"),
        ("bad.txt", "--on-error skip --format hex"),
        ("raw", "--format u64le --block-bytes 512,1024"),
        ("raw", "--format u64le --prefer size -k 7"),
    ] {
        let _ = std::fs::remove_dir_all(scratch.path("STORE"));
        let mut plan = scratch.command(&format!("plan {options} --sample"));
        let planned = Ran::new(options, plan.arg(input).output().unwrap()).ends_with_code(0);
        let command = planned.stdout.lines().last().unwrap().to_string();
        scratch.run_printed(&command).ends_with_code(0);
        let stat = json(&scratch, "stat STORE --json");
        let narrow: Vec<u64> = set.iter().map(|&one| u64::from(one as u32)).collect();
        let packed = if input == "narrow.csv" { &narrow } else { &set };
        assert_eq!(stat["fingerprints"], sorted(packed).len(), "{command}");
    }
}

#[test]
fn what_cannot_be_planned_is_told() {
    let scratch = Scratch::new();
    scratch.run("plan").fails_naming(&["give --n N, or --sample FILE"]);
    scratch.run("plan --n 5 --block-bytes 1000").fails_naming(&["block bytes", "1000"]);
    scratch.run("plan --n 5 --budget 0").fails_naming(&["budget"]);
    for line in ["plan --n x", "plan --n 2^64", "plan --n 5 -k 65", "plan --n 5 --prefer cheap"] {
        let ran = scratch.run(line);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{line}");
        ran.ends_with_code(2);
    }
}

#[test]
fn a_join_by_spark_is_predicted_with_its_shuffle_and_skew() {
    let scratch = Scratch::new();
    let text = scratch.run("plan --n 8e9 --spark 200").succeeds().stdout;
    assert!(
        text.starts_with(
            "8000000000 fingerprints of 64 bits, all pairs within k = 3 bits, 200 executors"
        ),
        "{text}"
    );
    let names = text.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        names,
        ["parts", "tables", "top", "tasks", "task", "sent", "shuffled", "skew", "CPU", "time"]
    );
    let report = json(&scratch, "plan --n 8e9 --spark 100x4 --json");
    let plans = report["plans"].as_array().unwrap();
    let shapes: Vec<_> = plans
        .iter()
        .map(|plan| {
            [&plan["parts"], &plan["tables"], &plan["top_bits"]].map(|n| n.as_u64().unwrap())
        })
        .collect();
    assert_eq!(shapes[..3], [[4, 4, 16], [5, 10, 25], [6, 20, 31]]);
    assert_eq!(plans[0]["recommended"], true);
    assert_eq!(plans[0]["bytes_shuffled"], 256_000_000_000u64);
    assert_eq!(plans[0]["amplification"], 4.0);
    // A sample of which a hundredth lies in one place.
    let crowd = (0..50u64).map(|i| (i << 5) | (0xABCD << 48));
    let sample: Vec<u64> = fingerprints(7, 5_000).into_iter().chain(crowd).collect();
    scratch.write("sample.u64", raw(&sample));
    let report =
        json(&scratch, "plan --sample sample.u64 --format u64le --n 1e7 --spark 200 --json");
    let plan = &report["plans"][0];
    assert!(
        plan["splits"].as_u64().unwrap() >= 2 && plan["skew"].as_f64().unwrap() < 3.0,
        "{report}"
    );
    assert!(plan["amplification"].as_f64().unwrap() > 4.0, "{report}");
    scratch.run("plan --n 1e6 --spark 3 --budget 9").fails_naming(&["--spark", "--budget"]);
    for wrong in ["0", "3x0", "x", "3x4x5"] {
        scratch.run(&format!("plan --n 1e6 --spark {wrong}")).fails_naming(&["--spark"]);
    }
}

#[test]
fn a_batch_by_spark_is_predicted_for_some_numbers_of_shards() {
    let scratch = Scratch::new();
    let text = scratch.run("plan --n 8e9 --spark 200x2 --queries 1e6").succeeds().stdout;
    let start = "8000000000 fingerprints of 64 bits in shards, 1000000 queries within k = 3 bits, 200 executors with 2 cores\n";
    assert!(text.starts_with(start), "{text}");
    let names = text.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(names, ["shards", "rows", "store", "sent", "task", "CPU", "time"]);
    assert_eq!(text.lines().filter(|line| line.starts_with('*')).count(), 1, "{text}");
    for (line, bits, count, queries, slots, expected) in [
        ("--n 8e9 --queries 1e6", 64, 8_000_000_000u64, 1_000_000u64, 200.0, [120, 200, 400]),
        ("--n 8e9 --queries 4e6 --bits 32", 32, 8_000_000_000, 4_000_000, 200.0, [120, 200, 400]),
        ("--n 4e8 --queries 5 --bits 256 -k 31", 256, 400_000_000, 5, 3.0, [3, 6, 6]),
        ("--n 2 --queries 7", 64, 2, 7, 200.0, [1, 2, 2]),
        ("--n 0 --queries 7", 64, 0, 7, 200.0, [1, 1, 1]),
    ] {
        let report = json(&scratch, &format!("plan --spark {slots} --json {line}"));
        let plans = report["plans"].as_array().unwrap();
        let shards: Vec<u64> = plans.iter().map(|plan| plan["shards"].as_u64().unwrap()).collect();
        let mut expected = expected.to_vec();
        expected.dedup();
        assert_eq!(shards, expected, "{report}");
        assert_eq!(report["queries"].as_u64(), Some(queries));
        for plan in plans {
            let (number, of) = (plan["shards"].as_u64().unwrap(), |name: &str| &plan[name]);
            assert_eq!(of("shard_rows").as_u64(), Some(count.div_ceil(number)));
            assert_eq!(of("bytes_sent").as_u64(), Some(number * queries * bits / 8));
            // Tasks run side by side, and wait for each other in the end.
            let (cpu, seconds) =
                (of("cpu_seconds").as_f64().unwrap(), of("seconds").as_f64().unwrap());
            let waves = (number as f64 / slots).ceil();
            assert!((cpu / number as f64 * waves - seconds).abs() < 1e-9 * cpu, "{report}");
        }
        let bytes = plans[0]["shard_bytes"].as_f64().unwrap();
        assert!(count < 1000 || bytes > plans[0]["shard_rows"].as_f64().unwrap(), "{report}");
    }
    scratch.run("plan --n 1e6 --queries 3").fails_naming(&["--spark"]);
    scratch.run("plan --sample x --spark 1 --queries 3").fails_naming(&["--sample", "--queries"]);
    scratch.run("plan --n 5 --spark 1 --queries x").fails_naming(&["--queries"]);
}
