//! `pack --append`, and stores as inputs of `pack`.

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Scratch, raw};

#[test]
fn what_is_appended_is_one_more_segment() {
    let scratch = Scratch::new();
    let set = fingerprints(90, 3000);
    scratch.pack("store", &set[..1000], "-k 5");
    scratch.write("more", raw(&set[1000..]));
    let told = scratch.run("pack more --append store --format u64le").packs_telling().stdout;
    let distinct = sorted(&set[1000..]).len() - 1000;
    assert!(
        told.starts_with(&format!("store: 1,{distinct:03} fingerprints appended in ")),
        "{told}"
    );
    assert_eq!(scratch.dump("store"), sorted(&set));
    let stat: Value =
        serde_json::from_str(&scratch.run("stat store --json").succeeds().stdout).unwrap();
    assert_eq!((&stat["generation"], &stat["radius"]), (&2.into(), &5.into()));
    assert_eq!(stat["segments"].as_array().unwrap().len(), 2);
    scratch.run("verify store").succeeds();
    scratch.run("pack more --append nothing --format u64le").fails_naming(&["nothing", "[DIR-1]"]);
    scratch.run("pack store --append store").fails_naming(&["store: is an input"]);
    scratch.run("pack more --append store -o other").fails_naming(&["--append", "--output"]);
    scratch.run("pack more").fails_naming(&["--output"]);
    scratch.write("empty", "");
    scratch.run("pack empty --append store --format hex").fails_naming(&["store: stays as it was"]);
    scratch.write("ids.csv", "id,fingerprint\n1,00000000000000f0\n");
    let refused = "pack ids.csv --append store --id-column id";
    scratch.run(refused).fails_naming(&["store: has no ids; leave --ids and --id-column out"]);
    assert_eq!(scratch.dump("store"), sorted(&set));
}

#[test]
fn deletions_in_the_log_do_not_hide_what_is_appended_after_them() {
    let scratch = Scratch::new();
    scratch.run("create store --window 1d -q").succeeds();
    let insert = "insert store - --ids line -q --time 2026-01-01";
    scratch.run_with(insert, b"0x1 0x2 0x3").succeeds();
    scratch.run("delete store 0x1 0x2 -q").succeeds();
    scratch.write("in.csv", "id,fingerprint\n7,0000000000000001\n");
    let append = "pack in.csv --append store --id-column id -q";
    scratch.run(&format!("{append} --time 2026-01-05")).succeeds();
    let ids = |times: &str| scratch.run(&format!("dump store --as ids {times}")).succeeds().stdout;
    assert_eq!(ids(""), "0000000000000001\t7\n0000000000000003\t2\n");
    assert_eq!(ids("--since 2026-01-05 --until 2026-01-06"), "0000000000000001\t7\n");
    scratch.run("verify store").succeeds();
    scratch.run("delete store 0x1 -q").succeeds();
    assert_eq!(ids(""), "0000000000000003\t2\n");
}

#[test]
fn several_stores_become_one_and_keep_their_ids() {
    let scratch = Scratch::new();
    scratch.write("a.csv", "id,fingerprint\n1,00000000000000f0\n2,00000000000000f1\n");
    scratch.run("pack a.csv -o a --id-column id -q").succeeds();
    scratch.run("create b -q").succeeds();
    scratch.run_with("insert b - --ids line --first-id 5 -q", b"0xf0 0x1").succeeds();
    scratch.run("pack a b -o both -q").succeeds();
    let expected = "0000000000000001\t6\n00000000000000f0\t1,5\n00000000000000f1\t2\n";
    assert_eq!(scratch.run("dump both --as ids").succeeds().stdout, expected);
    scratch.run("pack a a.csv -o c --id-column id -q").succeeds();
    scratch.run("pack a b -o none --ids none -q").succeeds();
    assert_eq!(scratch.dump("none"), [1, 0xf0, 0xf1]);
    scratch.run("stat none").succeeds();
    scratch.run("pack a none -o d").fails_naming(&["none: has no ids, and a has"]);
    scratch.write("list", "0x3");
    scratch.run("pack a list -o d").fails_naming(&["list: gives no ids, and a has some"]);
    scratch.run("pack none list -o d -q").succeeds();
    assert_eq!(scratch.dump("d"), [1, 3, 0xf0, 0xf1]);
    scratch.run("pack a -o e --ids line").fails_naming(&["a: a store brings its own ids"]);
    scratch.run("pack a b -o f --dry-run").succeeds();
    scratch.run("insert both a --ids line").fails_naming(&["a: is a store", "--append both"]);
}
