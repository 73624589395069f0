//! Pairs of every width: joined in shards, merged, and made clusters.

use super::{Bytes, WIDTHS, digits, distance, pack, set, sorted};
use crate::Scratch;

/// All pairs within `k` of a sorted set, in the order of `merge-pairs`.
fn pairs(set: &[Bytes], k: u32) -> String {
    let mut rows = String::new();
    for (place, one) in set.iter().enumerate() {
        for other in &set[place + 1..] {
            let distance = distance(one, other);
            if distance <= k {
                rows += &format!("{}\t{}\t{distance}\n", digits(one), digits(other));
            }
        }
    }
    rows
}

/// As raw integers: words of 8 bytes, or of 4 where there are no more.
fn raw_pairs(set: &[Bytes], k: u32) -> Vec<u8> {
    let near = |one: &&Bytes, other: &&Bytes| one < other && distance(one, other) <= k;
    let mut bytes = Vec::new();
    for one in set {
        for other in set.iter().filter(|other| near(&one, other)) {
            bytes.extend(super::raw(&[one.clone(), other.clone()]));
        }
    }
    bytes
}

#[test]
fn pairs_of_every_width_are_merged_and_make_the_same_clusters() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = sorted(&set(51 + bits as u64, bits, 500));
        let k = bits as u32 / 12;
        pack(&scratch, "store", &set, &format!("-f -k {k}"));
        let expected = pairs(&set, k);
        assert!(expected.lines().count() > 50);
        let clusters = scratch.run("dedup store -q").ends_with_code(0).stdout;
        let smaller = scratch.run(&format!("dedup store -q -k {}", k - 1)).stdout;
        assert_ne!(clusters, smaller);
        let raw = if bits == 32 { "u32le" } else { "u64le" };
        let forms: &[&str] = match cfg!(feature = "parquet") {
            true => &["tsv", "tsv,header,hex", raw, "parquet", "parquet,hex"],
            false => &["tsv", "tsv,header", raw],
        };
        for form in forms {
            let from = &format!("{form}, {bits} bits");
            for shard in 0..2 {
                let to = format!("--as {form} -o pairs-{shard} -f -q");
                scratch.run(&format!("join store --shard {shard}/2 {to}")).ends_with_code(0);
            }
            let format = match *form {
                "u32le" => "--format u32le".to_string(),
                "u64le" => format!("--format u64le --bits {bits}"),
                _ => String::new(),
            };
            // The same pairs twice, so that each comes once.
            let files = "pairs-0 pairs-1 pairs-0";
            let line = format!("merge-pairs {files} {format} --as tsv -q");
            assert_eq!(scratch.run(&line).ends_with_code(0).stdout, expected, "{from}");
            let line = format!("merge-pairs {files} {format} --as {raw} -o merged -f -q");
            scratch.run(&line).succeeds();
            let merged = std::fs::read(scratch.path("merged")).unwrap();
            assert_eq!(merged, raw_pairs(&set, k), "{from}");
            let format = if *form == raw { format!("--format {raw}") } else { String::new() };
            let line = format!("dedup store --pairs pairs-0 --pairs pairs-1 {format} -q");
            assert_eq!(scratch.run(&line).ends_with_code(0).stdout, clusters, "{from}");
            let line = format!("{line} -k {}", k - 1);
            assert_eq!(scratch.run(&line).ends_with_code(0).stdout, smaller, "{from}");
        }
        if cfg!(feature = "parquet") {
            let to = "--as parquet -o merged -f -q";
            scratch.run(&format!("merge-pairs pairs-0 pairs-1 {to}")).succeeds();
            let line = "merge-pairs merged --as tsv -q";
            assert_eq!(scratch.run(line).ends_with_code(0).stdout, expected, "{bits} bits");
        }
    }
}

#[test]
fn ids_of_pairs_of_every_width_stay_with_them() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let set = sorted(&set(61 + bits as u64, bits, 300));
        pack(&scratch, "store", &set, &format!("-f -k {} --ids line", bits / 12));
        for shard in 0..2 {
            let to = format!("--as ids -o pairs-{shard} -f -q");
            scratch.run(&format!("join store --shard {shard}/2 {to}")).ends_with_code(0);
        }
        let place = |digits_of: &str| set.iter().position(|one| digits(one) == digits_of).unwrap();
        let with_ids = |row: &str| {
            let fields: Vec<_> = row.split('\t').collect();
            format!("{row}\t{}\t{}\n", place(fields[0]), place(fields[1]))
        };
        let expected: String = pairs(&set, bits as u32 / 12).lines().map(with_ids).collect();
        let merged = scratch.run("merge-pairs pairs-1 pairs-0 -q").ends_with_code(0).stdout;
        assert_eq!(merged, expected, "{bits} bits");
    }
}

#[test]
fn pairs_of_another_width_are_refused() {
    let scratch = Scratch::new();
    let (narrow, wide) = (sorted(&set(1, 64, 200)), sorted(&set(2, 256, 200)));
    pack(&scratch, "narrow", &narrow, "-k 6");
    pack(&scratch, "wide", &wide, "-k 20");
    scratch.run("join narrow -o narrow.tsv -q").ends_with_code(0);
    scratch.run("join wide -o wide.tsv --as tsv,header -q").ends_with_code(0);
    let refused = "wide.tsv: first row: pairs of fingerprints of 256 bits, where 64 are wanted; give \
                   pairs of those";
    scratch.run("dedup narrow --pairs wide.tsv").fails_with(refused);
    scratch.run("merge-pairs narrow.tsv wide.tsv").fails_with(refused);
    scratch.run("merge-pairs wide.tsv --bits 64").fails_with(refused);
    scratch.run("dedup wide --pairs narrow.tsv").fails_naming(&["64 bits, where 256 are wanted"]);
    if cfg!(feature = "parquet") {
        scratch.run("join wide --as parquet -o wide.parquet -q").succeeds();
        let line = "merge-pairs narrow.tsv wide.parquet --as tsv";
        scratch.run(line).fails_naming(&["wide.parquet: columns: ", "256", "64"]);
    }
    // Files without a row tell nothing, whichever stands first.
    scratch.write("none", "");
    scratch.write("names", "a\tb\tdistance\n");
    let alone = scratch.run("merge-pairs wide.tsv -q").ends_with_code(0).stdout;
    let line = "merge-pairs none names wide.tsv names none -q";
    assert_eq!(scratch.run(line).ends_with_code(0).stdout, alone);
    assert_eq!(scratch.run("merge-pairs none names -q").ends_with_code(0).stdout, "");
    // A pair that is cut.
    let raw: Vec<u8> = super::raw(&[wide[0].clone(), wide[1].clone()]);
    scratch.write("raw", &raw[..60]);
    let line = "merge-pairs raw --format u64le --bits 256";
    scratch.run(line).fails_naming(&["raw: byte 0: the file ends within this pair of 64 bytes"]);
    // One row of another width, behind others.
    let first = std::fs::read_to_string(scratch.path("narrow.tsv")).unwrap();
    scratch.write("mixed", format!("{}{}", &first[..first.find('\n').unwrap() + 1], alone));
    let error = ["mixed: line 2", "two fingerprints of 16 hexadecimal digits"];
    scratch.run("merge-pairs mixed").fails_naming(&error);
    // Words of 8 bytes are no fingerprints of 32 bits.
    let error = ["raw: byte 0", "64 bits, where 32 are wanted"];
    scratch.run("merge-pairs raw --format u64le --bits 32 --as tsv").fails_naming(&error);
    for (store, raw) in [("narrow", "u32le"), ("wide", "u32le")] {
        scratch.run(&format!("join {store} --as {raw}")).fails_naming(&[raw, "u64le"]);
    }
}
