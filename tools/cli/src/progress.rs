//! How far a command is: a bar on standard error, if that is a terminal, or lines of JSON.

mod bar;
mod pace;

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fpstore::Phase;
use serde::Serialize;

use bar::{Bar, Shown};
use pace::{PERIOD, rate, seconds_left};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// A bar, if standard error is a terminal.
    Auto,
    /// Lines of JSON.
    Json,
    /// Not at all.
    None,
}

/// The option that says how.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ProgressArgs {
    /// How progress is shown: as a bar on a terminal, or as lines of JSON on standard error
    #[arg(long, value_enum, value_name = "auto|json|none", hide_possible_values = true)]
    #[arg(global = true)]
    progress: Option<Mode>,
}

impl ProgressArgs {
    /// What is shown: what was asked for, else a bar unless the command is to be quiet.
    pub fn mode(self, quiet: bool) -> Mode {
        self.progress.unwrap_or(if quiet { Mode::None } else { Mode::Auto })
    }

    /// What is shown by a command that writes rows: no bar where these stand on a terminal.
    pub fn beside_rows(self, quiet: bool, on_terminal: bool) -> Mode {
        self.mode(quiet || on_terminal)
    }
}

/// What is shown of all phases of a command.
#[derive(Clone)]
pub struct Progress {
    bar: Bar,
    json: bool,
    found: Arc<FoundCounts>,
    state: Arc<Mutex<State>>,
}

struct State {
    start: Instant,
    /// Name and start of the phase, and when its last line was written.
    phase: (String, Instant, Option<Instant>),
    /// When the input had been read, and the steps that had been done then.
    work: Option<Instant>,
    read: Reading,
}

#[derive(Clone, Copy, Default)]
struct Reading {
    bytes: u64,
    total_bytes: Option<u64>,
    fingerprints: u64,
    written: u64,
}

/// What was found and written so far.
#[derive(Default)]
struct FoundCounts {
    number: AtomicU64,
    bytes: AtomicU64,
}

/// What a phase counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Fingerprints.
    Fingerprints,
    /// Pairs of them.
    Pairs,
    /// Queries.
    Queries,
    /// Ids.
    Ids,
    /// Documents.
    Documents,
    /// Recipes that are measured.
    Recipes,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Fingerprints => "fingerprints",
            Unit::Pairs => "pairs",
            Unit::Queries => "queries",
            Unit::Ids => "ids",
            Unit::Documents => "documents",
            Unit::Recipes => "recipes",
        }
    }
}

/// What a phase finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finds {
    /// Nothing.
    Nothing,
    /// Pairs of fingerprints.
    Pairs,
    /// Matches of queries.
    Matches,
}

/// A phase, and how far it is.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What is being done, in one word.
    pub phase: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// How many are done.
    pub done: u64,
    /// Of how many; 0 where that is not known.
    pub total: u64,
    /// What [`Progress::found`] tells of.
    pub finds: Finds,
}

/// A line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    phase: &'a str,
    /// Fingerprints done in this phase, counted once per table, or ids, pairs or queries.
    done: u64,
    total: Option<u64>,
    /// A rate is null where nothing has passed, and is not there for what the phase does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprints_per_second: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs_per_second: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries_per_second: Option<Option<f64>>,
    /// Pairs that a join has found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<u64>,
    /// Matches of queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<u64>,
    /// Bytes of input, in the phase that reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_read: Option<u64>,
    bytes_written: u64,
    seconds: f64,
    seconds_left: Option<f64>,
}

impl Progress {
    /// Progress in this mode.
    pub fn new(mode: Mode) -> Self {
        let start = Instant::now();
        let phase = (String::new(), start, None);
        let state = State { start, phase, work: None, read: Reading::default() };
        let (json, state) = (mode == Mode::Json, Arc::new(Mutex::new(state)));
        Self { bar: Bar::new(mode == Mode::Auto), json, found: Arc::default(), state }
    }

    /// Starts the phase of reading `bytes` of input, or an unknown number of them.
    pub fn start_reading(&self, bytes: Option<u64>) {
        self.state().read = Reading { total_bytes: bytes, ..Reading::default() };
        self.bar.show(Shown::reading(0, bytes, 0, Duration::ZERO));
    }

    /// Tells that `bytes` of input have been read, and what they gave.
    pub fn read(&self, bytes: u64, fingerprints: u64) {
        let mut state = self.state();
        state.read = Reading { bytes, fingerprints, ..state.read };
        if self.json {
            state.read_line();
            return;
        }
        let passed = state.in_phase("read", Instant::now());
        let total = state.read.total_bytes;
        drop(state);
        self.bar.show(Shown::reading(bytes, total, fingerprints, passed));
    }

    /// Shows what the library tells while it packs.
    pub fn packing(&self, progress: &fpstore::Progress) {
        if progress.phase == Phase::Spill {
            // It goes on while input is read.
            self.state().read.written = progress.bytes_written;
            return;
        }
        let phase = progress.phase.to_string();
        let mut state = self.state();
        let now = Instant::now();
        let work = *state.work.get_or_insert(now);
        let left = seconds_left(now - work, progress.steps_done, progress.steps);
        // How long the disk takes in the end is no step.
        let is_done = progress.phase != Phase::Sync || progress.done == progress.total;
        let left = left.filter(|_| is_done);
        let unit = if progress.phase == Phase::Ids { Unit::Ids } else { Unit::Fingerprints };
        if self.json {
            let is_last = progress.done == progress.total;
            if let Some(passed) = state.is_due(&phase, now, is_last) {
                write_line(&Line {
                    fingerprints_per_second: Some(rate(progress.done, passed)),
                    bytes_written: progress.bytes_written,
                    seconds: (now - state.start).as_secs_f64(),
                    seconds_left: left,
                    ..Line::new(&phase, progress.done, progress.total)
                });
            }
            return;
        }
        let passed = state.in_phase(&phase, now);
        drop(state);
        let written = progress.bytes_written;
        let step = (progress.done, progress.total);
        self.bar.show(Shown::new(phase, unit.name(), step, passed, left).written(written));
    }

    /// Tells that so many pairs or matches are found, and so many bytes are written.
    pub fn found(&self, number: u64, bytes: u64) {
        self.found.number.store(number, Relaxed);
        self.found.bytes.store(bytes, Relaxed);
    }

    /// Shows how far a phase is that is no phase of a pack.
    pub fn step(&self, step: Step) {
        let Step { phase, unit, done, total, finds } = step;
        let (number, bytes) = (self.found.number.load(Relaxed), self.found.bytes.load(Relaxed));
        let mut state = self.state();
        let now = Instant::now();
        if self.json {
            let Some(passed) = state.is_due(phase, now, done == total) else { return };
            let rate = |of| (unit == of).then(|| rate(done, passed));
            write_line(&Line {
                fingerprints_per_second: rate(Unit::Fingerprints),
                pairs_per_second: rate(Unit::Pairs),
                queries_per_second: rate(Unit::Queries),
                pairs: Some(number).filter(|_| finds == Finds::Pairs),
                matches: Some(number).filter(|_| finds == Finds::Matches),
                bytes_written: bytes,
                seconds: (now - state.start).as_secs_f64(),
                seconds_left: seconds_left(passed, done, total),
                ..Line::new(phase, done, total)
            });
            return;
        }
        let passed = state.in_phase(phase, now);
        drop(state);
        let left = seconds_left(passed, done, total);
        let shown = Shown::new(phase.to_string(), unit.name(), (done, total), passed, left);
        let shown = match finds {
            Finds::Nothing => shown,
            Finds::Pairs => shown.found(number, "pairs"),
            Finds::Matches => shown.found(number, "matches"),
        };
        self.bar.show(shown.written(bytes));
    }

    /// Writes something to standard error, where the bar does not stand in its way.
    pub fn beside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The time since `phase` began, which is now if it is a new one.
    fn in_phase(&mut self, phase: &str, now: Instant) -> Duration {
        if self.phase.0 != phase {
            self.phase = (phase.to_string(), now, None);
        }
        now - self.phase.1
    }

    /// If a line of `phase` is due, the time since it began.
    fn is_due(&mut self, phase: &str, now: Instant, is_last: bool) -> Option<Duration> {
        let passed = self.in_phase(phase, now);
        let last = &mut self.phase.2;
        if !is_last && last.is_some_and(|last| now - last < PERIOD) {
            return None;
        }
        *last = Some(now);
        Some(passed)
    }

    fn read_line(&mut self) {
        let now = Instant::now();
        let Reading { bytes, total_bytes, fingerprints, written } = self.read;
        if let Some(passed) = self.is_due("read", now, total_bytes == Some(bytes)) {
            write_line(&Line {
                fingerprints_per_second: Some(rate(fingerprints, passed)),
                bytes_read: Some(bytes),
                bytes_written: written,
                seconds: (now - self.start).as_secs_f64(),
                // How long all that follows takes is not known before the input is.
                ..Line::new("read", fingerprints, 0)
            });
        }
    }
}

impl<'a> Line<'a> {
    /// A line without what not every phase has.
    fn new(phase: &'a str, done: u64, total: u64) -> Self {
        Self {
            phase,
            done,
            total: Some(total).filter(|&total| total > 0),
            fingerprints_per_second: None,
            pairs_per_second: None,
            queries_per_second: None,
            pairs: None,
            matches: None,
            bytes_read: None,
            bytes_written: 0,
            seconds: 0.0,
            seconds_left: None,
        }
    }
}

fn write_line(line: &Line<'_>) {
    if let Ok(mut line) = serde_json::to_vec(line) {
        line.push(b'\n');
        // Who does not read the progress gets the store all the same.
        let _ = io::stderr().write_all(&line);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Threads of a join tell their steps at the same time, and phases follow each other.
    #[test]
    fn threads_that_change_phases_do_not_wait_for_each_other_for_ever() {
        let progress = Progress::new(Mode::None);
        let (sender, ended) = mpsc::channel();
        for thread in 0..4 {
            let (progress, sender) = (progress.clone(), sender.clone());
            thread::spawn(move || {
                for done in 0..2_000 {
                    let phase = ["match", "write"][usize::from(done % 4 == thread)];
                    let (unit, finds) = (Unit::Fingerprints, Finds::Pairs);
                    progress.step(Step { phase, unit, done, total: 2_000, finds });
                    progress.found(done, done);
                }
                sender.send(()).unwrap();
            });
        }
        for _ in 0..4 {
            ended.recv_timeout(Duration::from_secs(60)).expect("a thread still waits");
        }
        progress.finish();
    }

    #[test]
    fn no_time_is_left_only_at_the_end() {
        let second = Duration::from_secs(1);
        assert_eq!(seconds_left(Duration::ZERO, 0, 100), None);
        assert_eq!(seconds_left(Duration::ZERO, 10, 100), None, "nothing has passed");
        assert_eq!(seconds_left(Duration::ZERO, 100, 100), Some(0.0));
        assert_eq!(seconds_left(second, 10, 100), Some(9.0));
        assert_eq!(seconds_left(second, 10, 0), None, "the end is not known");
        assert_eq!(rate(10, Duration::ZERO), None);
    }
}
