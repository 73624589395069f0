//! The directory of results, and in it the one of work that is under way.
//!
//! A small file says which command works here, which of its stages are done, and how far the first
//! one is. It is replaced as a whole, when what it says is durable; so a process that was killed is
//! followed by one that goes on. In the end the report appears, and what was noted of the documents
//! stays under another name, so that it can be looked at and decided again without reading them.
//!
//! Until there is a result, a command with other settings or inputs takes the place of the one
//! before: that has stopped at a bad record, say, and is given again as its message advises. Once
//! there are results, they belong to their settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fpstore::files::{self, Lock};
use serde::{Deserialize, Serialize};

use crate::choice::TableShape;
use crate::error::Error;
use crate::error::failure;
use crate::settings::{self, Settings};

const VERSION: u32 = 3;
const WORK: &str = "work.fpstore";
/// What is left of it in the end.
const NOTES: &str = "notes.fpstore";
/// How the names of files end that stay in it.
const KEPT: [&str; 2] = [".column", ".json"];
const STATE: &str = "state.json";
const LOCK: &str = "lock";
/// More than any state or report has.
const MOST_BYTES: u64 = 1 << 24;
/// The report, which says that all is done.
pub const REPORT: &str = "report.json";
/// The same for people.
pub const TEXT: &str = "report.txt";
/// Where the documents go.
pub const DOCUMENTS: &str = "documents";

/// How far the work is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// What decides the result.
    pub settings: Settings,
    /// What was read.
    pub read: Mark,
    /// The stage that is to be done.
    pub stage: Stage,
}

/// The stages, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// Reading all documents.
    #[default]
    Read,
    /// Removing the results of an earlier decision.
    Clear,
    /// Deciding which are kept.
    Decide,
    /// Writing what is kept, from the file with this number on.
    Write(u64),
    /// Writing what was removed.
    Removed,
    /// Adding what is kept to the store; from here on it may be there.
    Add,
    /// Reporting.
    Report,
}

/// Up to where the inputs were read, and what was noted of that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The file, and its pieces.
    pub file: u64,
    pub pieces: u64,
    /// Documents.
    pub documents: u64,
    /// Bytes of each column.
    pub columns: Vec<u64>,
    /// Bytes of the columns of features, where these are noted.
    #[serde(default)]
    pub features: [u64; 2],
    /// What was counted.
    pub counts: Counts,
}

/// What is counted while documents are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Documents with too few features.
    pub too_few: u64,
    /// Documents without a text, null or empty.
    pub without_text: u64,
    /// Documents with bytes that are no UTF-8.
    pub invalid_utf8: u64,
    /// Records that were skipped.
    pub skipped: u64,
    /// Bytes of texts.
    pub text_bytes: u64,
    /// Documents with a value in the column by which one is kept.
    pub with_column: u64,
}

/// The place of results.
pub struct Work {
    /// The directory of results.
    pub to: PathBuf,
    directory: PathBuf,
    state: State,
    /// What the settings differ in from those of a command whose work was given up for this one.
    given_up: Option<String>,
    /// Held until the end.
    lock: Lock,
}

/// A command that is to be done, or one whose result is there.
pub enum Found {
    Work(Box<Work>),
    Done(Vec<u8>),
}

impl Work {
    /// Starts a command, or goes on with it.
    pub fn open(to: &Path, settings: &Settings) -> Result<Found, Error> {
        let directory = to.join(WORK);
        if let Some(report) = finished(to, settings)? {
            keep_notes_if_free(to)?;
            return Ok(Found::Done(report));
        }
        check_empty(to)?;
        fs::create_dir_all(&directory).map_err(failure(&directory, "create"))?;
        let path = directory.join(LOCK);
        let lock = Lock::take(&path).map_err(failure(&path, "lock"))?;
        let Some(lock) = lock else {
            return Err(Error::Busy { path: to.to_path_buf() });
        };
        // The other one may have finished before it let go.
        if let Some(report) = finished(to, settings)? {
            keep_notes(to, lock)?;
            return Ok(Found::Done(report));
        }
        let state = State {
            version: VERSION,
            settings: settings.clone(),
            read: Mark::default(),
            stage: Stage::default(),
        };
        let mut work = Self { to: to.to_path_buf(), directory, state, given_up: None, lock };
        // Reports are written beside the results.
        files::remove_dead(to);
        files::remove_dead(&work.directory);
        match read_state(&work.path(STATE)) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                work.note(|_| {})?;
            }
            state => {
                let state = state?;
                match settings.difference(&state.settings) {
                    None => work.state = state,
                    // There is no result yet that could be of two commands. A message has advised
                    // other settings, or the inputs were mended.
                    Some(differ) if state.stage < Stage::Write(0) && !has_results(to)? => {
                        work.give_up()?;
                        work.given_up = Some(differ);
                        work.note(|_| {})?;
                    }
                    Some(differ) => return Err(settings::of_another(to, &differ)),
                }
            }
        }
        Ok(Found::Work(Box::new(work)))
    }

    /// Opens results to decide again, about what was noted: it is all there. Whoever was killed
    /// when deciding again is gone on with.
    pub fn again(to: &Path, settings: &Settings) -> Result<Self, Error> {
        let directory = to.join(WORK);
        if !directory.join(STATE).exists() {
            let notes = to.join(NOTES);
            files::rename(&notes, &directory).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => without_notes(notes.join(STATE)),
                _ => failure(&notes, "rename")(error),
            })?;
        }
        let path = directory.join(LOCK);
        let lock = Lock::take(&path).map_err(failure(&path, "lock"))?;
        let lock = lock.ok_or_else(|| Error::Busy { path: to.to_path_buf() })?;
        files::remove_dead(to);
        files::remove_dead(&directory);
        let state = read_state(&directory.join(STATE))?;
        let mut work = Self { to: to.to_path_buf(), directory, state, given_up: None, lock };
        let is_other = settings.difference(&work.state.settings).is_some();
        if is_other || to.join(REPORT).exists() {
            work.note(|state| {
                state.settings = settings.clone();
                state.stage = Stage::Clear;
            })?;
        }
        Ok(work)
    }

    /// Removes the results of an earlier decision, the report first: without it nobody takes them
    /// for whole.
    pub fn clear(&mut self) -> Result<(), Error> {
        let tables =
            [TableShape::Parquet, TableShape::Jsonl, TableShape::Csv].map(TableShape::file);
        for name in [REPORT, TEXT].into_iter().chain(tables) {
            let path = self.to.join(name);
            fs::remove_file(&path).or_else(gone).map_err(failure(&path, "remove"))?;
            if name == REPORT {
                files::sync_directory(&self.to).map_err(failure(&self.to, "write"))?;
            }
        }
        let documents = self.to.join(DOCUMENTS);
        fs::remove_dir_all(&documents).or_else(gone).map_err(failure(&documents, "remove"))?;
        files::sync_directory(&self.to).map_err(failure(&self.to, "write"))?;
        self.note(|state| state.stage = Stage::Decide)
    }

    /// Removes what another command has noted, so that this one starts at the beginning.
    fn give_up(&self) -> Result<(), Error> {
        let fail = failure(&self.directory, "remove");
        // The state goes first: whoever finds one goes on with the files beside it.
        fs::remove_file(self.path(STATE)).map_err(&fail)?;
        files::sync_directory(&self.directory).map_err(&fail)?;
        for entry in fs::read_dir(&self.directory).map_err(&fail)? {
            let entry = entry.map_err(&fail)?;
            let is_directory = entry.file_type().map_err(&fail)?.is_dir();
            match entry.file_name() == LOCK {
                true => Ok(()),
                false if is_directory => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            }
            .map_err(failure(&entry.path(), "remove"))?;
        }
        Ok(())
    }

    /// What the settings differ in from those of a command whose work was given up for this one.
    pub fn given_up(&self) -> Option<&str> {
        self.given_up.as_deref()
    }

    /// How far it is.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A file of the work.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Notes the id of the store that was created.
    pub fn note_store(&mut self, id: Option<&String>) -> Result<(), Error> {
        if self.state.settings.store.as_ref() == id {
            return Ok(());
        }
        self.note(|state| state.settings.store = id.cloned())
    }

    /// The directory of the work.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Notes how far it is, durably.
    pub fn note(&mut self, change: impl FnOnce(&mut State)) -> Result<(), Error> {
        change(&mut self.state);
        let text = serde_json::to_vec(&self.state).map_err(io::Error::from);
        let path = self.path(STATE);
        text.and_then(|text| files::replace(&path, &text)).map_err(failure(&path, "write"))
    }

    /// Gives the file `name` of the work its place among the results, durably.
    pub fn publish(&self, file: &fs::File, name: &Path, place: &Path) -> Result<(), Error> {
        let to = self.to.join(place);
        let done = file.sync_all().and_then(|()| {
            fs::create_dir_all(files::parent(&to))?;
            files::rename(name, &to)
        });
        done.map_err(failure(&to, "write"))
    }

    /// Ends the work: the report is there, and nothing else is needed.
    pub fn finish(self, report: &[u8]) -> Result<(), Error> {
        let path = self.to.join(REPORT);
        files::replace(&path, report).map_err(failure(&path, "write"))?;
        keep_notes(&self.to, self.lock)
    }
}

/// The report of this command if it is done.
fn finished(to: &Path, settings: &Settings) -> Result<Option<Vec<u8>>, Error> {
    let path = to.join(REPORT);
    let text = match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(failure(&path, "read"))?,
    };
    if let Some(differ) = settings.difference(&settings_of(&path, &text)?) {
        return Err(settings::of_another(to, &differ));
    }
    Ok(Some(text))
}

/// Does what a process could not that was killed when all was done, unless another one works there.
fn keep_notes_if_free(to: &Path) -> Result<(), Error> {
    let path = to.join(WORK).join(LOCK);
    match Lock::take(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failure(&path, "lock")(error)),
        Ok(None) => Ok(()),
        Ok(Some(lock)) => keep_notes(to, lock),
    }
}

/// Moves what stays of work that is done into the directory of the notes, and removes the rest.
fn keep_notes(to: &Path, lock: Lock) -> Result<(), Error> {
    let (work, notes) = (to.join(WORK), to.join(NOTES));
    // Without a state only the lock has come to be there, behind another process that was done.
    if work.join(STATE).exists() {
        fs::create_dir_all(&notes).map_err(failure(&notes, "create"))?;
        let mut names = Vec::new();
        for entry in fs::read_dir(&work).map_err(failure(&work, "read"))? {
            let name = entry.map_err(failure(&work, "read"))?.file_name();
            names.push(name.to_string_lossy().into_owned());
        }
        names.retain(|name| KEPT.iter().any(|end| name.ends_with(end)) && name != STATE);
        // The state goes last: as long as it is there, not all has been moved.
        for name in names.iter().map(String::as_str).chain([STATE]) {
            let place = notes.join(name);
            fs::rename(work.join(name), &place).map_err(failure(&place, "write"))?;
        }
        files::sync_directory(&notes).map_err(failure(&notes, "write"))?;
    }
    drop(lock);
    fs::remove_dir_all(&work).or_else(gone).map_err(failure(&work, "remove"))
}

/// Takes what is not there for gone.
fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The report of a command that is done, the directory of its notes, and how far it had read.
pub fn noted(to: &Path) -> Result<(Vec<u8>, PathBuf, Mark), Error> {
    let path = to.join(REPORT);
    let text = read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let what = "no report of corpus dedup is here; name the directory of its results, once \
                        it is done";
            Error::Setting(format!("{}: {what}", to.display()))
        }
        _ => failure(&path, "read")(error),
    })?;
    keep_notes_if_free(to)?;
    let notes = to.join(NOTES);
    let state = read_state(&notes.join(STATE)).map_err(|error| match error {
        Error::File { path, source, .. } if source.kind() == io::ErrorKind::NotFound => {
            without_notes(path)
        }
        error => error,
    })?;
    Ok((text, notes, state.read))
}

/// The settings of results, or of the work to decide again about them.
pub fn settings_in(to: &Path) -> Result<Settings, Error> {
    let path = to.join(REPORT);
    if !path.exists() && to.join(WORK).join(STATE).exists() {
        let state = read_state(&to.join(WORK).join(STATE))?;
        return match state.stage {
            Stage::Read => Err(Error::Setting(format!(
                "{}: the documents have not all been read; give the command again that reads them",
                to.display()
            ))),
            _ => Ok(state.settings),
        };
    }
    let (report, _, _) = noted(to)?;
    settings_of(&path, &report)
}

/// The settings in a report.
fn settings_of(path: &Path, report: &[u8]) -> Result<Settings, Error> {
    #[derive(Deserialize)]
    struct Report {
        settings: Settings,
    }
    let report = serde_json::from_slice::<Report>(report);
    report.map(|report| report.settings).map_err(|_| no_report(path))
}

fn without_notes(path: PathBuf) -> Error {
    let remedy = "give the command again with another directory, which will have it";
    Error::Missing { path, remedy: remedy.to_string() }
}

/// A report that cannot be read.
pub fn no_report(path: &Path) -> Error {
    let what = "is no report of this version of fpstore; name another directory";
    Error::Setting(format!("{}: {what}", path.display()))
}

fn read_state(path: &Path) -> Result<State, Error> {
    let text = read(path).map_err(failure(path, "read"))?;
    let state: Option<State> = serde_json::from_slice(&text).ok();
    state.filter(|state| state.version == VERSION).ok_or_else(|| {
        let what = "is no note of this version of fpstore; start again with another directory";
        Error::Setting(format!("{}: {what}", path.display()))
    })
}

/// Refuses a directory that has something and no work.
fn check_empty(to: &Path) -> Result<(), Error> {
    if to.join(WORK).join(STATE).exists() {
        return Ok(());
    }
    match has_results(to)? {
        true => {
            let what = "is not empty, and no output of this command; name another directory";
            Err(Error::Setting(format!("{}: {what}", to.display())))
        }
        false => Ok(()),
    }
}

/// Whether something stands in the directory beside the work.
fn has_results(to: &Path) -> Result<bool, Error> {
    let entries = match fs::read_dir(to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries.map_err(failure(to, "read"))?,
    };
    Ok(entries.flatten().any(|entry| entry.file_name() != WORK))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    files::read_at_most(path, MOST_BYTES)
}
