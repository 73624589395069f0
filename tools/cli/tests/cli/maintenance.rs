//! `stat`, `verify` and `dump`, and that reading changes nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::oracle::{bound_bits, fingerprints, sorted};
use crate::{Scratch, assert_is_near, hex, raw};

#[test]
fn stat_tells_of_each_table_how_it_is_built_and_compressed() {
    let scratch = Scratch::new();
    let set = fingerprints(50, 3000);
    scratch.pack("store", &set, "-k 4 --design halves --block-bytes 1024");
    let text = scratch.run("stat store --details").succeeds().stdout;
    let short = scratch.run("stat store").succeeds().stdout;
    assert!(!short.contains("code lengths") && !short.contains("entropy"), "{short}");
    let distinct = sorted(&set).len();
    let first = text.lines().next().unwrap().replace(",", "");
    assert!(first.starts_with(&format!("store: {distinct} fingerprints ")), "{text}");
    assert!(text.contains(" bytes per fingerprint, packed for k = 4\n"), "{text}");
    let segment =
        format!("segment 1: design halves, {distinct} fingerprints in each of 2 tables\n");
    assert!(text.contains(&segment), "{text}");
    for table in ["table 0: ", "table 1: "] {
        assert!(text.contains(table), "{text}");
    }
    assert!(text.contains("sorted by    bits 0 to 31\n"), "{text}");
    assert!(text.contains("sorted by    bits 32 to 63\n"), "{text}");
    for part in [
        &format!("fingerprints {distinct}\n"),
        " of 1024 bytes\n",
        "codec        gap, 24 low bits as they are\n",
        "code lengths ",
        " bits per class\n",
        " with the router), bound ",
        "router       ",
        "file         ",
    ] {
        assert_eq!(text.matches(part).count(), 2, "{part:?} of both tables in {text}");
    }
}

#[test]
fn stat_json_agrees_with_the_set_and_the_files() {
    let scratch = Scratch::new();
    let set = fingerprints(51, 3000);
    scratch.pack("store", &set, "--design 24,20,20 --block-bytes 512");
    let stat: Value =
        serde_json::from_str(&scratch.run("stat store --json").succeeds().stdout).unwrap();
    let distinct = sorted(&set).len() as u64;
    let files = scratch.store_files("store");
    assert_eq!(stat["store"], "store");
    assert_eq!(stat["radius"], 3);
    assert_eq!(stat["fingerprints"], distinct);
    assert_eq!(stat["bytes"], files.iter().map(|(_, bytes)| bytes).sum::<u64>());
    assert_eq!(stat["segments"].as_array().unwrap().len(), 1);
    let segment = &stat["segments"][0];
    assert_eq!(segment["segment"], 1);
    assert_eq!(segment["design"], "24,20,20");
    assert_eq!(segment["fingerprints"], distinct);
    let tables = segment["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 3);
    let tops = [
        serde_json::json!([[0, 24]]),
        serde_json::json!([[24, 20]]),
        serde_json::json!([[44, 20]]),
    ];
    for ((number, table), top) in tables.iter().enumerate().zip(tops) {
        assert_eq!(table["table"], number);
        assert_eq!(table["top"], top);
        assert_eq!(table["fingerprints"], distinct);
        assert_eq!(table["codec"], "gap");
        assert_eq!(table["block_bytes"], 512);
        let blocks = table["blocks"].as_u64().unwrap();
        assert_eq!(table["block_area_bytes"], blocks * 512);
        assert_eq!(table["router_bytes"], blocks * 8);
        let name = format!("segment-0000000000000001-table-{number:03}.fpt");
        let file = files.iter().find(|file| file.0 == name).unwrap();
        assert_eq!(table["file_bytes"], file.1);
        assert_is_near(&table["bits_per_fingerprint"], (blocks * 512 * 8) as f64 / distinct as f64);
        assert_is_near(&table["bits_with_router"], (blocks * 520 * 8) as f64 / distinct as f64);
        assert_is_near(&table["bound_bits"], bound_bits(distinct));
        let histogram = numbers(&table["histogram"]);
        let lengths = numbers(&table["code_lengths"]);
        let classes = 65 - table["low_bits"].as_u64().unwrap() as usize;
        assert_eq!((histogram.len(), lengths.len()), (classes, classes));
        assert_eq!(histogram.iter().sum::<u64>(), distinct - 1);
        let total = (distinct - 1) as f64;
        let shares = histogram.iter().filter(|&&n| n > 0).map(|&n| n as f64 / total);
        assert_is_near(&table["entropy_bits"], shares.map(|share| -share * share.log2()).sum());
    }
}

fn numbers(array: &Value) -> Vec<u64> {
    array.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

#[test]
fn verify_tells_what_it_has_checked() {
    let scratch = Scratch::new();
    let set = fingerprints(52, 3000);
    scratch.pack("store", &set, "--design halves --block-bytes 1024");
    let text = scratch.run("verify store").succeeds().stdout;
    let stat: Value =
        serde_json::from_str(&scratch.run("stat store --json").succeeds().stdout).unwrap();
    let tables = stat["segments"][0]["tables"].as_array().unwrap();
    let blocks: u64 = tables.iter().map(|table| table["blocks"].as_u64().unwrap()).sum();
    assert!(text.starts_with("store: sound\nchecked 1 segment, 2 tables, "), "{text}");
    assert!(
        text.contains(&format!(
            " {blocks} blocks, 2,{:03} fingerprints, ",
            sorted(&set).len() - 2000
        )),
        "{text}"
    );
    assert_eq!(scratch.run("verify store --quiet").succeeds().stdout, "");
}

#[test]
fn verify_names_the_file_and_the_byte_of_damage() {
    let scratch = Scratch::new();
    scratch.pack("store", &fingerprints(53, 3000), "--design halves --block-bytes 1024");
    let name = "store/segment-0000000000000001-table-001.fpt";
    let sound = fs::read(scratch.path(name)).unwrap();
    let mut damaged = sound.clone();
    damaged[4096 + 1024 + 500] ^= 1;
    fs::write(scratch.path(name), &damaged).unwrap();
    for quiet in ["", "--quiet"] {
        let block = format!("fpstore: {name}: corrupt at byte 5120: [BLK-1]");
        scratch.run(&format!("verify store {quiet}")).fails_naming(&[
            &block,
            "; restore the store from a copy",
            "`fpstore repair store DEST`",
        ]);
    }
    fs::write(scratch.path(name), &sound).unwrap();
    scratch.run("verify store").succeeds();
    fs::remove_file(scratch.path(name)).unwrap();
    scratch.run("verify store").fails_naming(&[name, "[DIR-2]"]);
}

#[test]
fn a_dump_over_damage_gives_what_stands_before_it_and_fails() {
    let scratch = Scratch::new();
    let set = sorted(&fingerprints(54, 3000));
    scratch.pack("store", &set, "--design halves --block-bytes 1024");
    let name = "store/segment-0000000000000001-table-000.fpt";
    let mut damaged = fs::read(scratch.path(name)).unwrap();
    damaged[4096 + 5 * 1024 + 500] ^= 1;
    fs::write(scratch.path(name), damaged).unwrap();
    let ran = scratch.run("dump store");
    let dumped = crate::unhex(&ran.stdout);
    assert!(dumped.len() > 100 && set.starts_with(&dumped), "{}", dumped.len());
    assert!(ran.stderr.starts_with(&format!("fpstore: {name}: corrupt at byte 9216: [BLK-1]")));
    ran.ends_with_code(2);
}

#[test]
fn a_query_over_damage_fails() {
    let scratch = Scratch::new();
    let set = fingerprints(55, 3000);
    scratch.pack("store", &set, "--design single");
    let name = "store/segment-0000000000000001-table-000.fpt";
    let mut damaged = fs::read(scratch.path(name)).unwrap();
    damaged[4096 + 500] ^= 1;
    fs::write(scratch.path(name), damaged).unwrap();
    let smallest = sorted(&set)[0];
    scratch.run(&format!("query store {smallest:016x}")).fails_naming(&[
        name,
        "byte 4096",
        "[BLK-1]",
    ]);
}

#[test]
fn dump_is_ascending_in_both_shapes() {
    let scratch = Scratch::new();
    let set = fingerprints(56, 10_000);
    scratch.pack("store", &set, "");
    let ascending = sorted(&set);
    assert_eq!(scratch.run("dump store").succeeds().stdout, hex(&ascending));
    assert_eq!(scratch.run("dump store --as tsv").succeeds().stdout, hex(&ascending));
    let output = scratch.command("dump store --as u64le").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == raw(&ascending), "other bytes");
}

#[test]
fn a_dump_can_be_packed_again() {
    let scratch = Scratch::new();
    let set = fingerprints(57, 1000);
    scratch.pack("a", &set, "");
    let mut dump = scratch.command("dump a").stdout(Stdio::piped()).spawn().unwrap();
    let mut pack = scratch.command("pack - -o b --quiet");
    let status = pack.stdin(dump.stdout.take().unwrap()).status().unwrap();
    assert!(dump.wait().unwrap().success() && status.success());
    assert_eq!(scratch.dump("b"), sorted(&set));
}

#[test]
fn reading_a_store_without_write_permission_changes_nothing_in_it() {
    let scratch = Scratch::new();
    scratch.pack("store", &fingerprints(58, 1000), "");
    // Root may write all the same, so the listing is what tells.
    let before = scratch.listing("store");
    fs::set_permissions(scratch.path("store"), Permissions::from_mode(0o555)).unwrap();
    for line in ["query store 0x0 -k 64", "stat store", "verify store", "dump store"] {
        scratch.run(line).succeeds();
        assert_eq!(scratch.listing("store"), before, "{line}");
    }
    fs::set_permissions(scratch.path("store"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_store_can_be_moved() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    fs::rename(scratch.path("store"), scratch.path("moved")).unwrap();
    assert_eq!(scratch.dump("moved"), [1, 2]);
    scratch.run("verify moved").succeeds();
}
