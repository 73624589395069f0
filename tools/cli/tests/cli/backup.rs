//! `backup`: copies of stores that are being written.

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Scratch, raw};

#[test]
fn a_backup_is_a_store_and_the_next_one_ships_what_is_new() {
    let scratch = Scratch::new();
    let set = fingerprints(95, 3000);
    scratch.run("create store --id-type none -q").succeeds();
    let insert = |part: &[u64]| {
        scratch.run_with("insert store - --format u64le -q", &raw(part)).succeeds();
    };
    insert(&set[..1000]);
    scratch.run("flush store -q").succeeds();
    insert(&set[1000..2000]);
    let told = scratch.run("backup store copy").succeeds().stdout;
    assert!(told.starts_with("copy: store in its generation "), "{told}");
    assert!(told.contains(": 1 segment, in 1 file that came ("), "{told}");
    assert_eq!(scratch.dump("copy"), sorted(&set[..2000]));
    scratch.run("verify copy").succeeds();
    scratch.run("backup store copy").fails_naming(&["copy: a store exists", "--incremental"]);
    insert(&set[2000..]);
    scratch.run("flush store -q").succeeds();
    let told = scratch.run("backup store copy --incremental --copy --json").succeeds().stdout;
    let told: Value = serde_json::from_str(&told).unwrap();
    let numbers = ["segments", "files", "linked", "kept"].map(|name| told[name].as_u64().unwrap());
    assert_eq!(numbers, [2, 1, 0, 1]);
    scratch.run("merge store --full -q").succeeds();
    scratch.run("backup store copy --incremental -q").succeeds();
    assert_eq!(scratch.dump("copy"), sorted(&set));
    // The log of a copy has a number of its own.
    let files = |name| {
        let files = scratch.store_files(name).into_iter();
        files.map(|(name, bytes)| (name.replace(char::is_numeric, "_"), bytes)).collect::<Vec<_>>()
    };
    assert_eq!(files("copy"), files("store"));
    scratch.run("verify copy").succeeds();
}

#[test]
fn what_is_no_earlier_state_of_the_store_is_refused() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    scratch.pack("other", &[3], "");
    scratch.run("backup store other --incremental").fails_naming(&["other: holds another store"]);
    assert_eq!(scratch.dump("other"), [3]);
    scratch.run("backup store copy -q").succeeds();
    scratch.run_with("insert copy - -q", b"0x5").succeeds();
    scratch.run("flush copy -q").succeeds();
    scratch.run("backup store copy --incremental").fails_naming(&["copy: holds another store"]);
    assert_eq!(scratch.dump("copy"), [1, 2, 5]);
    for options in ["", " --incremental"] {
        let line = format!("backup store store{options}");
        scratch.run(&line).fails_naming(&["cannot be store: it is the store itself"]);
    }
    scratch.run("backup nothing copy2").fails_naming(&["nothing", "[DIR-1]"]);
    scratch.write("file", "x");
    scratch.run("backup store file").fails_naming(&["file", "not a store"]);
    assert!(!scratch.path("copy2").exists());
}
