//! What a command leaves when nothing stops it, and whether what a stopped one leaves agrees.

use std::fs::{self, File};
use std::path::Path;

use crate::Scratch;
use crate::commands::{Again, Writing};
use crate::scratch::Ran;
use crate::standing::{Row, Standing, State};

/// What a command does when nothing stops it.
pub struct Expected<'a> {
    writing: &'a Writing,
    /// Where it starts.
    start: Scratch,
    old: Vec<Standing>,
    new: Vec<Standing>,
    /// Names beside each other in the end.
    names: Vec<String>,
}

/// What stood after a command was stopped.
pub struct Judged {
    /// Which state, in a word.
    pub state: &'static str,
    /// What is wrong.
    pub failures: Vec<String>,
}

impl<'a> Expected<'a> {
    pub fn of(writing: &'a Writing) -> Self {
        let start = Scratch::new();
        fs::create_dir(start.path("tmp")).unwrap();
        (writing.prepare)(&start);
        let end = copy_of(&start);
        end.run(writing.line).ends_with_code(0);
        let old = look(writing, &start);
        let new = look(writing, &end);
        let expected = Self { writing, start, old, new, names: names(&end) };
        let mut failures = Vec::new();
        expected.run_again(&end, &mut failures);
        assert!(failures.is_empty(), "without faults, fpstore {}\n{failures:?}", writing.line);
        expected
    }

    /// A scratch in which the command can run.
    pub fn scratch(&self) -> Scratch {
        copy_of(&self.start)
    }

    /// Looks at what stands after the command has ended so, and gives it again, without faults.
    pub fn judge(&self, scratch: &Scratch, ended: &Ran) -> Judged {
        let mut failures = Vec::new();
        let states = self.states(scratch);
        let wrong = states.iter().filter_map(|state| match state {
            State::Wrong(why) => Some(why.clone()),
            _ => None,
        });
        failures.extend(wrong);
        if !states.is_sorted_by(|before, after| is_new(before) || !is_new(after)) {
            failures.push(format!("what comes last is there before the rest: {states:?}"));
        }
        match ended.code {
            Some(0) if !states.iter().all(is_new) => {
                failures.push(format!("it said that it succeeded: {states:?}"));
            }
            Some(0 | 2) | None => {}
            code => failures.push(format!("it ended with code {code:?}")),
        }
        self.check_acknowledged(scratch, ended, &mut failures);
        // Of a wrong state nothing can be said that follows.
        if failures.is_empty() {
            self.run_again(scratch, &mut failures);
        }
        Judged { state: summary(&states), failures }
    }

    /// Whether all is there that `insert --unless-near` has acknowledged.
    fn check_acknowledged(&self, scratch: &Scratch, ended: &Ran, failures: &mut Vec<String>) {
        let inserted = acknowledged(&ended.stdout);
        if inserted.is_empty() {
            return;
        }
        let standing = self.writing.things[0].look(scratch);
        let stored = standing.rows();
        let lost = inserted.iter().filter(|&row| !stored.contains(row)).count();
        if lost > 0 {
            failures.push(format!("{lost} of {} acknowledged are lost", inserted.len()));
        }
    }

    fn states(&self, scratch: &Scratch) -> Vec<State> {
        let between = self.writing.between;
        let standing = look(self.writing, scratch);
        let states = standing.iter().zip(self.old.iter().zip(&self.new));
        states.map(|(is, (old, new))| is.state(old, new, between)).collect()
    }

    /// Gives the command again, without faults.
    fn run_again(&self, scratch: &Scratch, failures: &mut Vec<String>) {
        let is_done = self.states(scratch).last().is_some_and(is_new);
        let (line, code) = match self.writing.again {
            Again::Same => (self.writing.line.to_string(), 0),
            Again::With(option) if is_done => (format!("{} {option}", self.writing.line), 0),
            Again::Refused if is_done => (self.writing.line.to_string(), 2),
            Again::With(_) | Again::Refused => (self.writing.line.to_string(), 0),
        };
        let ran = scratch.run(&line);
        if ran.code != Some(code) {
            failures.push(format!("again it ends with {:?}, {:?}", ran.code, ran.stderr));
        }
        let states = self.states(scratch);
        if !states.iter().all(is_new) {
            failures.push(format!("again it leaves {states:?}"));
        }
        if code != 0 {
            // Who is refused does not tidy up.
            return;
        }
        let found = names(scratch);
        if found != self.names {
            failures.push(format!("there are {found:?}, not {:?}", self.names));
        }
        let leftovers = self.writing.things.iter().flat_map(|thing| thing.leftovers(scratch));
        failures.extend(leftovers.map(|what| format!("left behind: {what}")));
    }
}

fn is_new(state: &State) -> bool {
    *state == State::New
}

/// What stands in all.
fn summary(states: &[State]) -> &'static str {
    let is = |wanted: &State| states.contains(wanted);
    match () {
        () if states.iter().any(|state| matches!(state, State::Wrong(_))) => "wrong",
        () if states.iter().all(is_new) => "new",
        () if is(&State::Between) => "between",
        () if is(&State::Nothing) => "none",
        () => "old",
    }
}

fn look(writing: &Writing, scratch: &Scratch) -> Vec<Standing> {
    writing.things.iter().map(|thing| thing.look(scratch)).collect()
}

/// The names in a scratch, and in its directory for temporary files.
fn names(scratch: &Scratch) -> Vec<String> {
    let names = |directory: &str| scratch.listing(directory).into_iter().map(|(name, _)| name);
    let of_temporaries = names("tmp").map(|name| format!("tmp/{name}"));
    names("").chain(of_temporaries).collect()
}

/// The fingerprints that `insert --unless-near` says it has inserted, with their ids, as far as its
/// rows are whole.
pub fn acknowledged(rows: &str) -> Vec<Row> {
    let whole = rows.split_inclusive('\n').filter_map(|row| row.strip_suffix('\n'));
    let rows = whole.map(|row| row.split('\t').collect::<Vec<_>>());
    let inserted = rows.filter_map(|row| match row[..] {
        [fingerprint, "inserted", ..] => Some((fingerprint, None)),
        [id, fingerprint, "inserted", ..] => Some((fingerprint, Some(id.to_string()))),
        _ => None,
    });
    inserted.map(|(digits, id)| (u64::from_str_radix(digits, 16).unwrap(), id)).collect()
}

/// A scratch with the same files, of the same age.
pub fn copy_of(scratch: &Scratch) -> Scratch {
    let copy = Scratch::new();
    copy_tree(&scratch.path(""), &copy.path(""));
    copy
}

fn copy_tree(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&to).unwrap();
            copy_tree(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
            let changed = entry.metadata().unwrap().modified().unwrap();
            File::options().write(true).open(&to).unwrap().set_modified(changed).unwrap();
        }
    }
}
