//! `dedup`: clusters of real and made sets against components that are found in another way.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::oracle::{Random, fingerprints, sorted};
use crate::{Scratch, hex};

/// The directory that `FPSTORE_ANSWERS` names, if it is set.
fn answers() -> Option<PathBuf> {
    std::env::var_os("FPSTORE_ANSWERS").map(PathBuf::from)
}

fn read_u64s(path: &Path) -> Vec<u64> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes.as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect()
}

/// All pairs of distinct fingerprints within 3: each agrees in one of four parts of 16 bits.
fn pairs_within_3(set: &[u64]) -> BTreeSet<(u64, u64)> {
    let mut pairs = BTreeSet::new();
    for part in 0..4 {
        let mut groups: HashMap<u64, Vec<u64>> = HashMap::new();
        for &x in set {
            groups.entry(x >> (16 * part) & 0xffff).or_default().push(x);
        }
        for group in groups.values() {
            for (i, &a) in group.iter().enumerate() {
                let near = group[i + 1..].iter().filter(|&&b| (a ^ b).count_ones() <= 3);
                pairs.extend(near.map(|&b| (a.min(b), a.max(b))));
            }
        }
    }
    pairs
}

/// For each fingerprint the least one of its component.
fn components(set: &[u64], pairs: impl IntoIterator<Item = (u64, u64)>) -> BTreeMap<u64, u64> {
    let mut neighbours: HashMap<u64, Vec<u64>> = HashMap::new();
    for (a, b) in pairs {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let mut least = BTreeMap::new();
    for &start in set {
        let mut reached = vec![start];
        while let Some(x) = reached.pop() {
            if let Entry::Vacant(new) = least.entry(x) {
                new.insert(start);
                reached.extend(neighbours.get(&x).into_iter().flatten());
            }
        }
    }
    least
}

/// A row of TSV.
#[derive(Debug)]
struct Row {
    fingerprint: u64,
    ids: String,
    cluster: u64,
    representative: String,
    keep: bool,
}

fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let [fingerprint, ids, cluster, representative, keep] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        assert!(keep == "keep" || keep == "drop", "{line}");
        Row {
            fingerprint: u64::from_str_radix(fingerprint, 16).unwrap(),
            ids: ids.to_string(),
            cluster: cluster.parse().unwrap(),
            representative: representative.to_string(),
            keep: keep == "keep",
        }
    };
    text.lines().map(row).collect()
}

/// Compares the pairs and clusters of a set at k = 3 with those found in another way, and gives
/// their numbers: of pairs, of clusters, and of each size.
fn check_set(set: &[u64]) -> (usize, usize, BTreeMap<usize, usize>) {
    let scratch = Scratch::new();
    scratch.pack("store", set, "--ids line");
    let distinct = sorted(set);
    let expected = pairs_within_3(&distinct);
    let pairs = scratch.run("join store -k 3 --quiet").succeeds().stdout;
    let found: Vec<(u64, u64)> = pairs
        .lines()
        .map(|line| {
            let hex = |range| u64::from_str_radix(&line[range], 16).unwrap();
            (hex(0..16), hex(17..33))
        })
        .collect();
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().copied().collect::<BTreeSet<_>>() == expected);

    // It warns of the largest cluster.
    let line = "dedup store -k 3 --quiet";
    let ran = scratch.run(line).ends_with_code(0);
    let warning = "fpstore: warning: 1 cluster of more than 1000 fingerprints: ";
    assert!(ran.stderr.starts_with(warning) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    let rows = rows(&ran.stdout);
    let least = components(&distinct, expected);
    assert!(rows.iter().map(|row| row.fingerprint).eq(distinct.iter().copied()));
    // The clusters are numbered by their least fingerprints.
    let mut numbers = BTreeMap::new();
    for least in least.values() {
        let next = numbers.len() as u64;
        numbers.entry(*least).or_insert(next);
    }
    let mut first_of: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for row in &rows {
        assert_eq!(row.cluster, numbers[&least[&row.fingerprint]]);
        let first: u64 = row.ids.split(',').next().unwrap().parse().unwrap();
        let known = first_of.entry(row.cluster).or_insert((first, row.fingerprint));
        *known = (*known).min((first, row.fingerprint));
    }
    let mut sizes = BTreeMap::<u64, usize>::new();
    for row in &rows {
        let kept = first_of[&row.cluster].1;
        assert_eq!(row.representative, format!("{kept:016x}"));
        assert_eq!(row.keep, kept == row.fingerprint);
        *sizes.entry(row.cluster).or_default() += 1;
    }
    let mut histogram = BTreeMap::new();
    sizes.values().for_each(|&size| *histogram.entry(size).or_default() += 1);
    (found.len(), sizes.len(), histogram)
}

#[test]
fn pairs_and_clusters_of_real_sets_are_those_that_other_programs_found() {
    let Some(directory) = answers() else {
        let shipped =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/devset-100k.u64");
        let (pairs, clusters, sizes) = check_set(&read_u64s(&shipped));
        assert!(pairs > 1000 && clusters < 63_707 && sizes.len() > 5);
        return;
    };
    for name in ["devset", "imagehash"] {
        let meta = fs::read(directory.join(format!("{name}.meta.json"))).unwrap();
        let meta: Value = serde_json::from_slice(&meta).unwrap();
        let stated = &meta["self_join"];
        let (pairs, clusters, sizes) =
            check_set(&read_u64s(&directory.join(format!("{name}.u64"))));
        assert_eq!(stated["pairs"], pairs, "{name}");
        assert_eq!(stated["components_all"], clusters, "{name}");
        let sizes: BTreeMap<String, usize> =
            sizes.into_iter().map(|(size, count)| (size.to_string(), count)).collect();
        assert_eq!(stated["size_hist"], serde_json::to_value(sizes).unwrap(), "{name}");
    }
}

/// Documents with string ids, as JSON lines; fingerprints and the clusters that they must have.
fn documents() -> (Vec<(String, u64)>, BTreeSet<BTreeSet<String>>) {
    let Some(directory) = answers() else {
        let mut random = Random(220);
        let set = fingerprints(220, 600);
        let pick = |random: &mut Random| set[random.below(600) as usize];
        let documents: Vec<(String, u64)> = (0..1500)
            .map(|i| (format!("dir,{}/page {i}\\.html", i % 7), pick(&mut random)))
            .collect();
        let stored: Vec<u64> = documents.iter().map(|(_, fingerprint)| *fingerprint).collect();
        let stored = sorted(&stored);
        let least = components(&stored, pairs_within_3(&stored));
        let mut clusters = BTreeMap::<u64, BTreeSet<String>>::new();
        for (id, fingerprint) in &documents {
            clusters.entry(least[fingerprint]).or_default().insert(id.clone());
        }
        let clusters = clusters.into_values().filter(|cluster| cluster.len() > 1);
        return (documents, clusters.collect());
    };
    let texts = fs::read_to_string(directory.join("textset.jsonl")).unwrap();
    let ids = texts.lines().map(|line| {
        let document: Value = serde_json::from_str(line).unwrap();
        document["id"].as_str().unwrap().to_string()
    });
    let documents = ids.zip(read_u64s(&directory.join("textset.u64"))).collect();
    let table = fs::read_to_string(directory.join("textset.clusters.tsv")).unwrap();
    let mut clusters = BTreeMap::<String, BTreeSet<String>>::new();
    for row in table.lines().filter_map(|row| row.strip_prefix("simhash_le3\t")) {
        let (cluster, id) = row.split_once('\t').unwrap();
        clusters.entry(cluster.to_string()).or_default().insert(id.to_string());
    }
    (documents, clusters.into_values().collect())
}

#[test]
fn documents_with_string_ids_come_to_their_clusters_and_one_of_each_is_kept() {
    let (documents, expected) = documents();
    let scratch = Scratch::new();
    let lines = documents.iter().map(|(id, fingerprint)| {
        serde_json::json!({"id": id, "fingerprint": format!("{fingerprint:016x}")}).to_string()
    });
    scratch.write("in.jsonl", lines.collect::<Vec<_>>().join("\n"));
    scratch.run("pack in.jsonl -o store --quiet --id-column id").succeeds();

    let run = |options: &str| scratch.run(&format!("dedup store -k 3 {options}")).ends_with_code(0);
    let ran = run(" --as json,per-id");
    let mut clusters = BTreeMap::<u64, BTreeSet<String>>::new();
    let mut kept = BTreeMap::<u64, String>::new();
    let mut representatives = BTreeMap::<u64, BTreeSet<String>>::new();
    for line in ran.stdout.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let cluster = row["cluster"].as_u64().unwrap();
        let [id] = &row["ids"].as_array().unwrap()[..] else { panic!("{row}") };
        let id = id.as_str().unwrap().to_string();
        assert!(clusters.entry(cluster).or_default().insert(id.clone()), "{row}");
        let representative = row["representative"].as_str().unwrap().to_string();
        representatives.entry(cluster).or_default().insert(representative);
        if row["keep"] == true {
            assert_eq!(kept.insert(cluster, id), None, "a second one of {cluster}");
        }
    }
    assert_eq!(clusters.values().map(BTreeSet::len).sum::<usize>(), documents.len());
    assert_eq!(kept.len(), clusters.len());
    // The least name of each cluster is kept, and all others point to it.
    for (cluster, ids) in &clusters {
        let first = ids.first().unwrap();
        assert_eq!(&kept[cluster], first);
        assert_eq!(representatives[cluster], BTreeSet::from([first.clone()]));
    }
    let several = clusters.values().filter(|ids| ids.len() > 1).cloned();
    assert_eq!(several.collect::<BTreeSet<_>>(), expected);

    // A row for each fingerprint tells the same; so does TSV.
    let tsv = rows(&run("--quiet --keep smallest-id").stdout);
    assert_eq!(tsv.len(), documents.iter().map(|pair| pair.1).collect::<BTreeSet<_>>().len());
    for row in &tsv {
        let ids = row.ids.replace("\\,", "\u{1}");
        let ids = ids.split(',').map(|id| id.replace('\u{1}', ",").replace("\\\\", "\\"));
        for (number, id) in ids.enumerate() {
            assert!(clusters[&row.cluster].contains(&id), "{id}");
            assert_eq!(row.keep && number == 0, kept[&row.cluster] == id, "{row:?}");
        }
    }
    let summary = &ran.stderr;
    let exact = documents.len() - tsv.len();
    for (name, count) in [
        ("documents", documents.len()),
        ("exact duplicates", exact),
        ("near duplicates", tsv.len() - clusters.len()),
        ("to keep", clusters.len()),
    ] {
        assert!(summary.contains(&format!("{name:<17} {count:>12} ")), "{name}: {summary}");
    }
}

#[test]
fn json_has_just_the_documented_bytes() {
    let scratch = Scratch::new();
    scratch.write("in.csv", "fingerprint,id\n8f3ac41e09b7d264,0\n8f3ac41e09b7d264,17\n");
    scratch.run("pack in.csv -o store --quiet --ids column").succeeds();
    let printed = scratch.run("dedup store --as json --quiet").succeeds().stdout;
    let help = scratch.run("dedup --help").succeeds().stdout.replace(",\n\"", ",\"");
    assert!(help.contains(printed.trim_end()), "{help}");
    let per_id = scratch.run("dedup store --as per-id --quiet").succeeds().stdout;
    let rows = "8f3ac41e09b7d264\t0\t0\t0\tkeep\n8f3ac41e09b7d264\t17\t0\t0\tdrop\n";
    assert_eq!(per_id, rows);
}

#[test]
fn a_store_without_ids_keeps_the_least_fingerprint() {
    let scratch = Scratch::new();
    scratch.pack("store", &[0b111, 0b11, 0xff00, 0b11], "");
    let ran = scratch.run("dedup store -k 1").ends_with_code(0);
    let (least, next, far) = ("0000000000000003", "0000000000000007", "000000000000ff00");
    assert_eq!(
        ran.stdout,
        format!(
            "{least}\t\t0\t{least}\tkeep\n{next}\t\t0\t{least}\tdrop\n{far}\t\t1\t{far}\tkeep\n"
        )
    );
    let json = scratch.run("dedup store -k 0 --as json --quiet").succeeds().stdout;
    assert!(json.starts_with(&format!("{{\"fingerprint\":\"{least}\",\"ids\":[],")), "{json}");
    scratch.run("dedup store --keep first").fails_with(
        "store: has no ids, so that nobody knows what came first; pack it with --ids line",
    );
    scratch.run("dedup store --as per-id").fails_with("store: has no ids; leave per-id out (--as)");
}

#[test]
fn long_chains_are_warned_of() {
    let scratch = Scratch::new();
    // Each is one bit from others, and the ends are 10 bits apart.
    let near = |count: u64| (0..count).collect::<Vec<u64>>();
    scratch.pack("store", &near(1001), "");
    let ran = scratch.run("dedup store -k 1 --quiet").ends_with_code(0);
    assert_eq!(
        ran.stderr,
        "fpstore: warning: 1 cluster of more than 1000 fingerprints: number 0 has 1001, kept \
         0000000000000000; these may be chains, whose ends differ in more than the distance: look \
         at some, or give a smaller -k\n"
    );
    scratch.pack("store", &near(1000), "--force");
    scratch.run("dedup store -k 1 --quiet").succeeds();
}

#[test]
fn pairs_that_were_joined_before_give_the_same_clusters() {
    let scratch = Scratch::new();
    let set = fingerprints(221, 3000);
    scratch.write("in", hex(&set));
    scratch.run("pack in -o store --ids line --quiet").succeeds();
    let whole = scratch.run("dedup store -k 3 --keep central --quiet").succeeds().stdout;
    let mut files = String::new();
    for shard in 0..3 {
        let output = match shard {
            0 => "tsv,header",
            1 if cfg!(feature = "parquet") => "parquet,ids",
            _ => "tsv",
        };
        let line = format!("join store -k 5 --shard {shard}/3 --as {output} --quiet -o");
        scratch.run(&format!("{line} pairs-{shard}")).succeeds();
        files.push_str(&format!(" --pairs pairs-{shard}"));
    }
    let ran = scratch.run(&format!("dedup store -k 3 --keep central --quiet {files}")).succeeds();
    assert!(ran.stdout == whole);
    scratch.run("join store -k 5 --as u64le --quiet -o raw").succeeds();
    let line = "dedup store -k 3 --keep central --quiet --pairs raw";
    assert!(scratch.run(&format!("{line} --format u64le")).succeeds().stdout == whole);
    scratch.run(line).fails_naming(&["raw: byte 0: neither", "give --format u64le"]);
    scratch.write("text", "1234567890abcdef".repeat(4));
    scratch.run("dedup store --pairs text -o out").fails_naming(&[
        "text: line 1: is no pair: two fingerprints",
        "give files that `join` wrote",
    ]);
    scratch.write("foreign", "0000000000000001\t0000000000000003\t1\n");
    scratch
        .run("dedup store --pairs foreign -o out")
        .fails_naming(&["0000000000000001", "is not stored"]);
    scratch.write("cut", "0000000000000001\t0000000000000003\t1");
    scratch.run("dedup store --pairs cut -o out").fails_naming(&["cut: line 1: the file ends"]);
    assert!(!scratch.path("out").exists() && !scratch.path("out.part").exists());
}

#[test]
fn too_little_memory_says_how_much_is_needed() {
    let scratch = Scratch::new();
    scratch.pack("store", &fingerprints(222, 1000), "");
    let least = "clusters of 917 fingerprints need at least 16 MiB; give more (--memory)";
    for line in ["dedup store --memory 1MiB", "dedup store --memory 1MiB --pairs none"] {
        if line.contains("none") {
            scratch.write("none", "");
        }
        scratch.run(line).fails_with(&format!("memory cannot be 1 MiB: {least}"));
    }
}

/// What was asked for 17.6 MB takes less than 11 of them.
#[test]
fn a_small_store_is_deduplicated_in_the_least_memory() {
    let scratch = Scratch::new();
    scratch.pack("store", &fingerprints(223, 43_745), "--ids line");
    scratch.run("dedup store --memory 16MiB --threads 2 --quiet -o out").succeeds();
    // From here on it depends on the set.
    scratch.pack("store", &fingerprints(223, 600_000), "--force --design single");
    scratch
        .run("dedup store --memory 16MiB --threads 2")
        .fails_naming(&["memory cannot be 16 MiB: "]);
}
