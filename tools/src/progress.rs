//! How far a command is: a bar on standard error, if that is a terminal, or lines of JSON.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fpstore::Phase;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde::Serialize;

/// Time between two lines of JSON of one phase, at least.
const PERIOD: Duration = Duration::from_millis(250);

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

impl Mode {
    /// What is shown by a command that writes rows to a file or to standard output: no bar where
    /// these stand on the terminal.
    pub fn beside_rows(given: Option<Self>, quiet: bool, to_file: bool) -> Self {
        let is_free = !quiet && (to_file || !io::stdout().is_terminal());
        given.unwrap_or(if is_free { Mode::Auto } else { Mode::None })
    }
}

/// What is shown of all phases of a command.
#[derive(Clone)]
pub struct Progress {
    /// A bar waits for itself where one thread starts to tick it while another one changes it.
    bar: Arc<Mutex<ProgressBar>>,
    json: bool,
    found: Arc<Found>,
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

/// What a join has found.
#[derive(Default)]
struct Found {
    pairs: AtomicU64,
    bytes: AtomicU64,
}

/// A phase, and how far it is.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What is being done, in one word.
    pub phase: &'static str,
    /// What is counted: `fingerprints` or `pairs`.
    pub unit: &'static str,
    /// How many are done.
    pub done: u64,
    /// Of how many.
    pub total: u64,
}

/// A line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    phase: &'a str,
    /// Fingerprints done in this phase, counted once per table, or ids.
    done: u64,
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprints_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs_per_second: Option<f64>,
    /// Pairs that a join has found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<u64>,
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
        let bar = match mode {
            Mode::Auto => ProgressBar::no_length(),
            Mode::Json | Mode::None => ProgressBar::hidden(),
        };
        let start = Instant::now();
        let phase = (String::new(), start, None);
        let state = State { start, phase, work: None, read: Reading::default() };
        let (json, state) = (mode == Mode::Json, Arc::new(Mutex::new(state)));
        Self { bar: Arc::new(Mutex::new(bar)), json, found: Arc::default(), state }
    }

    /// Starts the phase of reading `bytes` of input, or an unknown number of them.
    pub fn start_reading(&self, bytes: Option<u64>) {
        self.state().read.total_bytes = bytes;
        let bar = self.bar();
        match bytes {
            Some(bytes) => {
                set_style(&bar, "read   [{wide_bar}] {bytes}/{total_bytes}, {eta} left");
                bar.set_length(bytes);
            }
            None => set_style(&bar, "read   {spinner} {bytes}, {bytes_per_sec}"),
        }
        bar.enable_steady_tick(Duration::from_millis(100));
    }

    /// Tells that `bytes` of input have been read, and what they gave.
    pub fn read(&self, bytes: u64, fingerprints: u64) {
        self.bar().set_position(bytes);
        if self.json {
            let mut state = self.state();
            state.read = Reading { bytes, fingerprints, ..state.read };
            state.read_line();
        }
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
        if self.json {
            let is_last = progress.done == progress.total;
            if let Some(phase_seconds) = state.is_due(&phase, now, is_last) {
                write_line(&Line {
                    phase: &phase,
                    done: progress.done,
                    total: Some(progress.total).filter(|&total| total > 0),
                    fingerprints_per_second: Some(rate(progress.done, phase_seconds)),
                    pairs_per_second: None,
                    pairs: None,
                    bytes_read: None,
                    bytes_written: progress.bytes_written,
                    seconds: (now - state.start).as_secs_f64(),
                    seconds_left: left,
                });
            }
            return;
        }
        drop(state);
        let bar = self.bar();
        let is_new = bar.prefix() != phase;
        if is_new {
            // The name stands in the style, since each other change of the bar draws it at once.
            let unit = if progress.phase == Phase::Ids { "ids" } else { "fingerprints" };
            let counts = "[{wide_bar}] {human_pos}/{human_len}";
            set_style(&bar, &format!("{phase:6} {counts} {unit}, {{per_sec}}, {{msg}}"));
            bar.reset_elapsed();
            bar.reset_eta();
        }
        let left = left.map_or(String::new(), |left| {
            format!(", {} left", indicatif::HumanDuration(Duration::from_secs_f64(left)))
        });
        bar.update(|state| {
            state.set_len(progress.total);
            state.set_pos(progress.done);
        });
        bar.set_message(format!("{} written{left}", HumanBytes(progress.bytes_written)));
        if is_new {
            bar.set_prefix(phase);
        }
    }

    /// Tells that so many pairs are found, and written in so many bytes.
    pub fn found(&self, pairs: u64, bytes: u64) {
        self.found.pairs.store(pairs, Relaxed);
        self.found.bytes.store(bytes, Relaxed);
    }

    /// Shows how far a phase is that is no phase of a pack.
    pub fn step(&self, step: Step) {
        let Step { phase, unit, done, total } = step;
        let (pairs, bytes) = (self.found.pairs.load(Relaxed), self.found.bytes.load(Relaxed));
        if self.json {
            let mut state = self.state();
            let now = Instant::now();
            let Some(seconds) = state.is_due(phase, now, done == total) else { return };
            let rate = Some(rate(done, seconds));
            write_line(&Line {
                phase,
                done,
                total: Some(total).filter(|&total| total > 0),
                fingerprints_per_second: rate.filter(|_| unit == "fingerprints"),
                pairs_per_second: rate.filter(|_| unit == "pairs"),
                pairs: Some(pairs),
                bytes_read: None,
                bytes_written: bytes,
                seconds: (now - state.start).as_secs_f64(),
                seconds_left: seconds_left(Duration::from_secs_f64(seconds), done, total),
            });
            return;
        }
        let bar = self.bar();
        let is_new = bar.prefix() != phase;
        if is_new {
            let counts = "[{wide_bar}] {human_pos}/{human_len}";
            set_style(&bar, &format!("{phase:6} {counts} {unit}, {{msg}}, {{eta}} left"));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar.reset_elapsed();
            bar.reset_eta();
        }
        bar.update(|state| {
            state.set_len(total);
            state.set_pos(done);
        });
        bar.set_message(format!("{pairs} pairs, {} written", HumanBytes(bytes)));
        if is_new {
            bar.set_prefix(phase);
        }
    }

    /// Writes something to standard error, where the bar does not stand in its way.
    pub fn beside(&self, write: impl FnOnce()) {
        self.bar().suspend(write);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar().finish_and_clear();
    }

    fn bar(&self) -> MutexGuard<'_, ProgressBar> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// If a line of `phase` is due, the seconds since it began.
    fn is_due(&mut self, phase: &str, now: Instant, is_last: bool) -> Option<f64> {
        if self.phase.0 != phase {
            self.phase = (phase.to_string(), now, None);
        }
        let (_, start, last) = &mut self.phase;
        if !is_last && last.is_some_and(|last| now - last < PERIOD) {
            return None;
        }
        *last = Some(now);
        Some((now - *start).as_secs_f64())
    }

    fn read_line(&mut self) {
        let now = Instant::now();
        let Reading { bytes, total_bytes, fingerprints, written } = self.read;
        if let Some(phase_seconds) = self.is_due("read", now, total_bytes == Some(bytes)) {
            write_line(&Line {
                phase: "read",
                done: fingerprints,
                total: None,
                fingerprints_per_second: Some(rate(fingerprints, phase_seconds)),
                pairs_per_second: None,
                pairs: None,
                bytes_read: Some(bytes),
                bytes_written: written,
                seconds: (now - self.start).as_secs_f64(),
                // How long the rest takes is not known before the input is.
                seconds_left: None,
            });
        }
    }
}

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

fn rate(done: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { done as f64 / seconds } else { 0.0 }
}

/// What `steps` will still take; `None` before that can be told.
fn seconds_left(passed: Duration, done: u64, steps: u64) -> Option<f64> {
    let left = steps.checked_sub(done)?;
    (done > 0 && steps > 0).then(|| passed.as_secs_f64() * left as f64 / done as f64)
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
                    progress.step(Step { phase, unit: "fingerprints", done, total: 2_000 });
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
}
