//! Commands are killed at random moments: nothing that was acknowledged is lost, and nothing is
//! invented.
//!
//! `FPSTORE_KILLS` says how often `insert` is killed; the others take a fifth of that.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::commands::{self, Writing, name_of};
use crate::expected::{Expected, Judged, acknowledged};
use crate::oracle::{Random, fingerprints};
use crate::scratch::Ran;
use crate::standing::{self, Row};
use crate::{Scratch, number_of, raw, tell};

const SEED: u64 = 500;
/// How often a normal run kills `insert`.
const KILLS: usize = 20;
/// How often a normal run kills each of the others.
const KILLS_OF_OTHERS: usize = 10;
/// Kills of one store.
const KILLS_OF_A_STORE: usize = 50;
/// Rows that are read before a kill, at most.
const ROWS: u64 = 300;

/// A store whose insertions are killed.
struct Killed {
    name: &'static str,
    /// What kind of ids it has.
    ids: &'static str,
    /// The line of the insertion, behind `insert store -`.
    options: &'static str,
    /// What its input begins with.
    header: &'static str,
    /// The id of a fingerprint, if it has one.
    id_of: fn(u64) -> Option<String>,
}

#[test]
fn what_insert_has_acknowledged_outlives_kills() {
    kill_insertions(&Killed {
        name: "insert",
        ids: "none",
        options: "--format hex",
        header: "",
        id_of: |_| None,
    });
}

#[test]
fn what_insert_has_acknowledged_outlives_kills_with_its_name() {
    kill_insertions(&Killed {
        name: "insert with names",
        ids: "text",
        options: "--format csv --id-column url",
        header: "fingerprint,url\n",
        id_of: |fingerprint| Some(name_of(fingerprint)),
    });
}

fn kill_insertions(of: &Killed) {
    let kills = number_of("FPSTORE_KILLS").unwrap_or(KILLS);
    let mut random = Random(SEED);
    let (mut acknowledged_in_all, mut killed) = (0, 0);
    while killed < kills {
        let scratch = Scratch::new();
        scratch.run(&format!("create store --id-type {} -q", of.ids)).succeeds();
        let (mut sent, mut acknowledged) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..KILLS_OF_A_STORE.min(kills - killed) {
            insert_and_kill(of, &scratch, &mut random, &mut sent, &mut acknowledged);
            killed += 1;
            let standing = standing::store(&scratch.path("store"));
            assert!(standing.records().is_some(), "{standing:?}");
            let stored = standing.rows();
            let why = format!("kill {killed}, seed {SEED}");
            assert_eq!(acknowledged.difference(&stored).count(), 0, "lost, {why}");
            assert_eq!(stored.difference(&sent).count(), 0, "invented, {why}");
            // So that the next ones meet segments, too.
            match random.below(6) {
                0 => scratch.run("flush store -q").succeeds(),
                1 => scratch.run("merge store -q").succeeds(),
                _ => continue,
            };
        }
        acknowledged_in_all += acknowledged.len();
    }
    let name = of.name;
    tell(&format!("{name}: {killed} kills, seed {SEED}: {acknowledged_in_all} acknowledged"));
    assert!(acknowledged_in_all > 0, "no insertion came so far that it acknowledged anything");
}

/// Kills an insertion behind some of its rows.
fn insert_and_kill(
    of: &Killed,
    scratch: &Scratch,
    random: &mut Random,
    sent: &mut BTreeSet<Row>,
    acknowledged_so_far: &mut BTreeSet<Row>,
) {
    let options = of.options;
    let line = format!("insert store - {options} --unless-near -k 0 --durability immediate -q");
    let mut command = scratch.command(&line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let feeder = feed(of, child.stdin.take().unwrap(), random.next());
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    for _ in 0..random.below(ROWS) {
        rows.read_line(&mut text).unwrap();
    }
    thread::sleep(Duration::from_micros(random.below(3000)));
    child.kill().unwrap();
    while rows.read_line(&mut text).unwrap() > 0 {}
    child.wait().unwrap();
    sent.extend(feeder.join().unwrap());
    acknowledged_so_far.extend(acknowledged(&text));
}

/// Writes records until nobody reads them, and gives all of them.
fn feed(of: &Killed, mut to: ChildStdin, seed: u64) -> JoinHandle<Vec<Row>> {
    let (header, id_of) = (of.header, of.id_of);
    thread::spawn(move || {
        let (mut random, mut sent) = (Random(seed), Vec::new());
        let mut text = header.to_string();
        loop {
            for _ in 0..1 + random.below(100) {
                let row = random.next();
                let id = id_of(row);
                text += &format!("{row:016x}");
                text.extend(id.iter().flat_map(|id| [",", id]));
                text.push('\n');
                sent.push((row, id));
            }
            if to.write_all(text.as_bytes()).is_err() {
                return sent;
            }
            text.clear();
        }
    })
}

macro_rules! killed {
    ($($name:ident: $writing:ident from $prepare:ident,)*) => {
        $(#[test]
        fn $name() {
            let writing = Writing { prepare: $prepare, ..commands::$writing };
            kill_at_random(stringify!($name), &writing);
        })*
    };
}

killed! {
    backup: BACKUP from large,
    backup_copy: BACKUP_COPY from large,
    backup_incremental: BACKUP_INCREMENTAL_COPY from large_with_copy,
    repair: REPAIR from large,
    repair_windows: REPAIR_WINDOWS from large_windows,
    merge_full: MERGE_FULL from large,
}

/// Kills a command at moments between its start and its usual end.
fn kill_at_random(name: &str, writing: &Writing) {
    let kills = number_of("FPSTORE_KILLS").map_or(KILLS_OF_OTHERS, |kills| kills.div_ceil(5));
    let expected = Expected::of(writing);
    let usual = usual_time(&expected, writing);
    let mut random = Random(SEED);
    let mut states = std::collections::BTreeMap::<&str, usize>::new();
    let (mut failures, mut killed) = (Vec::new(), 0);
    for kill in 0..kills {
        let scratch = expected.scratch();
        let delay = Duration::from_nanos(random.below(usual.as_nanos() as u64));
        let mut command = scratch.command(writing.line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        thread::sleep(delay);
        child.kill().unwrap();
        let ended = Ran::new(writing.line, child.wait_with_output().unwrap());
        killed += usize::from(ended.code.is_none());
        let Judged { state, failures: wrong } = expected.judge(&scratch, &ended);
        *states.entry(state).or_default() += 1;
        failures.extend(wrong.iter().map(|why| format!("kill {kill} after {delay:?}: {why}")));
    }
    tell(&format!("{name}: {killed} of {kills} killed within {usual:?}, seed {SEED}; {states:?}"));
    assert!(failures.is_empty(), "fpstore {}\n{}", writing.line, failures.join("\n"));
}

/// A little more than a run takes.
fn usual_time(expected: &Expected<'_>, writing: &Writing) -> Duration {
    let mut times = [(); 3].map(|()| {
        let scratch = expected.scratch();
        let start = Instant::now();
        scratch.run(writing.line).ends_with_code(0);
        start.elapsed()
    });
    times.sort();
    times[1] * 9 / 8
}

/// A store in several segments and a log, of which a command takes some time.
fn large(scratch: &Scratch) {
    scratch.run("create store --id-type none -q").succeeds();
    for part in fingerprints(501, 8000).chunks(2000) {
        scratch.run_with("insert store - --format u64le -q", &raw(part)).succeeds();
        scratch.run("flush store -q").succeeds();
    }
    scratch.run_with("insert store - --format u64le -q", &raw(&fingerprints(502, 2000))).succeeds();
}

fn large_with_copy(scratch: &Scratch) {
    large(scratch);
    scratch.run("backup store copy -q").succeeds();
    scratch.run("merge store --full -q").ends_with_code(0);
    scratch.run_with("insert store - --format u64le -q", &raw(&fingerprints(503, 2000))).succeeds();
}

fn large_windows(scratch: &Scratch) {
    scratch.run("create store --window 1d -q").succeeds();
    for (day, part) in fingerprints(501, 8000).chunks(2000).enumerate() {
        let line =
            format!("insert store - -q --ids line --format u64le --time 2026-01-0{}", day + 1);
        scratch.run_with(&line, &raw(part)).succeeds();
    }
    scratch.run("flush store -q").succeeds();
}
