//! What stands in a scratch, and whether that is the old state, the new one, or none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use fpstore::{Error, Id, Snapshot, Store};

use crate::Scratch;

/// The first day of which the stores of the tests have records, in days since 1970, and how many
/// days they have.
pub const FIRST_DAY: u64 = 20_454;
pub const DAYS: u64 = 5;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Where `corpus dedup` keeps what it needs to go on.
const WORK: &str = "work.fpstore/";

/// Something that a command writes, by its name in the scratch.
#[derive(Clone, Copy, Debug)]
pub enum Thing {
    Store(&'static str),
    File(&'static str),
    /// A file with times that were measured, which differ from run to run.
    Measured(&'static str),
    /// A directory of results, which is not finished as long as it holds what is needed to go on.
    Results(&'static str),
    /// A directory of manual pages, which say nothing of each other.
    Pages(&'static str),
}

/// A window, a fingerprint that is in it, and one of its ids if the store has any.
pub type Record = (u64, u64, Option<Id>);

/// A fingerprint and the text of one of its ids.
pub type Row = (u64, Option<String>);

/// What stands there.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    Nothing,
    Store {
        made: String,
        records: BTreeSet<Record>,
    },
    Bytes(Vec<u8>),
    Files {
        finished: bool,
        files: BTreeMap<String, Vec<u8>>,
    },
    /// It looks like something, and is not whole.
    Broken(String),
}

/// What may stand between the old state and the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    Nothing,
    /// A store that is empty, where there was none.
    Empty,
    /// The old store with some of what the new one has, or without some of what that has not.
    Pieces,
}

/// Which state that is.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    Old,
    New,
    Nothing,
    Between,
    Wrong(String),
}

impl Thing {
    /// What stands in the scratch.
    pub fn look(self, scratch: &Scratch) -> Standing {
        match self {
            Self::Store(name) => store(&scratch.path(name)),
            Self::File(name) => bytes(&scratch.path(name)),
            Self::Measured(name) => match bytes(&scratch.path(name)) {
                Standing::Bytes(bytes) => Standing::Bytes(without_numbers(&bytes)),
                other => other,
            },
            Self::Results(name) | Self::Pages(name) => files(&scratch.path(name), self),
        }
    }

    /// What is in the way of calling the place of this tidy: files that belong to nothing.
    pub fn leftovers(self, scratch: &Scratch) -> Vec<String> {
        match self {
            Self::Store(name) => store_leftovers(&scratch.path(name)),
            Self::Results(name) | Self::Pages(name) => {
                let mut files = BTreeMap::new();
                read_tree(&scratch.path(name), &scratch.path(name), &mut files);
                files.into_keys().filter(|name| is_temporary(name)).collect()
            }
            Self::File(_) | Self::Measured(_) => Vec::new(),
        }
    }
}

impl Standing {
    /// Which state this is, of a command that goes from one to the other.
    pub fn state(&self, old: &Self, new: &Self, between: Between) -> State {
        match (self, old, new) {
            (Self::Broken(why), ..) => State::Wrong(why.clone()),
            _ if self == new => State::New,
            (Self::Nothing, Self::Nothing, _) => State::Nothing,
            _ if self == old => State::Old,
            (Self::Files { finished: false, files: some }, _, Self::Files { files: all, .. })
                if some.iter().all(|(name, bytes)| all.get(name) == Some(bytes)) =>
            {
                State::Nothing
            }
            _ if self.is_between(old, new, between) => State::Between,
            _ => State::Wrong(format!("neither old nor new: {}", self.told(old, new))),
        }
    }

    fn is_between(&self, old: &Self, new: &Self, between: Between) -> bool {
        match (between, self.records(), old.records(), new.records()) {
            (Between::Empty, Some(some), None, _) => some.is_empty(),
            (Between::Pieces, Some(some), Some(old), Some(new)) => {
                let (kept, known) = (old & new, old | new);
                kept.is_subset(some) && some.is_subset(&known)
            }
            _ => false,
        }
    }

    /// The records of a store.
    pub fn records(&self) -> Option<&BTreeSet<Record>> {
        match self {
            Self::Store { records, .. } => Some(records),
            _ => None,
        }
    }

    /// The records of a store, as the tool prints them; none where there is no store.
    pub fn rows(&self) -> BTreeSet<Row> {
        let text = |id: &Option<Id>| id.as_ref().map(Id::to_string);
        self.records().into_iter().flatten().map(|(_, at, id)| (*at, text(id))).collect()
    }

    /// A line that tells how it differs from both.
    fn told(&self, old: &Self, new: &Self) -> String {
        let mut told = String::new();
        match self {
            Self::Nothing => told.push_str("nothing"),
            Self::Broken(why) => told.push_str(why),
            Self::Bytes(bytes) => write!(told, "{} bytes", bytes.len()).unwrap(),
            Self::Files { finished, files } => {
                let of_new = |(name, bytes): &(&String, &Vec<u8>)| match new {
                    Self::Files { files, .. } => files.get(*name) == Some(bytes),
                    _ => false,
                };
                let (right, wrong): (Vec<_>, Vec<_>) = files.iter().partition(of_new);
                let names = wrong.iter().map(|(name, _)| name).collect::<Vec<_>>();
                write!(told, "finished {finished}, {} files right, {names:?} not", right.len())
                    .unwrap();
            }
            Self::Store { made, records } => {
                write!(told, "a sound store of {} records", records.len()).unwrap();
                for (name, other) in [("old", old), ("new", new)] {
                    let Self::Store { made: other_made, records: others } = other else {
                        write!(told, "; {name}: none").unwrap();
                        continue;
                    };
                    let (lost, more) = ((others - records).len(), (records - others).len());
                    write!(told, "; {name}: {lost} missing, {more} more").unwrap();
                    if made != other_made {
                        write!(told, ", and made otherwise: {made}, not {other_made}").unwrap();
                    }
                }
            }
        }
        told
    }
}

/// The store at a path, checked and read whole.
pub fn store(path: &Path) -> Standing {
    let open = || -> Result<Standing, Error> {
        let store = Store::open(path)?;
        store.verify()?;
        let snapshot = store.snapshot();
        let living = store.stats()?.living;
        let window = living.and_then(|living| living.window);
        let made = format!(
            "{} bits, k {}, ids {:?}, window {window:?}, recipe {:?}",
            u64::BITS,
            store.radius(),
            store.id_kind(),
            store.recipe(),
        );
        let records = match window {
            None => records(&snapshot, 0)?,
            Some(_) => {
                let mut all = BTreeSet::new();
                for day in FIRST_DAY..FIRST_DAY + DAYS {
                    let since = UNIX_EPOCH + DAY * day as u32;
                    all.extend(records(&snapshot.between(since..since + DAY)?, day)?);
                }
                let ids = |(_, fingerprint, id): &Record| (*fingerprint, id.clone());
                let of_windows: BTreeSet<_> = all.iter().map(ids).collect();
                if of_windows != records(&snapshot, 0)?.iter().map(ids).collect() {
                    return Ok(Standing::Broken("records in windows that nobody filled".into()));
                }
                all
            }
        };
        Ok(Standing::Store { made, records })
    };
    match open() {
        Ok(standing) => standing,
        Err(Error::NotAStore { .. }) => Standing::Nothing,
        Err(error) => Standing::Broken(format!("a store that is not sound: {error}")),
    }
}

fn records(snapshot: &Snapshot, window: u64) -> Result<BTreeSet<Record>, Error> {
    let mut records = BTreeSet::new();
    let with_ids = snapshot.has_ids();
    for row in snapshot.iter_with_ids::<Id>() {
        let (fingerprint, ids) = row?;
        for id in ids {
            records.insert((window, fingerprint, Some(id?)));
        }
        if !with_ids {
            records.insert((window, fingerprint, None));
        }
    }
    Ok(records)
}

fn bytes(path: &Path) -> Standing {
    match fs::read(path) {
        Ok(bytes) => Standing::Bytes(bytes),
        Err(_) if !path.exists() => Standing::Nothing,
        Err(error) => Standing::Broken(error.to_string()),
    }
}

/// A text with 0 for each number.
fn without_numbers(bytes: &[u8]) -> Vec<u8> {
    let mut text: Vec<u8> = Vec::new();
    for &byte in bytes {
        match byte {
            b'0'..=b'9' | b'.' if text.last() == Some(&b'0') => {}
            b'0'..=b'9' => text.push(b'0'),
            other => text.push(other),
        }
    }
    text
}

/// The files of a directory of results. What has a name of a temporary file is no result.
fn files(root: &Path, thing: Thing) -> Standing {
    if !root.exists() {
        return Standing::Nothing;
    }
    let mut files = BTreeMap::new();
    read_tree(root, root, &mut files);
    let is_unfinished = match thing {
        Thing::Pages(_) => true,
        _ => files.keys().any(|name| name.starts_with(WORK)),
    };
    // The pages of `bench` are written by a program of its own, where that is there.
    files.retain(|name, _| !is_temporary(name) && !name.starts_with("fpstore-bench"));
    if files.is_empty() {
        return Standing::Nothing;
    }
    Standing::Files { finished: !is_unfinished, files }
}

/// Whether a file below a directory of results is there only until these are whole.
fn is_temporary(name: &str) -> bool {
    name.starts_with(WORK) || name.contains(".tmp-fpstore-")
}

fn read_tree(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_tree(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            files.insert(name, fs::read(path).unwrap());
        }
    }
}

/// What in the directory of a store belongs to no store, by names and by the bytes that it says.
fn store_leftovers(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let (mut leftovers, mut bytes, mut logs) = (Vec::new(), 0, 0);
    for entry in entries.map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        match &name[..] {
            "lock" => {}
            name if name.starts_with("log-") && name.ends_with(".fpl") => logs += 1,
            name if name == "manifest.fps" || name.starts_with("segment-") => {
                bytes += entry.metadata().unwrap().len();
            }
            _ => leftovers.push(name),
        }
    }
    let Ok(stats) = Store::open(path).and_then(|store| store.stats()) else {
        return leftovers;
    };
    if bytes != stats.bytes {
        leftovers.push(format!("{bytes} bytes in files of a store of {}", stats.bytes));
    }
    if logs > 2 {
        leftovers.push(format!("{logs} logs"));
    }
    leftovers
}
