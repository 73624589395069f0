//! The store of a command is moved, replaced, removed or unlocked at a random moment, from the one
//! on at which the command holds its lock.
//!
//! Afterwards all stores are whole, another store holds what its own writers put there, and what
//! was acknowledged is in the store that the command was started with, wherever that is now. Else
//! the command has ended with exit code 2 and a message.
//!
//! `FPSTORE_MOMENTS` says at how many moments each of these happens to each command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::expected::{acknowledged, copy_of};
use crate::oracle::{Random, fingerprints};
use crate::scratch::Ran;
use crate::standing::{self, Between, Record, Standing, State, Thing};
use crate::{Scratch, number_of, raw, tell};

const SEED: u64 = 600;
/// How many moments a normal run takes.
const MOMENTS: usize = 3;
/// How often a moment is looked for at which the command still runs.
const ATTEMPTS: usize = 5;
/// Pieces in which a pipe is fed, and the pause between them.
const PIECES: usize = 20;
const PAUSE: Duration = Duration::from_millis(2);
/// Longer than any of these commands takes on the slowest machine: it hangs.
const HANGS: Duration = Duration::from_secs(120);

/// What happens to the path of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// It is renamed.
    Moved,
    /// It is renamed, and another store gets its name.
    Replaced,
    /// The command was given a link, which leads to another store now.
    Flipped,
    /// It is removed with all its files.
    Removed,
    /// Its lock is removed, and a second writer starts at once.
    Unlocked,
}

const EVENTS: [Event; 5] =
    [Event::Moved, Event::Replaced, Event::Flipped, Event::Removed, Event::Unlocked];

/// A command, and the store that is taken from it.
#[derive(Clone, Copy)]
struct Victim {
    /// Makes the store `store`, and what else the command needs.
    prepare: fn(&Scratch),
    /// Its arguments; `STORE` stands for the path of the store.
    line: &'static str,
    /// Whether it reads the file `in` from a pipe, bit by bit.
    piped: bool,
    /// Whether it only reads the store, so that it takes no lock.
    reads: bool,
    /// What it writes besides the store.
    result: Option<Thing>,
    /// What may stand there where it is stopped.
    between: Between,
    /// Whether nothing stays of what the store held before, whoever put it there.
    replaces: bool,
    /// Options with which the store takes insertions.
    options: &'static str,
}

const UPKEEP: Victim = Victim {
    prepare: living,
    line: "",
    piped: false,
    reads: false,
    result: None,
    between: Between::Nothing,
    replaces: false,
    options: "",
};
const INSERT: Victim = Victim {
    line: "insert STORE - --format u64le -q",
    piped: true,
    between: Between::Pieces,
    ..UPKEEP
};
const INSERT_UNLESS_NEAR: Victim = Victim {
    line: "insert STORE - --format u64le --unless-near -k 0 --durability immediate -q",
    ..INSERT
};
const DELETE: Victim = Victim {
    prepare: |scratch| {
        living(scratch);
        scratch.write("in", raw(&fingerprints(601, 600)));
    },
    line: "delete STORE --from - --format u64le -q",
    ..INSERT
};
const FLUSH: Victim = Victim { line: "flush STORE -q", ..UPKEEP };
const MERGE_FULL: Victim = Victim { line: "merge STORE --full -q", ..UPKEEP };
const EXPIRE: Victim = Victim {
    prepare: windows,
    line: "expire STORE --before 2026-01-03 -q",
    options: "--ids line --first-id 90000 --time 2026-01-05",
    ..UPKEEP
};
const PACK_APPEND: Victim = Victim { line: "pack in --append STORE --format u64le -q", ..UPKEEP };
const PACK_FORCE: Victim =
    Victim { line: "pack in -o STORE --force --format u64le -q", replaces: true, ..UPKEEP };
const BACKUP_SOURCE: Victim = Victim {
    line: "backup STORE copy --copy -q",
    reads: true,
    result: Some(Thing::Store("copy")),
    ..UPKEEP
};
const BACKUP_DEST: Victim = Victim {
    prepare: |scratch| {
        living(scratch);
        fs::rename(scratch.path("store"), scratch.path("source")).unwrap();
        scratch.run("backup source store --copy -q").succeeds();
        scratch.run("merge source --full -q").ends_with_code(0);
        insert(scratch, "source", "", &fingerprints(604, 500));
    },
    line: "backup source STORE --incremental --copy -q",
    ..UPKEEP
};
const REPAIR_SOURCE: Victim =
    Victim { line: "repair STORE saved", result: Some(Thing::Store("saved")), ..BACKUP_SOURCE };
const REPAIR_DEST: Victim = Victim {
    prepare: |scratch| {
        living(scratch);
        fs::rename(scratch.path("store"), scratch.path("source")).unwrap();
        fs::create_dir(scratch.path("store")).unwrap();
    },
    line: "repair source STORE",
    ..UPKEEP
};
const CORPUS_ADD: Victim = Victim {
    prepare: |scratch| {
        crate::commands::texts(scratch, "texts.jsonl", 0..300);
        scratch.run("create store --recipe simhash-64 -q").succeeds();
        insert(scratch, "store", "--ids line --first-id 5000", &fingerprints(605, 500));
        another(scratch, "--recipe simhash-64", "--ids line --first-id 7000");
    },
    line: "corpus dedup texts.jsonl --id-column id --recipe simhash-64 --against STORE --add -o out -q",
    result: Some(Thing::Results("out")),
    options: "--ids line --first-id 90000",
    ..UPKEEP
};

macro_rules! taken {
    ($($name:ident: $victim:ident,)*) => {
        $(#[test]
        fn $name() {
            take_away(stringify!($name), &$victim);
        })*
    };
}

taken! {
    insert_from_a_pipe: INSERT,
    insert_unless_near: INSERT_UNLESS_NEAR,
    delete: DELETE,
    flush: FLUSH,
    merge_full: MERGE_FULL,
    expire: EXPIRE,
    pack_append: PACK_APPEND,
    pack_force: PACK_FORCE,
    backup_source: BACKUP_SOURCE,
    backup_dest: BACKUP_DEST,
    repair_source: REPAIR_SOURCE,
    repair_dest: REPAIR_DEST,
    corpus_dedup_add: CORPUS_ADD,
}

/// What stands before an event and without one.
struct Undisturbed {
    start: Scratch,
    old: Standing,
    new: Standing,
    result: Option<Standing>,
    other: Standing,
    /// How long it takes once it holds the lock.
    time: Duration,
}

/// When something happens to a store.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// Pieces of the input that the command has got before, of one that reads a pipe.
    pieces: usize,
    /// The time since then, or since it holds the lock.
    delay: Duration,
}

impl Moment {
    fn random(random: &mut Random, undisturbed: &Undisturbed) -> Self {
        let most = undisturbed.time.as_nanos() as u64;
        let pieces = random.below(PIECES as u64) as usize;
        Self { pieces, delay: Duration::from_nanos(random.below(most)) }
    }
}

/// Feeds a command, which waits for what follows until something has happened.
struct Feeder {
    has_fed: Receiver<()>,
    go_on: SyncSender<()>,
}

/// A command that runs.
struct Running {
    child: Child,
    /// Its output, of which it may write more than a pipe holds.
    rows: JoinHandle<Vec<u8>>,
    feeder: Option<Feeder>,
}

/// Lets everything happen to a command.
fn take_away(name: &str, victim: &Victim) {
    let moments = number_of("FPSTORE_MOMENTS").unwrap_or(MOMENTS);
    let undisturbed = victim.undisturbed();
    let mut random = Random(SEED);
    let mut failures = Vec::new();
    let (mut counts, mut late) = (BTreeMap::<String, usize>::new(), 0);
    for event in EVENTS {
        for _ in 0..moments {
            let mut attempt = || {
                let moment = Moment::random(&mut random, &undisturbed);
                let found = victim.disturb(&undisturbed, event, moment);
                late += usize::from(found.is_none());
                found.map(|(ended, wrong)| (moment, ended, wrong))
            };
            let Some((moment, ended, wrong)) = (0..ATTEMPTS).find_map(|_| attempt()) else {
                continue;
            };
            let told = format!("{event:?} {}", ended.code.unwrap_or(-1));
            *counts.entry(told).or_default() += 1;
            let end = format!("code {:?}, {:?}", ended.code, ended.stderr);
            let told = |why: &String| format!("{event:?} {moment:?}: {why}; {end}");
            failures.extend(wrong.iter().map(told));
        }
    }
    tell(&format!(
        "{name}: {moments} moments of each event within {:?}, seed {SEED}, {late} of them too \
         late; codes {counts:?}",
        undisturbed.time
    ));
    assert!(failures.is_empty(), "fpstore {}\n{}", victim.line, failures.join("\n"));
}

impl Victim {
    fn undisturbed(&self) -> Undisturbed {
        let start = Scratch::new();
        (self.prepare)(&start);
        start.write("more", raw(&more()));
        if !start.path("other").exists() {
            let window =
                if self.options.contains("--time") { "--window 1d" } else { "--id-type none" };
            another(&start, window, self.options);
        }
        let end = copy_of(&start);
        let mut running = self.start(&end, "store", 0);
        running.wait_for_lock(self.reads);
        let begin = Instant::now();
        running.go_on();
        let ended = running.wait(self.line);
        let time = begin.elapsed();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let (old, new) =
            (standing::store(&start.path("store")), standing::store(&end.path("store")));
        assert!(!self.piped || old != new, "`{}` has read nothing", self.line);
        Undisturbed {
            old,
            new,
            result: self.result.map(|result| result.look(&end)),
            other: standing::store(&start.path("other")),
            time,
            start,
        }
    }

    /// Starts the command with a path for its store; it gets so many pieces of its input at once.
    fn start(&self, scratch: &Scratch, path: &str, pieces: usize) -> Running {
        let mut command = scratch.command(&self.line.replace("STORE", path));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.piped {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let rows = thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).unwrap();
            text
        });
        let feeder = child.stdin.take().map(|to| {
            let input = fs::read(scratch.path("in")).unwrap();
            let (fed, has_fed) = mpsc::sync_channel(1);
            let (go_on, may_go_on) = mpsc::sync_channel(1);
            thread::spawn(move || feed(to, &input, pieces, &fed, &may_go_on));
            Feeder { has_fed, go_on }
        });
        Running { child, rows, feeder }
    }

    /// Lets something happen while the command runs; `None` if it had ended before.
    fn disturb(
        &self,
        undisturbed: &Undisturbed,
        event: Event,
        moment: Moment,
    ) -> Option<(Ran, Vec<String>)> {
        let scratch = copy_of(&undisturbed.start);
        let given = if event == Event::Flipped { "link" } else { "store" };
        if event == Event::Flipped {
            symlink("store", scratch.path("link")).unwrap();
        }
        let mut running = self.start(&scratch, given, moment.pieces);
        running.wait_for_lock(self.reads);
        match &running.feeder {
            // What it got it deals with in much less time than all of it takes.
            Some(feeder) => {
                feeder.has_fed.recv().unwrap();
                thread::sleep(moment.delay / PIECES as u32);
            }
            None => thread::sleep(moment.delay),
        }
        if running.child.try_wait().unwrap().is_some() {
            return None;
        }
        event.happens(&scratch);
        // Who goes on to write under the same path.
        let second = match event {
            Event::Moved | Event::Removed => false,
            Event::Replaced | Event::Flipped | Event::Unlocked => {
                let line = format!("insert {given} more --format u64le -q {}", self.options);
                scratch.run(&line).code == Some(0)
            }
        };
        running.go_on();
        let ended = running.wait(self.line);
        let wrong = self.judge(undisturbed, &scratch, event, second, &ended);
        Some((ended, wrong))
    }

    /// What is wrong with what stands.
    fn judge(
        &self,
        undisturbed: &Undisturbed,
        scratch: &Scratch,
        event: Event,
        second: bool,
        ended: &Ran,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let said = matches!(ended.code, Some(0));
        let is_told = ended.code == Some(2) && ended.stderr.starts_with("fpstore: ");
        let is_partial = ended.code == Some(1) && self.line.starts_with("repair");
        if !said && !is_told && !is_partial {
            wrong.push("it ended neither well nor with a message".to_string());
        }
        let (own, others) = event.places();
        let own = own.map(|name| standing::store(&scratch.path(name)));
        let other = standing::store(&scratch.path(others));
        let is_unlocked = event == Event::Unlocked;
        check_other(&undisturbed.other, &other, second && !is_unlocked, &mut wrong);
        match &own {
            Some(own) => self.check_own(undisturbed, own, second && is_unlocked, said, &mut wrong),
            None => {
                let left = standing::store(&scratch.path("store"));
                if left != Standing::Nothing && left != undisturbed.new {
                    wrong.push(format!("its place holds something else: {}", told(&left)));
                }
                // Input came after that.
                if said && self.piped {
                    wrong.push("its store is gone, and it said that it succeeded".to_string());
                }
            }
        }
        if event != Event::Removed {
            let stored = &own.as_ref().map(Standing::rows).unwrap_or_default() | &other.rows();
            let inserted = acknowledged(&ended.stdout);
            let lost = inserted.iter().filter(|&row| !stored.contains(row)).count();
            if lost > 0 {
                wrong.push(format!("{lost} of {} acknowledged are lost", inserted.len()));
            }
        }
        if let (Some(result), Some(expected)) = (self.result, &undisturbed.result) {
            let standing = result.look(scratch);
            undisturbed.check_result(&standing, expected, said, is_partial, &mut wrong);
        }
        wrong
    }

    /// The store that the command was started with.
    fn check_own(
        &self,
        undisturbed: &Undisturbed,
        own: &Standing,
        acknowledged: bool,
        said: bool,
        wrong: &mut Vec<String>,
    ) {
        let (own, found) = without_more(own);
        let state = own.state(&undisturbed.old, &undisturbed.new, self.between);
        match &state {
            State::Wrong(why) => wrong.push(format!("its store: {why}")),
            state if said && *state != State::New => {
                wrong.push(format!("it said that it succeeded, and its store is {state:?}"));
            }
            _ => {}
        }
        // Where it replaces all that was there, it may do so after the second writer.
        let may_go = self.replaces && state == State::New;
        if acknowledged && found < more().len() && !may_go {
            let lost = more().len() - found;
            wrong.push(format!("{lost} of the second writer's are lost"));
        }
    }
}

impl Running {
    /// Waits until the command holds the lock of its store, or has ended.
    fn wait_for_lock(&mut self, reads: bool) {
        let files = format!("/proc/{}/fd", self.child.id());
        let is_lock = |file: io::Result<DirEntry>| {
            let path = file.and_then(|file| fs::read_link(file.path()));
            path.is_ok_and(|path| path.ends_with("store/lock"))
        };
        while !reads && self.child.try_wait().unwrap().is_none() {
            if fs::read_dir(&files).is_ok_and(|mut files| files.any(is_lock)) {
                return;
            }
            thread::sleep(Duration::from_micros(100));
        }
    }

    /// The rest of the input may come.
    fn go_on(&mut self) {
        if let Some(feeder) = self.feeder.take() {
            // A feeder whose command has ended is gone.
            let _ = feeder.go_on.send(());
        }
    }

    /// Waits for the end of the command.
    fn wait(mut self, line: &str) -> Ran {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if start.elapsed() > HANGS {
                self.child.kill().unwrap();
                panic!("`{line}` hangs");
            }
            thread::sleep(Duration::from_millis(1));
        }
        let mut output = self.child.wait_with_output().unwrap();
        output.stdout = self.rows.join().unwrap();
        Ran::new(line, output)
    }
}

/// Writes the first pieces of an input, and the others once somebody says so, or is gone.
fn feed(
    mut to: ChildStdin,
    input: &[u8],
    first: usize,
    fed: &SyncSender<()>,
    may_go_on: &Receiver<()>,
) {
    let pieces = input.chunks(input.len().div_ceil(PIECES).next_multiple_of(8));
    for (number, piece) in pieces.enumerate() {
        if number == first {
            // Nobody waits where nothing is to happen.
            let _ = fed.send(());
            let _ = may_go_on.recv();
        }
        // The command may have ended.
        if to.write_all(piece).is_err() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

impl Undisturbed {
    /// What the command writes besides its store is whole: of its store, or of the one that came
    /// under the same path.
    fn check_result(
        &self,
        standing: &Standing,
        expected: &Standing,
        said: bool,
        is_partial: bool,
        wrong: &mut Vec<String>,
    ) {
        let (is, _) = without_more(standing);
        let (is, expected) = (without_reports(is), &without_reports(expected.clone()));
        let is_right = match (&is, expected) {
            (Standing::Nothing, _) => !said,
            (Standing::Store { records: some, .. }, Standing::Store { records: all, .. }) => {
                let others = self.other.records().unwrap();
                some == all || some == others || is_partial && some.is_subset(&(all | others))
            }
            _ => match is.state(&Standing::Nothing, expected, Between::Nothing) {
                State::New => true,
                State::Nothing => !said,
                _ => false,
            },
        };
        if !is_right {
            wrong.push(format!("what it wrote is not whole: {}", told(&is)));
        }
    }
}

impl Event {
    fn happens(self, scratch: &Scratch) {
        let rename = |from, to| fs::rename(scratch.path(from), scratch.path(to)).unwrap();
        match self {
            Self::Moved => rename("store", "moved"),
            Self::Replaced => {
                rename("store", "moved");
                rename("other", "store");
            }
            Self::Flipped => {
                symlink("other", scratch.path("next")).unwrap();
                rename("next", "link");
            }
            Self::Removed => remove(&scratch.path("store")),
            // It may not be there yet.
            Self::Unlocked => drop(fs::remove_file(scratch.path("store/lock"))),
        }
    }

    /// Where the store of the command and the other one are then.
    fn places(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::Moved => (Some("moved"), "other"),
            Self::Replaced => (Some("moved"), "store"),
            Self::Flipped | Self::Unlocked => (Some("store"), "other"),
            Self::Removed => (None, "other"),
        }
    }
}

/// Removes a directory in which files may come meanwhile.
fn remove(path: &Path) {
    while path.exists() {
        let _ = fs::remove_dir_all(path);
    }
}

/// The other store is as it was, with what was inserted there.
fn check_other(before: &Standing, now: &Standing, acknowledged: bool, wrong: &mut Vec<String>) {
    let (is, found) = without_more(now);
    if is != *before {
        let why = match is.state(before, before, Between::Nothing) {
            State::Wrong(why) => why,
            state => format!("{state:?}"),
        };
        wrong.push(format!("the other store has changed: {why}"));
    } else if acknowledged && found < more().len() {
        wrong.push(format!("{} are lost that were put there", more().len() - found));
    }
}

/// A store without what the second writer inserts, and how much of that there was.
fn without_more(standing: &Standing) -> (Standing, usize) {
    let Standing::Store { made, records } = standing else { return (standing.clone(), 0) };
    let more: BTreeSet<u64> = more().into_iter().collect();
    let (found, rest): (BTreeSet<Record>, BTreeSet<Record>) =
        records.iter().cloned().partition(|record| more.contains(&record.1));
    (Standing::Store { made: made.clone(), records: rest }, found.len())
}

/// Results without what repeats the path of a store, which may be a link.
fn without_reports(mut standing: Standing) -> Standing {
    if let Standing::Files { files, .. } = &mut standing {
        let names_it = |name: &str| name.starts_with("report.") || name.ends_with("/state.json");
        files.retain(|name, _| !names_it(name));
    }
    standing
}

fn told(standing: &Standing) -> String {
    match standing {
        Standing::Store { records, .. } => format!("a sound store of {} records", records.len()),
        Standing::Files { files, .. } => format!("{:?}", files.keys()),
        other => format!("{other:?}"),
    }
}

/// What a second writer inserts.
fn more() -> Vec<u64> {
    let mut random = Random(606);
    (0..50).map(|_| random.next()).collect()
}

fn insert(scratch: &Scratch, store: &str, options: &str, set: &[u64]) {
    let line = format!("insert {store} - --format u64le -q {options}");
    scratch.run_with(&line, &raw(set)).ends_with_code(0);
}

/// Another store, of the same kind.
fn another(scratch: &Scratch, kind: &str, options: &str) {
    scratch.run(&format!("create other {kind} -q")).succeeds();
    insert(scratch, "other", options, &fingerprints(602, 100));
}

/// A store in several segments and a log, and something to put in.
fn living(scratch: &Scratch) {
    scratch.run("create store --id-type none -q").succeeds();
    for part in fingerprints(601, 4000).chunks(1000) {
        insert(scratch, "store", "", part);
        scratch.run("flush store -q").succeeds();
    }
    insert(scratch, "store", "", &fingerprints(603, 500));
    scratch.write("in", raw(&fingerprints(607, 1200)));
}

fn windows(scratch: &Scratch) {
    scratch.run("create store --window 1d -q").succeeds();
    for (day, part) in fingerprints(601, 4000).chunks(1000).enumerate() {
        let options = format!("--ids line --time 2026-01-0{}", day + 1);
        insert(scratch, "store", &options, part);
    }
    scratch.run("flush store -q").succeeds();
}
