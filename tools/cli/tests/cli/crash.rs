//! `kill -9` or SIGTERM at any moment of a pack, in memory or not, leaves no store, or the old one,
//! or the new one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fpstore::Store;

use crate::Scratch;
use crate::oracle::{Random, fingerprints, sorted};
use crate::raw;

const SEED: u64 = 60;
/// Rounds of each test, unless `FPSTORE_KILLS` says how many.
const KILLS: u32 = 32;
/// Large enough that a pack takes tens of milliseconds.
const COUNT: usize = 150_000;
/// More than fit into the least memory.
const LARGE_COUNT: usize = 600_000;
const LITTLE: &str = "--memory 16MiB --design halves";

/// How packs are stopped.
#[derive(Clone, Copy)]
struct Stop {
    count: usize,
    options: &'static str,
    /// SIGTERM, not SIGKILL.
    politely: bool,
}

/// From when on the time to a stop counts. Files are written for a small part of a pack only.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Since {
    /// The start of the process.
    Start,
    /// A file in the store that was not there before.
    FirstFile,
}

/// The longest time to a stop from the first file on.
const LATER: Duration = Duration::from_millis(3);

const KILL: Stop = Stop { count: COUNT, options: "", politely: false };

/// How often each state was found after a kill.
#[derive(Debug, Default)]
struct Found {
    none: u32,
    old: u32,
    new: u32,
    /// Whichever it was, with files beside it that belong to no store.
    with_leftovers: u32,
    /// Ended by itself for a signal that it had been told to listen to.
    listened: u32,
}

#[test]
fn a_pack_that_is_killed_leaves_the_old_store_or_the_new_one() {
    let old = sorted(&fingerprints(61, 2000));
    let found = kill_packs(KILL, Some(&old), SEED);
    assert_eq!(found.none, 0, "{found:?}");
    assert!(found.old > 0, "no kill came before the end of a pack: {found:?}");
}

#[test]
fn a_first_pack_that_is_killed_leaves_no_store_or_the_new_one() {
    let found = kill_packs(KILL, None, SEED + 1);
    assert!(found.none > 0, "no kill came before the end of a pack: {found:?}");
}

#[test]
fn a_pack_in_little_memory_that_is_killed_leaves_no_temporaries_behind_the_next_one() {
    let stop = Stop { count: LARGE_COUNT, options: LITTLE, politely: false };
    let found = kill_packs(stop, None, SEED + 2);
    assert!(found.none > 0, "no kill came before the end of a pack: {found:?}");
}

#[test]
fn a_pack_in_little_memory_that_is_terminated_leaves_nothing() {
    let old = sorted(&fingerprints(61, 2000));
    let stop = Stop { count: LARGE_COUNT, options: LITTLE, politely: true };
    let found = kill_packs(stop, Some(&old), SEED + 3);
    assert!(found.old > 0, "no signal came before the end of a pack: {found:?}");
    assert_eq!(found.with_leftovers, 0, "{found:?}");
    assert!(found.listened > 0, "no signal came to a pack that listens: {found:?}");
}

/// Stops packs of one set over a store of `old`, or into a fresh place.
fn kill_packs(stop: Stop, old: Option<&[u64]>, seed: u64) -> Found {
    println!("seed {seed}");
    let scratch = Scratch::new();
    let set = fingerprints(62, stop.count);
    scratch.write("in", raw(&set));
    let new = sorted(&set);
    let duration = usual_pack(&scratch, stop);
    println!("a pack takes {duration:?}");
    let mut random = Random(seed);
    let mut found = Found::default();
    let kills = std::env::var("FPSTORE_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    for round in 0..kills {
        remove(&scratch);
        if let Some(old) = old {
            scratch.pack("store", old, "");
        }
        let since = if round % 2 == 0 { Since::Start } else { Since::FirstFile };
        let most = if since == Since::Start { duration } else { LATER };
        let delay = Duration::from_nanos(random.below(most.as_nanos() as u64));
        println!("round {round}: stopped {delay:?} after {since:?}");
        let status = stop_after(&scratch, stop, since, delay);
        found.listened += u32::from(status.code() == Some(143));
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
        if !status.success() && stop.politely && old.is_none() {
            assert!(!scratch.path("store").exists(), "round {round}");
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
    let none_expected = stop.politely;
    assert!(
        none_expected || found.with_leftovers > 0,
        "no kill came while files were written: {found:?}"
    );
    found
}

fn remove(scratch: &Scratch) {
    if scratch.path("store").exists() {
        fs::remove_dir_all(scratch.path("store")).unwrap();
    }
}

/// A little more than the median time of a few packs, from the start of the process on: one that
/// the machine stalled must not make all delays long.
fn usual_pack(scratch: &Scratch, stop: Stop) -> Duration {
    let mut times = [(); 5].map(|()| {
        remove(scratch);
        let start = Instant::now();
        scratch
            .run(&format!("pack in -o store --format u64le --quiet {}", stop.options))
            .succeeds();
        start.elapsed()
    });
    times.sort();
    times[2] * 5 / 4
}

/// Stops a pack, and tells how it ended.
fn stop_after(scratch: &Scratch, stop: Stop, since: Since, delay: Duration) -> ExitStatus {
    let names = || fs::read_dir(scratch.path("store")).map_or(0, |entries| entries.count());
    let before = names();
    let mut command = scratch
        .command(&format!("pack in -o store --force --format u64le --quiet {}", stop.options));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The lock is a name that comes before any file.
    let is_written = || names() > before.max(1);
    while since == Since::FirstFile && !is_written() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_micros(100));
    }
    thread::sleep(delay);
    if stop.politely {
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    } else {
        // On Unix this is SIGKILL. The pack may have ended before.
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    if stop.politely && !status.success() {
        // Before the pack listens, the signal ends it as it ends any process.
        let early = status.signal() == Some(15);
        assert!(early || status.code() == Some(143), "{status:?} after {delay:?}");
    }
    status
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
