//! `kill -9` at any moment of a pack leaves no store, or the old one, or the new one.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use fpstore::Store;

use crate::Scratch;
use crate::oracle::{Random, fingerprints, sorted};
use crate::raw;

const SEED: u64 = 60;
const KILLS: u32 = 100;
/// Large enough that a pack takes tens of milliseconds.
const COUNT: usize = 150_000;

/// How often each state was found after a kill.
#[derive(Debug, Default)]
struct Found {
    none: u32,
    old: u32,
    new: u32,
    /// Whichever it was, with files beside it that belong to no store.
    with_leftovers: u32,
}

#[test]
fn a_pack_that_is_killed_leaves_the_old_store_or_the_new_one() {
    let old = sorted(&fingerprints(61, 2000));
    let found = kill_packs(Some(&old), SEED);
    assert_eq!(found.none, 0, "{found:?}");
    assert!(found.old > 0, "no kill came before the end of a pack: {found:?}");
}

#[test]
fn a_first_pack_that_is_killed_leaves_no_store_or_the_new_one() {
    let found = kill_packs(None, SEED + 1);
    assert!(found.none > 0, "no kill came before the end of a pack: {found:?}");
}

/// Kills packs of one set over a store of `old`, or into a fresh place.
fn kill_packs(old: Option<&[u64]>, seed: u64) -> Found {
    println!("seed {seed}");
    let scratch = Scratch::new();
    let set = fingerprints(62, COUNT);
    scratch.write("in", raw(&set));
    let new = sorted(&set);
    let duration = usual_pack(&scratch);
    println!("a pack takes {duration:?}");
    let mut random = Random(seed);
    let mut found = Found::default();
    for round in 0..KILLS {
        remove(&scratch);
        if let Some(old) = old {
            scratch.pack("store", old, "");
        }
        let delay = Duration::from_nanos(random.below(duration.as_nanos() as u64));
        println!("round {round}: kill after {delay:?}");
        kill_after(&scratch, delay);
        let exists = scratch.path("store/manifest.fps").exists();
        if exists {
            let is = whole_store(&scratch);
            if is == new {
                found.new += 1;
            } else {
                assert!(Some(&is[..]) == old, "{} fingerprints, neither old nor new", is.len());
                found.old += 1;
            }
        } else {
            assert!(Store::open(scratch.path("store")).is_err());
            found.none += 1;
        }
        if scratch.path("store").exists() && !leftovers(&scratch).is_empty() {
            found.with_leftovers += 1;
        }
        pack_again(&scratch, exists);
        assert!(whole_store(&scratch) == [7, 8], "round {round}");
        assert_eq!(leftovers(&scratch), [""; 0], "round {round}");
        let beside: Vec<_> = scratch.listing("").into_iter().map(|(name, _)| name).collect();
        assert_eq!(beside, ["in", "store"], "round {round}");
    }
    println!("{found:?}");
    assert!(found.with_leftovers > 0, "no kill came while tables were written: {found:?}");
    found
}

fn remove(scratch: &Scratch) {
    if scratch.path("store").exists() {
        fs::remove_dir_all(scratch.path("store")).unwrap();
    }
}

/// A little more than the median time of a few packs, from the start of the process on: one that the
/// machine stalled must not make all delays long.
fn usual_pack(scratch: &Scratch) -> Duration {
    let mut times = [(); 5].map(|()| {
        remove(scratch);
        let start = Instant::now();
        scratch.run("pack in -o store --quiet").succeeds();
        start.elapsed()
    });
    times.sort();
    times[2] * 5 / 4
}

fn kill_after(scratch: &Scratch, delay: Duration) {
    let mut command = scratch.command("pack in -o store --force --quiet");
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    thread::sleep(delay);
    // On Unix this is SIGKILL. The pack may have ended before.
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The fingerprints of the store, which must pass verification.
fn whole_store(scratch: &Scratch) -> Vec<u64> {
    let store = Store::open(scratch.path("store")).unwrap();
    store.verify().unwrap();
    store.iter().map(|fingerprint| fingerprint.unwrap()).collect()
}

/// Packs a small set over what is there; a place without a store needs no `--force`.
fn pack_again(scratch: &Scratch, exists: bool) {
    let force = if exists { "--force" } else { "" };
    scratch.run_with(&format!("pack - -o store --quiet {force}"), b"7\n8\n").succeeds();
}

/// Names in the directory of the store that do not belong to the store, if there is one.
fn leftovers(scratch: &Scratch) -> Vec<String> {
    let mut named = BTreeSet::from(["manifest.fps".to_string(), "lock".to_string()]);
    if let Ok(store) = Store::open(scratch.path("store")) {
        for segment in store.stats().unwrap().segments {
            for table in &segment.tables {
                named.insert(format!(
                    "segment-{:016x}-table-{:03}.fpt",
                    segment.number, table.number
                ));
            }
        }
    }
    let names = scratch.listing("store").into_iter().map(|(name, _)| name);
    names.filter(|name| !named.contains(name)).collect()
}
