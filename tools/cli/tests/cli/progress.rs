//! `--progress json`: the same lines of all commands.

use serde_json::Value;

use crate::oracle::{fingerprints, sorted};
use crate::{Ran, Scratch, hex};

/// The lines on standard error.
fn lines(ran: &Ran) -> Vec<Value> {
    ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The last line of a phase, which must be at its end.
#[track_caller]
fn end_of<'a>(lines: &'a [Value], phase: &str) -> &'a Value {
    let last = lines.iter().rfind(|line| line["phase"] == phase).unwrap();
    assert!(last["done"] == last["total"] && last["seconds_left"] == 0.0, "{last}");
    last
}

#[test]
fn verify_tells_how_many_keys_and_ids_are_checked() {
    let scratch = Scratch::new();
    let set = fingerprints(31, 3000);
    scratch.pack("store", &set, "--design halves --ids line");
    let lines = lines(&scratch.run("verify store --progress json --quiet").ends_with_code(0));
    let done = 2 * sorted(&set).len() + set.len();
    assert_eq!(end_of(&lines, "verify")["done"], done);
}

#[test]
fn dump_tells_fingerprints_and_bytes() {
    let scratch = Scratch::new();
    let set = sorted(&fingerprints(32, 3000));
    scratch.pack("store", &set, "");
    let ran = scratch.run("dump store --progress json").ends_with_code(0);
    assert_eq!(ran.stdout, hex(&set));
    assert_eq!(end_of(&lines(&ran), "dump")["done"], set.len());
}

#[test]
fn query_tells_queries_and_matches_of_a_file() {
    let scratch = Scratch::new();
    let set = sorted(&fingerprints(33, 3000));
    scratch.pack("store", &set, "");
    scratch.write("queries", hex(&set));
    let line = "query store --from queries -k 0 --progress json";
    let ran = scratch.run(line).ends_with_code(0);
    assert_eq!(ran.stdout.lines().count(), set.len());
    let lines = lines(&ran);
    assert_eq!(lines[0]["phase"], "read");
    let last = end_of(&lines, "query");
    assert_eq!((&last["done"], &last["matches"]), (&set.len().into(), &set.len().into()));
}
