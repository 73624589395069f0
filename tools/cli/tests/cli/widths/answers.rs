//! What is found at every width, and what is told of stores.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{
    Bytes, WIDTHS, binary, digits, distance, holds, lines, list, matches, pack, queries, set,
    sorted, tsv,
};
use crate::Scratch;

#[test]
fn answers_are_those_of_brute_force_at_every_width() {
    let scratch = Scratch::new();
    for (bits, options) in [
        (32, ""),
        (64, ""),
        (64, "--design parts:4"),
        (128, ""),
        (128, "--design parts:6"),
        (256, ""),
        (256, "--design parts:0"),
        (256, "--design parts:11"),
    ] {
        let set = set(11 + bits as u64, bits, 2500);
        let mut asked = queries(12, &set, 30);
        // One that is found at distance 0.
        asked[2] = set[7].clone();
        pack(&scratch, "store", &set, &format!("-f -k {} {options}", bits / 16));
        let of_lists = list(&asked);
        scratch.write("queries", &of_lists);
        let run = |options: &str| {
            let ran = scratch.run(&format!("query store --from queries {options}"));
            (ran.stdout, ran.code)
        };
        let all = bits as u32;
        let default = bits as u32 / 16;
        assert_eq!(run("").0, tsv(&set, &asked, default, usize::MAX), "{bits} {options}");
        for k in [0, 3, bits as u32 / 8] {
            let from = format!("{bits} bits {options} k = {k}");
            let expected = tsv(&set, &asked, k, usize::MAX);
            assert_eq!(run(&format!("-k {k}")), (expected, Some(0)), "{from}");
            for most in [0, 1, 3] {
                let expected = tsv(&set, &asked, k, most);
                let code = Some(i32::from(most == 0));
                let limited = run(&format!("-k {k} --limit {most}"));
                assert_eq!(limited, (expected.clone(), code), "{from}, at most {most}");
                let nearest = run(&format!("-k {k} --nearest {most}"));
                assert_eq!(nearest, (expected, code), "{from}, {most} nearest");
            }
            let row = |query: &Bytes, cell: String| format!("{}\t{cell}\n", digits(query));
            let counts = |most: usize| -> String {
                let count = |query| matches(&set, query, k).len().min(most).to_string();
                asked.iter().map(|query| row(query, count(query))).collect()
            };
            assert_eq!(run(&format!("-k {k} --as count")).0, counts(usize::MAX), "{from}");
            assert_eq!(run(&format!("-k {k} --as count --limit 2")).0, counts(2), "{from}");
            assert_eq!(run(&format!("-k {k} --as count --nearest 2")).0, counts(2), "{from}");
            let any = |query| (!matches(&set, query, k).is_empty()).to_string();
            let any: String = asked.iter().map(|query| row(query, any(query))).collect();
            assert_eq!(run(&format!("-k {k} --as any")), (any, Some(0)), "{from}");
        }
        assert_eq!(run("--nearest 4").0, tsv(&set, &asked, all, 4), "{bits} {options}");
        // Arguments, and a pipe.
        let line = format!("query store {} {} --nearest 2", digits(&asked[1]), digits(&asked[0]));
        let two = [asked[1].clone(), asked[0].clone()];
        assert_eq!(scratch.run(&line).succeeds().stdout, tsv(&set, &two, all, 2));
        let line = format!("query store {} -k {default}", binary(&asked[1]));
        assert_eq!(scratch.run(&line).stdout, tsv(&set, &two[..1], default, usize::MAX));
        let piped = scratch.run_with("query store --from - --nearest 1", of_lists.as_bytes());
        assert_eq!(piped.succeeds().stdout, tsv(&set, &asked, all, 1));
    }
}

#[test]
fn as_many_nearest_are_found_at_a_time_as_fit_into_memory() {
    let scratch = Scratch::new();
    let set: Vec<u8> = (0..1_100_000u64).flat_map(|n| (n << 40 | n).to_le_bytes()).collect();
    scratch.write("set", set);
    scratch.run("pack set --format u64le -o store --design single -q").succeeds();
    let queries: String = (0..8u64).map(|n| format!("{:016x}\n", n << 13)).collect();
    scratch.write("queries", &queries);
    let run = |options: &str| scratch.run(&format!("query store --from queries {options}"));
    // Eight answers take 25 MiB, more than there is.
    let counts = run("--nearest 200000 --memory 16MiB --as count").succeeds().stdout;
    assert!(counts.lines().count() == 8 && counts.lines().all(|line| line.ends_with("\t200000")));
    run("--nearest 2000000 --memory 16MiB").fails_with(
        "--nearest 2000000: the answer of one query takes 16.8 MiB, and --memory allows 16.0 MiB; ask for \
         fewer, or allow more",
    );
}

#[test]
fn every_output_has_nearest_limit_and_any() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = set(21, bits, 400);
        pack(&scratch, "store", &set, "-f --ids line -k 2");
        let asked = [set[3].clone(), vec![0x5a; bits / 8]];
        let named = |query: &Bytes, name: &str| format!("{name},{}\n", digits(query));
        let csv = format!("url,fingerprint\n{}{}", named(&asked[0], "a"), named(&asked[1], "b"));
        scratch.write("queries.csv", csv);
        let from = "query store --from queries.csv --query-id-column url";
        let objects = lines(scratch.run(&format!("{from} --nearest 2 --as json")).succeeds());
        for ((query, object), id) in asked.iter().zip(objects).zip(["a", "b"]) {
            assert_eq!(
                (&object["query"], &object["query_id"]),
                (&json!(digits(query)), &json!(id))
            );
            let found = object["matches"].as_array().unwrap();
            let nearest = matches(&set, query, bits as u32);
            assert_eq!(found.len(), 2);
            for (found, (distance, one)) in found.iter().zip(nearest) {
                assert_eq!(found["fingerprint"], digits(&one));
                assert_eq!(found["distance"], distance);
                let ids = (0..set.len()).filter(|&line| set[line] == one);
                let ids: Vec<String> = ids.map(|line| line.to_string()).collect();
                assert_eq!(found["ids"], json!(ids));
            }
        }
        let any = scratch.run(&format!("{from} --as tsv,any,header -k 1")).succeeds().stdout;
        let rows = format!("a\t{}\ttrue\nb\t{}\tfalse\n", digits(&asked[0]), digits(&asked[1]));
        assert_eq!(any, format!("query_id\tquery\tany\n{rows}"));
        let objects = lines(scratch.run(&format!("{from} --as json,any -k 1")).succeeds());
        let expected = json!({"query": digits(&asked[0]), "query_id": "a", "any": true});
        assert_eq!((&objects[0], &objects[1]["any"]), (&expected, &json!(false)));
        if cfg!(feature = "parquet") {
            scratch.run(&format!("{from} --as parquet,any -k 1 -o out -f")).succeeds();
            let to = "--as parquet -o out -f";
            scratch.run(&format!("{from} --limit 1 -k {} {to}", bits / 2)).succeeds();
        }
        let code = scratch.run(&format!("query store {} --as any -k 0", digits(&asked[1])));
        assert_eq!(code.stdout, format!("{}\tfalse\n", digits(&asked[1])));
        code.ends_with_code(1);
    }
}

#[test]
fn joins_and_clusters_are_those_of_brute_force_at_every_width() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = sorted(&set(41, bits, 600));
        let k = bits as u32 / 12;
        pack(&scratch, "store", &set, &format!("-f -k {k} --ids line"));
        let mut pairs: Vec<String> = Vec::new();
        // The least of each cluster, by joining until nothing changes.
        let mut cluster: Vec<usize> = (0..set.len()).collect();
        for (place, one) in set.iter().enumerate() {
            for (other_place, other) in set.iter().enumerate().skip(place + 1) {
                if distance(one, other) <= k {
                    let distance = distance(one, other);
                    pairs.push(format!("{}\t{}\t{distance}", digits(one), digits(other)));
                    let (low, high) = (cluster[place], cluster[other_place]);
                    let (low, high) = (low.min(high), low.max(high));
                    cluster.iter_mut().filter(|of| **of == high).for_each(|of| *of = low);
                }
            }
        }
        assert!(pairs.len() > 50, "{bits}");
        pairs.sort();
        let rows = |text: &str| -> Vec<String> {
            let mut rows: Vec<String> = text.lines().map(str::to_string).collect();
            rows.sort();
            rows
        };
        let joined = scratch.run("join store -q").ends_with_code(0);
        assert_eq!(rows(&joined.stdout), pairs, "{bits} bits");
        let mut shards = scratch.run("join store -q --shard 0/2").ends_with_code(0).stdout;
        shards += &scratch.run("join store -q --shard 1/2 -o shard -f --resume").stdout;
        shards += &fs::read_to_string(scratch.path("shard")).unwrap();
        assert_eq!(rows(&shards), pairs, "{bits} bits in shards");
        if cfg!(feature = "parquet") {
            let to = "--as parquet -o pairs -f -q";
            scratch.run(&format!("join store {to}")).succeeds();
            scratch.run("pack pairs -o firsts -q -f --fingerprint-column a").succeeds();
            scratch.run(&format!("dedup store {to}")).ends_with_code(0);
        }
        let deduped = scratch.run("dedup store -q --as json").ends_with_code(0);
        let mut names: std::collections::BTreeMap<u64, usize> = Default::default();
        let objects = lines(deduped);
        assert_eq!(objects.len(), set.len());
        for (place, object) in objects.iter().enumerate() {
            assert_eq!(object["fingerprint"], digits(&set[place]), "{bits} bits");
            let named = object["cluster"].as_u64().unwrap();
            assert_eq!(*names.entry(named).or_insert(cluster[place]), cluster[place]);
        }
        let clusters: std::collections::BTreeSet<_> = cluster.iter().collect();
        assert_eq!(names.len(), clusters.len(), "{bits} bits");
        scratch
            .run(&format!("join store -k {}", bits + 1))
            .fails_naming(&[&format!("0 to {bits}")]);
    }
    pack(&scratch, "other", &set(1, 64, 10), "");
    scratch.run("join store other").fails_naming(&["other", "256", "64"]);
}

#[test]
fn stat_pack_and_verify_tell_the_width_and_the_parts() {
    let scratch = Scratch::new();
    let wide = set(4, 256, 6000);
    scratch.write("in", list(&wide));
    let packed =
        lines(scratch.run("pack in -o store -k 31 --json --progress none").packs_telling());
    let [packed] = &packed[..] else { panic!("{packed:?}") };
    assert_eq!((&packed["bits"], &packed["design"]), (&json!(256), &Value::Null));
    assert_eq!(packed["raw_bytes"], 32 * packed["distinct"].as_u64().unwrap());
    let parts = packed["parts"].as_u64().unwrap();
    assert!(parts > 0);
    let stat = &lines(scratch.run("stat store --json").succeeds())[0];
    assert_eq!((&stat["bits"], &stat["radius"]), (&json!(256), &json!(31)));
    let segment = &stat["segments"][0];
    let of_parts = segment["parts"].as_array().unwrap();
    assert_eq!(of_parts.len() as u64, parts);
    // No bit is in two keys.
    let keys = of_parts.iter().flat_map(|part| part["key_bits"].as_array().unwrap());
    let mut bits: Vec<u64> = keys.map(|bit| bit.as_u64().unwrap()).collect();
    bits.sort_unstable();
    assert!(!bits.is_empty() && bits.is_sorted_by(|one, next| one < next), "{bits:?}");
    assert!(bits.iter().all(|bit| *bit < 256), "{bits:?}");
    let base = segment["base"]["file_bytes"].as_u64().unwrap();
    assert!(base > 32 * packed["distinct"].as_u64().unwrap());
    let text = scratch.run("stat store").succeeds().stdout;
    assert!(text.contains("fingerprints of 256 bits") && text.contains("part 1: "), "{text}");
    let text = scratch.run("verify store").succeeds().stdout;
    assert!(text.starts_with("store: sound\n"), "{text}");
    let text = scratch.run("pack in -o other -k 31").packs_telling().stdout;
    assert!(text.contains(&format!("one copy and {parts} part table")), "{text}");
    let dry = &lines(scratch.run("pack in -o third -k 31 --dry-run --json").succeeds())[0];
    assert_eq!(dry["parts"], parts);
    // At 64 bits nothing is said of it.
    scratch.pack("plain", &[1, 2], "");
    let stat = scratch.run("stat plain --json").succeeds().stdout;
    assert!(!stat.contains("bits\":64") && !stat.contains("parts"), "{stat}");
    // Damage is told at any width.
    let file = fs::read_dir(scratch.path("store")).unwrap().map(|entry| entry.unwrap().path());
    let file = file.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    damage(&file);
    scratch.run("verify store").fails_naming(&["store"]);
}

fn damage(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn the_plan_of_parts_is_what_a_pack_takes() {
    let scratch = Scratch::new();
    let report = &lines(scratch.run("plan --bits 256 -k 31 --n 1e7 --json").succeeds())[0];
    assert_eq!((&report["bits"], &report["fingerprints"]), (&json!(256), &json!(10_000_000)));
    let plans = report["plans"].as_array().unwrap();
    let best = plans.iter().find(|plan| plan["recommended"] == true).unwrap();
    let thresholds = best["may_differ"].as_array().unwrap();
    let sum: u64 = thresholds.iter().filter_map(|one| Some(one.as_u64()? + 1)).sum();
    assert_eq!(sum, 32);
    let command = "fpstore pack INPUT -o STORE --bits 256 -k 31";
    assert_eq!(report["recommended"], command);
    let text = scratch.run("plan --bits 256 -k 31 --n 1e7").succeeds().stdout;
    let names = "parts store B/fp warm look-ups candidates may differ";
    let header: Vec<_> = text.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(header, names.split(' ').collect::<Vec<_>>());
    assert!(text.starts_with("10000000 fingerprints of 256 bits, queries within k = 31 bits\n"));
    assert!(text.ends_with(&format!("\n{command}\n")), "{text}");
    let marked = text.lines().find(|line| line.starts_with('*')).unwrap();
    assert_eq!(marked.split_whitespace().nth(1), Some(&*best["parts"].to_string()));
    // Less space than the recommended ones, and none.
    let budget = best["bytes_per_fingerprint"].as_f64().unwrap() - 1.0;
    let line = format!("plan --bits 256 -k 31 --n 1e7 --budget {budget} --json");
    let report = &lines(scratch.run(&line).succeeds())[0];
    let command = report["recommended"].as_str().unwrap();
    assert!(command.contains(" --design parts:"), "{command}");
    let line = "plan --bits 256 -k 31 --n 1e7 --budget 1";
    assert!(scratch.run(line).succeeds().stdout.contains("no number of parts"));
    // Of a sample.
    scratch.write("sample", list(&set(5, 128, 5000)));
    let report = &lines(scratch.run("plan --sample sample -k 8 --json").succeeds())[0];
    assert_eq!(report["bits"], 128);
    for option in ["--prefer speed", "--block-bytes 512"] {
        scratch
            .run(&format!("plan --bits 256 --n 1e7 {option}"))
            .fails_naming(&["plan: ", "is for tables, and these have parts"]);
    }
    scratch.run("plan --bits 128 --n 1e7 -k 129").fails_naming(&["0 to 128"]);
    scratch.run("plan --bits 256 --n 1e10").fails_naming(&["10000000000", "more than"]);
    // A pack takes it by itself.
    let set = set(6, 256, 6000);
    scratch.write("in", list(&set));
    let plan = &lines(scratch.run("plan --sample in -k 31 --json").succeeds())[0];
    let plans = plan["plans"].as_array().unwrap();
    let best = plans.iter().find(|plan| plan["recommended"] == true).unwrap();
    let packed =
        &lines(scratch.run("pack in -o store -k 31 --json --progress none").packs_telling())[0];
    assert_eq!(packed["parts"], best["parts"]);
    let near = best["store_bytes"].as_f64().unwrap() / packed["bytes"].as_f64().unwrap();
    assert!((0.99..1.01).contains(&near), "{near}");
}

#[test]
fn fingerprints_of_32_bits_have_tables_as_those_of_64() {
    let scratch = Scratch::new();
    let set = set(31, 32, 20_000);
    let asked = queries(32, &set, 40);
    scratch.write("queries", list(&asked));
    for (options, design) in [
        ("--design halves", Some("halves")),
        ("--design 16,16 --block-bytes 256", Some("halves")),
        ("--design 8,12,12", Some("8,12,12")),
        ("--design 2of5 --prefer size", Some("2of5")),
        ("--design halves:short", Some("halves")),
        ("--design parts:3", None),
        ("", None),
    ] {
        pack(&scratch, "store", &set, &format!("-f -k 3 {options}"));
        let stat = &lines(scratch.run("stat store --json").succeeds())[0];
        let segment = &stat["segments"][0];
        if let Some(design) = design {
            assert_eq!(segment["design"], design, "{options}");
        }
        assert_eq!(segment["parts"].is_null(), options != "--design parts:3", "{options}");
        for k in [0, 2, 5] {
            let found = scratch.run(&format!("query store --from queries -k {k}"));
            assert_eq!(found.stdout, tsv(&set, &asked, k, usize::MAX), "{options}, k = {k}");
        }
        holds(&scratch, "store", &set, options);
        scratch.run("verify store").succeeds();
    }
    // What `plan` recommends is what a pack takes, and its command packs.
    scratch.write("in", list(&set));
    let plan = "plan --bits 32 --sample in -k 3 --json";
    let report = &lines(scratch.run(plan).succeeds())[0];
    let command = report["recommended"].as_str().unwrap();
    let command = command.strip_prefix("fpstore ").unwrap().replace("STORE", "planned");
    assert!(command.contains("--bits 32") && !command.contains("--design"), "{command}");
    scratch.run(&format!("{command} -q")).succeeds();
    let best = report["plans"].as_array().unwrap().iter().find(|plan| plan["recommended"] == true);
    let stat = &lines(scratch.run("stat planned --json").succeeds())[0];
    assert_eq!(stat["segments"][0]["design"], best.unwrap()["design"]);
    let text = scratch.run("plan --bits 32 --n 2^24 -k 3").succeeds().stdout;
    assert!(
        text.starts_with("16777216 fingerprints of 32 bits, queries within k = 3 bits\n"),
        "{text}"
    );
    scratch.run("plan --bits 32 --n 2^24 -k 33").fails_naming(&["0 to 32"]);
    scratch.run("pack in -o no --bits 32 --design 32,32").fails_naming(&["at most 32 together"]);
}
