//! The bar: one line of a terminal, whatever its width.
//!
//! A line says less where the terminal is narrower, so that there is always room for a bar, and it
//! never wraps. Its numbers have fixed widths, so that it stands still while they change. Work that
//! is done before [`DELAY`] has passed shows nothing.

use std::fmt::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::pace::{rate, seconds_left};
use crate::threads;
use crate::units;

/// The time that passes before anything is drawn.
const DELAY: Duration = Duration::from_millis(200);
/// The time between two frames where nothing else makes one.
const TICK: Duration = Duration::from_millis(100);
/// Cells of the bar, at least.
const CELLS: usize = 10;
/// The longest name of a phase.
const NAME: usize = "distribute".len();

/// A line that waits until it is worth to be drawn.
#[derive(Clone)]
pub struct Bar {
    /// A bar waits for itself where one thread starts to tick it while another one changes it.
    line: Arc<Mutex<ProgressBar>>,
    shown: Arc<Mutex<Shown>>,
    clock: Arc<Clock>,
}

/// Says when a bar is drawn first.
#[derive(Default)]
struct Clock {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Waiting {
    #[default]
    NotYet,
    Started,
    Ended,
}

/// What a line tells.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    phase: String,
    /// What is counted, with a unit where that is known without.
    done: String,
    total: Option<String>,
    unit: &'static str,
    share: Option<f64>,
    rate: Option<String>,
    found: Option<String>,
    written: Option<String>,
    left: Option<f64>,
}

impl Shown {
    /// A phase of which `done` and `total` are known, or 0 as total.
    pub fn new(
        phase: String,
        unit: &'static str,
        (done, total): (u64, u64),
        passed: Duration,
        left: Option<f64>,
    ) -> Self {
        let known = Some(total).filter(|&total| total > 0);
        Self {
            phase,
            done: units::short(done as f64),
            total: known.map(|total| units::short(total as f64)),
            unit,
            share: known.map(|total| done as f64 / total as f64),
            rate: rate(done, passed).map(|rate| format!("{:>5}/s", units::short(rate))),
            left,
            ..Self::default()
        }
    }

    /// The phase that reads `bytes` of input.
    pub fn reading(bytes: u64, total: Option<u64>, fingerprints: u64, passed: Duration) -> Self {
        let size = |bytes: u64| units::bytes(bytes as f64);
        let rate = rate(bytes, passed);
        Self {
            phase: "read".to_string(),
            done: size(bytes),
            total: total.map(size),
            share: total.filter(|&total| total > 0).map(|total| bytes as f64 / total as f64),
            rate: rate.map(|rate| format!("{:>8}/s", units::bytes(rate))),
            left: total.and_then(|total| seconds_left(passed, bytes, total)),
            ..Self::default()
        }
        .found(fingerprints, "records")
    }

    /// With what was found.
    pub fn found(self, number: u64, things: &str) -> Self {
        let found = Some(format!("{:>5} {things}", units::short(number as f64)));
        Self { found, ..self }
    }

    /// With what was written, if anything was.
    pub fn written(self, bytes: u64) -> Self {
        let written = format!("{:>8} written", units::bytes(bytes as f64));
        Self { written: Some(written).filter(|_| bytes > 0), ..self }
    }

    /// What stands behind the bar: as much as there is room for in so many columns.
    fn text(&self, room: usize) -> String {
        let percent = self.share.map(|share| format!("{:>3.0}%", 100.0 * share.min(1.0)));
        let counts = |with_unit: bool| {
            // As wide as the total, or as any number.
            let width = self.total.as_ref().map_or(5, |total| total.len().max(5));
            let mut text = format!("{:>width$}", self.done);
            if let Some(total) = &self.total {
                let _ = write!(text, " of {total}");
            }
            if with_unit && !self.unit.is_empty() {
                let _ = write!(text, " {}", self.unit);
            }
            Some(text)
        };
        let left = self
            .left
            .filter(|&left| left > 0.0)
            .map(|left| format!("{:>7} left", units::left(left)));
        // While that is not known, its place is kept.
        let left = left.or_else(|| self.share.map(|_| " ".repeat(12)));
        let (rate, found, written) = (self.rate.clone(), self.found.clone(), self.written.clone());
        let brief = percent.clone().or_else(|| counts(false));
        let lines: [Vec<Option<String>>; 7] = [
            vec![counts(true), rate.clone(), found.clone(), written.clone(), left.clone()],
            vec![counts(false), rate.clone(), found.clone(), written.clone(), left.clone()],
            vec![percent, rate.clone(), found.clone(), written, left.clone()],
            vec![brief.clone(), rate.clone(), found, left.clone()],
            vec![brief.clone(), rate, left.clone()],
            vec![brief.clone(), left],
            vec![brief],
        ];
        let lines = lines.map(|parts| {
            let line = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
            // A place that is kept needs no comma.
            line.trim_end().trim_end_matches(',').to_string() + &" ".repeat(kept(&line))
        });
        lines.into_iter().find(|line| line.len() <= room).unwrap_or_default()
    }
}

/// Columns that a line keeps at its end for what is not known yet.
fn kept(line: &str) -> usize {
    let bare = line.trim_end();
    line.len() - bare.trim_end_matches(',').len()
}

impl Bar {
    /// A bar on standard error, if that is a terminal and the bar is `wanted`.
    pub fn new(wanted: bool) -> Self {
        let bar = Self {
            line: Arc::new(Mutex::new(ProgressBar::hidden())),
            shown: Arc::default(),
            clock: Arc::default(),
        };
        if !wanted || !Term::stderr().is_term() {
            *bar.waiting() = Waiting::Ended;
        }
        bar
    }

    /// Shows this, from some time after the first call on.
    pub fn show(&self, shown: Shown) {
        let mut waiting = self.waiting();
        match *waiting {
            Waiting::Ended => return,
            Waiting::Started => {}
            Waiting::NotYet => {
                *waiting = Waiting::Started;
                let bar = self.clone();
                // Whoever cannot be told how far it is gets the results all the same.
                if threads::spawn(move || bar.draw_later()).is_err() {
                    *waiting = Waiting::Ended;
                    return;
                }
            }
        }
        drop(waiting);
        let (phase, share) = (shown.phase.clone(), shown.share);
        let is_new = std::mem::replace(&mut *lock(&self.shown), shown).phase != phase;
        let line = lock(&self.line);
        if is_new {
            line.set_style(self.style(share.is_some()));
        }
        line.update(|state| {
            state.set_len(1000);
            state.set_pos((1000.0 * share.unwrap_or(0.0)) as u64);
        });
    }

    /// Draws the line from now on until it ends, unless it has ended before.
    fn draw_later(&self) {
        let waiting = self.waiting();
        let wait = self
            .clock
            .changed
            .wait_timeout_while(waiting, DELAY, |waiting| *waiting == Waiting::Started);
        // Held, so that nobody ends the bar before it ticks.
        let (mut waiting, _) = wait.unwrap_or_else(PoisonError::into_inner);
        if *waiting == Waiting::Started {
            lock(&self.line).set_draw_target(ProgressDrawTarget::stderr());
        }
        // A steady tick of the line's own would be a further thread, and a panic where there is
        // none.
        while *waiting == Waiting::Started {
            lock(&self.line).tick();
            let wait = self.clock.changed.wait_timeout(waiting, TICK);
            (waiting, _) = wait.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn style(&self, with_bar: bool) -> ProgressStyle {
        let template = if with_bar { "{name}[{wide_bar}] {rest}" } else { "{name}{rest}" };
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let frame = if with_bar { CELLS + 4 } else { 1 };
        let (name, rest) = (self.shown.clone(), self.shown.clone());
        style
            .with_key("name", move |_: &ProgressState, to: &mut dyn Write| {
                let _ = write!(to, "{:NAME$} ", lock(&name).phase);
            })
            .with_key("rest", move |_: &ProgressState, to: &mut dyn Write| {
                let columns = Term::stderr().size_checked().map_or(80, |(_, columns)| columns);
                let room = usize::from(columns).saturating_sub(NAME + 1 + frame);
                let _ = to.write_str(&lock(&rest).text(room));
            })
    }

    /// Does something while the line is away.
    pub fn suspend(&self, work: impl FnOnce()) {
        lock(&self.line).suspend(work);
    }

    /// Removes the line for good.
    pub fn finish(&self) {
        *self.waiting() = Waiting::Ended;
        self.clock.changed.notify_all();
        lock(&self.line).finish_and_clear();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.clock.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(done: u64, passed: Duration) -> Shown {
        let left = seconds_left(passed, done, 67_108_864);
        Shown::new("encode".to_string(), "fingerprints", (done, 67_108_864), passed, left)
            .written(345_678_901)
    }

    #[test]
    fn a_line_says_less_where_there_is_less_room_and_never_more_than_fits() {
        let shown = shown(12_345_678, Duration::from_millis(812));
        assert_eq!(
            shown.text(80),
            "12.3M of 67.1M fingerprints, 15.2M/s,  330 MiB written,      3s left"
        );
        assert_eq!(shown.text(60), "12.3M of 67.1M, 15.2M/s,  330 MiB written,      3s left");
        assert_eq!(shown.text(40), " 18%, 15.2M/s,      3s left");
        assert_eq!(shown.text(20), " 18%,      3s left");
        assert_eq!(shown.text(4), " 18%");
        assert_eq!(shown.text(3), "");
        for room in 0..120 {
            assert!(shown.text(room).len() <= room);
        }
    }

    #[test]
    fn a_line_stands_still_while_its_numbers_change() {
        let second = Duration::from_secs(1);
        for room in [17, 30, 50, 60, 100] {
            let text = |done, passed| shown(done, passed).text(room).len();
            let widths =
                [text(1, second / 8), text(999_999, second), text(67_000_000, 50 * second)];
            assert!(widths.iter().all(|&width| width == widths[0]), "{room}: {widths:?}");
        }
    }

    #[test]
    fn the_end_leaves_no_time_and_nothing_written_is_not_told() {
        let second = Duration::from_secs(1);
        let shown = Shown::new("sort".to_string(), "ids", (7, 7), second, Some(0.0)).written(0);
        assert_eq!(shown.text(80).trim_end(), "    7 of 7 ids,     7/s");
    }

    #[test]
    fn input_whose_end_is_not_known_has_no_share_and_no_time_left() {
        let shown = Shown::reading(3 << 20, None, 200_000, Duration::from_secs(2));
        assert_eq!(shown.text(60), "3.00 MiB, 1.50 MiB/s,  200k records");
    }
}
