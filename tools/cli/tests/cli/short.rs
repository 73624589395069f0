//! Short tables (`--design NAME:short`): stores whose tables behind the first keep fewer bits
//! answer as others do.

use std::fs;

use serde_json::Value;

use crate::oracle::{Random, bound_bits, fingerprints, sorted};
use crate::{Scratch, assert_is_near, hex, raw};

fn json(scratch: &Scratch, line: &str) -> Value {
    serde_json::from_str(&scratch.run(line).succeeds().stdout).unwrap()
}

/// The bits of the keys of each table of the only segment of the store `name`, where they are told.
fn key_bits(scratch: &Scratch, name: &str) -> Vec<Option<u64>> {
    let stat = json(scratch, &format!("stat {name} --json"));
    let [segment] = &stat["segments"].as_array().unwrap()[..] else { panic!("{stat}") };
    let tables = segment["tables"].as_array().unwrap();
    tables.iter().map(|table| table.get("key_bits").map(|bits| bits.as_u64().unwrap())).collect()
}

/// Changes a byte of a table of the store `short`.
fn damage(scratch: &Scratch, table: u32, at: usize) {
    let path = scratch.path(&format!("short/segment-0000000000000001-table-{table:03}.fpt"));
    let mut bytes = fs::read(&path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

const QUARTERS: &str = "--design quarters --block-bytes 512";
const PACKED_SHORT: &str = "--design quarters:short --block-bytes 512";
const SHORT: [Option<u64>; 4] = [None, Some(32), Some(32), Some(32)];

#[test]
fn a_store_with_short_tables_is_smaller_and_answers_the_same() {
    let scratch = Scratch::new();
    let set = fingerprints(110, 20_000);
    scratch.pack("whole", &set, QUARTERS);
    scratch.pack("short", &set, PACKED_SHORT);
    assert_eq!(key_bits(&scratch, "whole"), [None; 4]);
    assert_eq!(key_bits(&scratch, "short"), SHORT);
    let bytes = |name| json(&scratch, &format!("stat {name} --json"))["bytes"].as_u64().unwrap();
    assert!(10 * bytes("short") < 7 * bytes("whole"));
    let mut random = Random(111);
    let asked: Vec<u64> = set.iter().step_by(50).map(|&one| random.near(one, 8)).collect();
    scratch.write("queries", hex(&asked));
    for options in ["-k 0", "-k 3", "-k 6", "-k 13", "-k 3 --limit 2", "--nearest 3"] {
        let answers = |store| {
            let ran = scratch.run(&format!("query {store} --from queries {options}"));
            assert_eq!(ran.stderr, "");
            ran.stdout
        };
        assert_eq!(answers("short"), answers("whole"), "{options}");
    }
    let pairs = |store| scratch.run(&format!("join {store} -k 4 -q")).succeeds().stdout;
    assert_eq!(pairs("short"), pairs("whole"));
    assert_eq!(scratch.dump("short"), sorted(&set));
    let told = scratch.run("verify short").succeeds().stdout;
    assert!(told.starts_with("short: sound\nchecked 1 segment, 4 tables, "), "{told}");
}

#[test]
fn stat_and_pack_tell_which_tables_are_short() {
    let scratch = Scratch::new();
    let set = fingerprints(112, 5000);
    scratch.write("in", raw(&set));
    let pack = format!("pack in -o short --format u64le {PACKED_SHORT}");
    let dry = scratch.run(&format!("{pack} --dry-run")).succeeds().stdout;
    assert!(dry.contains(" quarters in short tables, blocks of 512 bytes\n"), "{dry}");
    let told = scratch.run(&pack).packs_telling().stdout;
    assert!(told.contains(" quarters (4 tables, 3 of them short), blocks of 512 "), "{told}");
    let text = scratch.run("stat short").succeeds().stdout;
    let keys =
        "sorted by    bits 16 to 31\n    keys         the first 32 of 64 bits in this order\n";
    assert!(text.contains(keys), "{text}");
    assert_eq!(text.matches("    keys  ").count(), 3, "{text}");
    let packed = json(&scratch, &format!("{pack} --force --json -q"));
    let stat = json(&scratch, "stat short --json");
    assert_eq!(packed["tables"], stat["segments"][0]["tables"]);
    let distinct = stat["fingerprints"].as_u64().unwrap();
    assert_is_near(&packed["tables"][0]["bound_bits"], bound_bits(distinct));
    // That of 2^32 keys is 32 bits less.
    let least = packed["tables"][1]["bound_bits"].as_f64().unwrap();
    assert!((bound_bits(distinct) - 32.0 - least).abs() < 1e-3, "{least}");
    // A single table is whole, so that where there are to be short ones, there are several.
    let refused = scratch.run("pack in -o other --format u64le --design single:short");
    refused.fails_naming(&["design cannot be single", "short tables stand behind the first"]);
}

#[test]
fn what_is_damaged_in_short_tables_is_repaired_and_in_the_first_one_it_is_lost() {
    let scratch = Scratch::new();
    let set = fingerprints(113, 5000);
    scratch.pack("short", &set, PACKED_SHORT);
    scratch.run("repair short whole").succeeds();
    assert_eq!(scratch.dump("whole"), sorted(&set));
    damage(&scratch, 2, 4096 + 2 * 512 + 100);
    let name = "short/segment-0000000000000001-table-002.fpt: corrupt at byte 5120";
    scratch.run("verify short").fails_naming(&[name, "[BLK-1]"]);
    scratch.run("repair short saved").succeeds();
    scratch.run("verify saved").succeeds();
    assert_eq!(scratch.dump("saved"), sorted(&set));
    damage(&scratch, 0, 4096 + 2 * 512 + 100);
    let ran = scratch.run("repair short rest --json").ends_with_code(1);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let lost = told["segments"][0]["lost_fingerprints"].as_u64().unwrap() as usize;
    let (rest, all) = (scratch.dump("rest"), sorted(&set));
    assert!((1..200).contains(&lost) && rest.len() + lost == all.len(), "{told}");
    assert!(rest.iter().all(|one| all.binary_search(one).is_ok()));
    scratch.run("verify rest").succeeds();
}

#[test]
fn a_store_that_was_created_with_short_tables_keeps_to_them() {
    let scratch = Scratch::new();
    let set = fingerprints(114, 15_000);
    scratch.run(&format!("create short --id-type none -q {PACKED_SHORT}")).succeeds();
    for (number, part) in set.chunks(5000).enumerate() {
        scratch.run_with("insert short - --format u64le -q", &raw(part)).succeeds();
        scratch.run("flush short -q").succeeds();
        let stat = json(&scratch, "stat short --json");
        let segments = stat["segments"].as_array().unwrap();
        // Some may have been merged.
        assert!((1..=number + 1).contains(&segments.len()), "{stat}");
        for segment in segments {
            assert_eq!(segment["tables"][3]["key_bits"], 32, "{stat}");
        }
    }
    scratch.run(&format!("delete short {:016x} -q", set[0])).succeeds();
    scratch.run("merge short --full -q").succeeds();
    assert_eq!(key_bits(&scratch, "short"), SHORT);
    scratch.run("verify short").succeeds();
    let mut left = sorted(&set);
    left.retain(|one| *one != set[0]);
    assert_eq!(scratch.dump("short"), left);
    // Segments of a packed store are as those that it has.
    scratch.pack("packed", &set, PACKED_SHORT);
    let more = fingerprints(115, 5000);
    scratch.run_with("insert packed - --format u64le -q", &raw(&more)).succeeds();
    scratch.run("merge packed --full -q").succeeds();
    assert_eq!(key_bits(&scratch, "packed"), SHORT);
    assert_eq!(scratch.dump("packed"), sorted(&[&set[..], &more].concat()));
}

#[test]
fn what_is_appended_has_the_tables_that_are_asked_for() {
    let scratch = Scratch::new();
    let set = fingerprints(116, 6000);
    scratch.pack("store", &set[..3000], QUARTERS);
    scratch.write("more", raw(&set[3000..]));
    let append = format!("pack more --append store --format u64le -q {PACKED_SHORT}");
    scratch.run(&append).succeeds();
    let stat = json(&scratch, "stat store --json");
    let bits = |segment: usize| stat["segments"][segment]["tables"][1].get("key_bits").cloned();
    assert_eq!((bits(0), bits(1)), (None, Some(32.into())), "{stat}");
    scratch.run("verify store").succeeds();
    assert_eq!(scratch.dump("store"), sorted(&set));
}

#[test]
fn a_plan_of_a_large_set_has_a_short_table() {
    let scratch = Scratch::new();
    let text = scratch.run("plan --n 2^26").succeeds().stdout;
    let marked = |line: &str| line.starts_with('*') && line.contains(" 32,24 short ");
    assert!(text.lines().any(marked), "{text}");
    // A command with a budget says all of it.
    let text = scratch.run("plan --n 2^26 --budget 9").succeeds().stdout;
    let command = " --design 32,24:short --block-bytes 256";
    assert!(text.lines().last().unwrap().ends_with(command), "{text}");
}
