//! Readers beside a writer, and writers that are killed.
//!
//! The operations of these tests follow from their number, and a snapshot tells the number of the
//! last one that it sees: so what it must hold is known exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fpstore::{Durability, Layout, Snapshot, Store, StoreOptions, Writer, WriterOptions};

use crate::sets;

/// Tells the other processes of a test what to do: a role, and the directory of the store.
const ROLE: &str = "FPSTORE_ROLE";
/// Seconds of a window, and operations after which the next one begins; so many windows are kept.
const WINDOW: u64 = 10;
const PER_WINDOW: u64 = 400;
const KEPT: u64 = 3;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert(u64, u64),
    Delete(u64, u64),
    DeleteFingerprint(u64),
}

fn window_of(number: u64) -> u64 {
    1000 + number / PER_WINDOW
}

/// Operation `number`, from 1 on.
fn operation(number: u64) -> Operation {
    let random = sets::Random(number).next();
    // Around one of 300 centres, so that much comes again.
    let centre = sets::Random(random % 300).next();
    let fingerprint = centre ^ 1 << (random >> 20 & 63) & 0xFF00_FF00;
    match random >> 40 & 15 {
        0 | 1 => Operation::Delete(fingerprint, random >> 50 & 3),
        2 => Operation::DeleteFingerprint(fingerprint),
        _ => Operation::Insert(fingerprint, random >> 50 & 3),
    }
}

/// What operations leave: of each fingerprint the ids, and of these the windows.
#[derive(Clone, Default)]
struct Model {
    pairs: BTreeMap<u64, BTreeMap<u64, BTreeSet<u64>>>,
    done: u64,
}

impl Model {
    /// Goes on up to operation `number`.
    fn go_on(&mut self, number: u64) {
        assert!(number >= self.done, "from {} back to {number}", self.done);
        for number in self.done + 1..=number {
            match operation(number) {
                Operation::Insert(fingerprint, id) => {
                    let ids = self.pairs.entry(fingerprint).or_default();
                    ids.entry(id).or_default().insert(window_of(number));
                }
                Operation::Delete(fingerprint, id) => {
                    if let Some(ids) = self.pairs.get_mut(&fingerprint) {
                        ids.remove(&id);
                    }
                }
                Operation::DeleteFingerprint(fingerprint) => {
                    self.pairs.remove(&fingerprint);
                }
            }
        }
        self.done = number;
    }

    /// The fingerprints and ids of windows from `first` on.
    fn since_window(&self, first: u64) -> Vec<(u64, Vec<u64>)> {
        let alive = |windows: &BTreeSet<u64>| windows.range(first..).next().is_some();
        let of = |(&fingerprint, ids): (&u64, &BTreeMap<u64, BTreeSet<u64>>)| {
            let ids = ids.iter().filter(|(_, windows)| alive(windows)).map(|(&id, _)| id);
            (fingerprint, ids.collect::<Vec<_>>())
        };
        self.pairs.iter().map(of).filter(|(_, ids)| !ids.is_empty()).collect()
    }
}

fn contents(snapshot: &Snapshot) -> Vec<(u64, Vec<u64>)> {
    let entries = snapshot.iter_with_ids::<u64>().map(|entry| entry.expect("a sound store"));
    entries
        .map(|(fingerprint, ids)| (fingerprint, ids.map(|id| id.expect("a sound store")).collect()))
        .collect()
}

fn sequence(snapshot: &Snapshot) -> u64 {
    snapshot.stats().expect("sound histograms").living.expect("a log").sequence
}

/// Fails unless a snapshot holds exactly what its operations leave: with the windows that are kept
/// then, or with the one that is to go.
fn check(snapshot: &Snapshot, model: &mut Model) {
    let number = sequence(snapshot);
    model.go_on(number);
    let found = contents(snapshot);
    // Right behind the operation before one that begins a window, what expires may still be there.
    let first = window_of(number + 1).saturating_sub(KEPT);
    let may_be = [0, 1].map(|more| model.since_window(first - more));
    if !may_be.contains(&found) {
        let differs = |one: &[(u64, Vec<u64>)], other: &[(u64, Vec<u64>)]| {
            one.iter().filter(|pair| !other.contains(pair)).take(5).cloned().collect::<Vec<_>>()
        };
        let (lost, surplus) = (differs(&may_be[0], &found), differs(&found, &may_be[0]));
        let counts = may_be.each_ref().map(Vec::len);
        panic!(
            "the state behind operation {number} is another one: {} fingerprints, not {counts:?}; of windows from {first} on \
             {lost:?} are not there, and {surplus:?} should not be",
            found.len()
        );
    }
    for (fingerprint, _) in found.iter().step_by(found.len() / 5 + 1) {
        let query = fingerprint ^ 3;
        let fingerprints: Vec<u64> = found.iter().map(|(fingerprint, _)| *fingerprint).collect();
        let near = sets::brute_force(&fingerprints, query, 3);
        assert_eq!(snapshot.search(query, 3).expect("a sound store"), near);
    }
}

fn options() -> StoreOptions {
    let writer = WriterOptions::new().tail_records(200).sync_interval(Duration::from_millis(5));
    StoreOptions::new()
        .window(Some(Duration::from_secs(WINDOW)))
        .layout(Layout::new().block_bytes(256).design("22,21,21".parse().expect("a design")))
        .writer(writer)
}

/// Drops what is too old before the operation that begins a window.
fn expire_behind(writer: &Writer, number: u64) {
    if (number + 1).is_multiple_of(PER_WINDOW) {
        let first = window_of(number + 1) - KEPT;
        writer.expire(UNIX_EPOCH + Duration::from_secs(first * WINDOW)).expect("expired");
    }
}

/// Goes on with the operations of a store; calls `committed` with the number of the last one that
/// is durable.
fn write(writer: &Writer, last: u64, mut committed: impl FnMut(u64) -> bool) {
    let mut number = sequence(&writer.snapshot());
    // The one before may have been killed before it had done so.
    expire_behind(writer, number);
    while number < last {
        number += 1;
        let time = UNIX_EPOCH + Duration::from_secs(window_of(number) * WINDOW);
        match operation(number) {
            Operation::Insert(fingerprint, id) => writer.insert_at(fingerprint, id, time),
            Operation::Delete(fingerprint, id) => writer.delete(fingerprint, id),
            Operation::DeleteFingerprint(fingerprint) => writer.delete_fingerprint(fingerprint),
        }
        .expect("written");
        expire_behind(writer, number);
        if number.is_multiple_of(97) {
            writer.commit(Durability::Immediate).expect("committed");
            if !committed(number) {
                return;
            }
        } else if number.is_multiple_of(13) {
            writer.commit(Durability::Eventual).expect("handed on");
        }
        if number.is_multiple_of(1501) {
            writer.merge_all().expect("merged");
        }
    }
}

/// What a process of a test does if it is one of those that it starts itself.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (role, path) = role.split_once(' ').expect("a role and a directory");
    let mut out = std::io::stdout();
    if role == "writer" {
        let writer = WriterOptions::new().tail_records(200).open(path).expect("the writer opens");
        write(&writer, u64::MAX, |number| writeln!(out, "durable {number}").is_ok());
        return;
    }
    if role == "inserter" {
        // Inserts what it reads, and says so once others may see it.
        let writer = WriterOptions::new().open(path).expect("the writer opens");
        for line in std::io::stdin().lines() {
            let number: u64 = line.expect("a line").parse().expect("a number");
            writer.insert_fingerprints(&[number]).expect("inserted");
            writer.commit(Durability::Immediate).expect("committed");
            writeln!(out, "durable {number}").expect("a reader");
        }
        return;
    }
    let store = Store::open(path).expect("the store opens");
    let (mut model, mut states) = (Model::default(), 0u64);
    check(&store.snapshot(), &mut model);
    loop {
        // Nobody reads this before the end: a few lines fit into a pipe.
        if store.refresh().expect("the store is sound") {
            check(&store.snapshot(), &mut model);
            states += 1;
            if states % 10 == 0 && writeln!(out, "checked").is_err() {
                return;
            }
        }
    }
}

fn start(role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("a program"))
        .args(["--exact", "beside::role", "--nocapture"])
        .env(ROLE, format!("{role} {}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the process starts")
}

#[test]
fn a_store_that_is_open_for_long_sees_what_another_process_commits_within_its_time() {
    const EVERY: Duration = Duration::from_millis(50);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    drop(StoreOptions::<u64>::new().ids(None).create(&path).unwrap());
    let mut inserter = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "beside::role", "--nocapture"])
        .env(ROLE, format!("inserter {}", path.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(inserter.stdout.take().unwrap()).lines();
    let mut insert = |number: u64| {
        writeln!(inserter.stdin.as_ref().unwrap(), "{number}").unwrap();
        let lines = lines.by_ref().map(Result::unwrap);
        let durable = lines.filter_map(|line| number_after(&line, "durable ")).next();
        assert_eq!(durable, Some(number));
    };
    let open = |every| {
        let options = fpstore::OpenOptions::new();
        let options = match every {
            Some(every) => options.refresh_every(every),
            None => options,
        };
        options.open(&path).unwrap()
    };
    let (store, always, never) = (open(Some(EVERY)), open(Some(Duration::ZERO)), open(None));
    let seen = |store: &Store, number: u64| store.search(number, 0).unwrap().len() == 1;
    // How many there are with this one.
    let inserted = |number: u64| 2 * ((number >> 8) - (1 << 40) + 1);
    let asks: [&dyn Fn(u64) -> bool; 8] = [
        &|number| seen(&store, number),
        &|number| store.contains(number).unwrap(),
        &|number| store.any_within(number, 0).unwrap(),
        &|number| store.nearest(number, 1, 0).unwrap().len() == 1,
        &|number| store.count().unwrap() == inserted(number),
        &|number| store.stats().unwrap().living.unwrap().sequence == inserted(number),
        &|number| store.verify().unwrap().log_operations == inserted(number),
        &|number| store.refresh_if_due().unwrap() && seen(&store, number),
    ];
    for (number, ask) in (1u64 << 40..).zip(asks) {
        insert(number);
        assert!(seen(&always, number) && !seen(&never, number));
        // Not before its time: the last look was just now.
        store.refresh().unwrap();
        insert(number << 8);
        assert!(store.snapshot().search(number << 8, 0).unwrap().is_empty());
        std::thread::sleep(EVERY);
        assert!(ask(number << 8), "{number:x}");
        assert!(!store.refresh_if_due().unwrap(), "nothing is new");
    }
    // What cannot be looked at is an error, again and again, until it can.
    let (away, manifest) = (path.join("away"), path.join("manifest.fps"));
    std::fs::rename(&manifest, &away).unwrap();
    for _ in 0..2 {
        std::thread::sleep(EVERY);
        assert_eq!(store.search(1, 0).unwrap_err().kind(), fpstore::ErrorKind::NotFound);
    }
    std::fs::rename(&away, &manifest).unwrap();
    assert!(seen(&store, 1 << 40));
    drop(inserter.stdin.take());
    assert!(inserter.wait().unwrap().success());
}

fn number_after(line: &str, word: &str) -> Option<u64> {
    line.rsplit_once(word).and_then(|(_, number)| number.trim().parse().ok())
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Kills of the writer of one store, before another one is begun: what readers check grows with
/// each.
const OF_STORE: u64 = 10;

/// Kills the writer of a new store some times, with a reader beside; gives how many states that has
/// checked, and how many operations there were in the end, and beyond those promised.
fn kill_writers(random: &mut sets::Random, kills: u64) -> [u64; 3] {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    drop(options().create(&path).unwrap());
    let mut model = Model::default();
    let mut reader = start("reader", &path);
    let mut unpromised = 0;
    for kill in 0..kills {
        let mut writer = start("writer", &path);
        std::thread::sleep(Duration::from_millis(30 + random.next() % 150));
        writer.kill().unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let durable =
            lines.map_while(Result::ok).filter_map(|line| number_after(&line, "durable "));
        let durable = durable.last().unwrap_or(0).max(model.done);
        writer.wait().unwrap();
        assert!(reader.try_wait().unwrap().is_none(), "the reader ended, at kill {kill}");
        let snapshot = Store::open(&path).unwrap().snapshot();
        let found = sequence(&snapshot);
        assert!(found >= durable, "{durable} were durable, {found} are there, at kill {kill}");
        check(&snapshot, &mut model);
        snapshot.verify().unwrap();
        unpromised += found - durable;
    }
    // What it has seen last is looked at by then.
    std::thread::sleep(Duration::from_millis(50));
    assert!(reader.try_wait().unwrap().is_none(), "the reader ended");
    reader.kill().unwrap();
    let lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    let checked = lines.map_while(Result::ok).filter(|line| line.contains("checked")).count();
    reader.wait().unwrap();
    [10 * checked as u64, model.done, unpromised]
}

/// `FPSTORE_KILLS` times, or 8.
#[test]
fn a_writer_that_is_killed_loses_nothing_that_was_durable_and_readers_see_no_state_that_was_not() {
    let kills = from_environment("FPSTORE_KILLS", 8);
    let mut random = sets::Random(from_environment("FPSTORE_SEED", 1));
    let mut sums = [0; 3];
    for first in (0..kills).step_by(OF_STORE as usize) {
        let counts = kill_writers(&mut random, (kills - first).min(OF_STORE));
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    let [checked, operations, unpromised] = sums;
    println!(
        "{kills} kills, {operations} operations, {checked} states checked by readers; {unpromised} operations were \
         there beyond those promised"
    );
    assert!(operations > 0 && checked > 0);
}

/// For `FPSTORE_SECONDS`, or 3.
#[test]
fn every_answer_beside_a_writer_is_a_state_between_two_operations() {
    let time = Duration::from_secs(from_environment("FPSTORE_SECONDS", 3));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let writer = options().create(&path).unwrap();
    write(&writer, 50, |_| true);
    writer.commit(Durability::Eventual).unwrap();
    let mut process = start("reader", &path);
    let ended = AtomicBool::new(false);
    let end = Instant::now() + time;
    let counts: Vec<u64> = std::thread::scope(|scope| {
        let (ended, writer, path) = (&ended, &writer, &path);
        // Two see the snapshots of the writer, and two open the store for themselves.
        let readers = (0..4).map(|reader| {
            scope.spawn(move || {
                let store = Store::open(path).unwrap();
                let (mut model, mut states) = (Model::default(), 0u64);
                while !ended.load(Ordering::Relaxed) {
                    let snapshot = if reader % 2 == 0 {
                        writer.snapshot()
                    } else {
                        store.refresh().unwrap();
                        store.snapshot()
                    };
                    check(&snapshot, &mut model);
                    states += 1;
                }
                states
            })
        });
        let readers: Vec<_> = readers.collect();
        write(writer, u64::MAX, |_| {
            readers.iter().all(|reader| !reader.is_finished()) && Instant::now() < end
        });
        ended.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(process.try_wait().unwrap().is_none(), "the reader process ended");
    process.kill().unwrap();
    process.wait().unwrap();
    println!("{} operations; states checked by threads: {counts:?}", sequence(&writer.snapshot()));
    assert!(counts.iter().all(|&states| states > 0));
}
