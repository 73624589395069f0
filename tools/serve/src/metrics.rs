//! What the server counts, and how Prometheus reads it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Cells per doubling of the time.
const CELLS_PER_OCTAVE: u32 = 8;
/// The first cell ends behind 1 us, the last one behind 2^27 us, that is two minutes.
const OCTAVES: u32 = 27;
const CELLS: usize = (CELLS_PER_OCTAVE * OCTAVES) as usize;

/// Times, in cells whose ends are an eighth of an octave apart: quantiles are right within 9%.
pub struct Histogram {
    cells: Vec<AtomicU64>,
    sum_us: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        let cells = (0..CELLS).map(|_| AtomicU64::new(0)).collect();
        Self { cells, sum_us: AtomicU64::new(0) }
    }
}

/// The end of a cell, in seconds.
fn end(cell: usize) -> f64 {
    2f64.powf((cell + 1) as f64 / f64::from(CELLS_PER_OCTAVE)) / 1e6
}

impl Histogram {
    pub fn add(&self, time: Duration) {
        let us = time.as_secs_f64() * 1e6;
        let cell = (us.max(1.0).log2() * f64::from(CELLS_PER_OCTAVE)) as usize;
        if let Some(cell) = self.cells.get(cell.min(CELLS - 1)) {
            cell.fetch_add(1, Relaxed);
        }
        self.sum_us.fetch_add(us as u64, Relaxed);
    }

    fn counts(&self) -> Vec<u64> {
        self.cells.iter().map(|cell| cell.load(Relaxed)).collect()
    }

    pub fn count(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// The time within which this part of all were, in seconds; `None` if there was none.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let counts = self.counts();
        let all: u64 = counts.iter().sum();
        let wanted = ((all as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        let cell = counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        cell.map(end)
    }

    /// Writes it as Prometheus reads it, with an end for every octave.
    fn write(&self, to: &mut String, name: &str, labels: &str) {
        let mut seen = 0;
        for (cell, count) in self.counts().into_iter().enumerate() {
            seen += count;
            if (cell + 1) % CELLS_PER_OCTAVE as usize == 0 && cell > 40 {
                let _ = writeln!(to, "{name}_bucket{{{labels},le=\"{}\"}} {seen}", end(cell));
            }
        }
        let _ = writeln!(to, "{name}_bucket{{{labels},le=\"+Inf\"}} {seen}");
        let sum = self.sum_us.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(to, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {seen}");
    }
}

/// What requests ask for, as metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Search,
    Nearest,
    Batch,
    CheckAndInsert,
    Insert,
    Delete,
    Other,
}

impl Operation {
    pub const ALL: [Self; 7] = [
        Self::Search,
        Self::Nearest,
        Self::Batch,
        Self::CheckAndInsert,
        Self::Insert,
        Self::Delete,
        Self::Other,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Nearest => "nearest",
            Self::Batch => "search-batch",
            Self::CheckAndInsert => "check-and-insert",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Other => "other",
        }
    }

    /// Of the last part of a path.
    pub fn of_route(route: &str) -> Self {
        let last = route.rsplit('/').next().unwrap_or_default();
        let named = Self::ALL.into_iter().find(|operation| operation.name() == last);
        named.unwrap_or(Self::Other)
    }
}

/// Statuses that are counted apart; all others are `other`.
const STATUSES: [u16; 15] =
    [200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 500, 503];

/// All that is counted of requests.
#[derive(Default)]
pub struct Metrics {
    requests: [[AtomicU64; STATUSES.len() + 1]; Operation::ALL.len()],
    times: [Histogram; Operation::ALL.len()],
    /// Connections that are open.
    pub connections: AtomicU64,
    /// Connections that were refused since there were too many.
    pub connections_refused: AtomicU64,
    /// Lines of the log that were dropped since whoever reads it is too slow.
    pub log_lines_dropped: AtomicU64,
}

/// A line that says what the next ones are.
fn head(to: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(to, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A value for each store: its name and the value.
pub fn write_of_stores(
    to: &mut String,
    (name, kind, help): (&str, &str, &str),
    values: impl Iterator<Item = (String, f64)>,
) {
    head(to, name, kind, help);
    for (store, value) in values {
        let store = store.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = writeln!(to, "{name}{{store=\"{store}\"}} {value}");
    }
}

/// A single value.
pub fn write_one(to: &mut String, (name, kind, help): (&str, &str, &str), value: f64) {
    head(to, name, kind, help);
    let _ = writeln!(to, "{name} {value}");
}

impl Metrics {
    /// Counts a request that was answered.
    pub fn answered(&self, operation: Operation, status: u16, time: Duration) {
        let column = STATUSES.iter().position(|&known| known == status).unwrap_or(STATUSES.len());
        let (row, times) = (&self.requests[operation as usize], &self.times[operation as usize]);
        if let Some(cell) = row.get(column) {
            cell.fetch_add(1, Relaxed);
        }
        if status == 200 {
            times.add(time);
        }
    }

    /// The times of an operation.
    pub fn times(&self, operation: Operation) -> &Histogram {
        &self.times[operation as usize]
    }

    /// Requests that were answered with this status.
    pub fn with_status(&self, status: u16) -> u64 {
        let column = STATUSES.iter().position(|&known| known == status).unwrap_or(STATUSES.len());
        self.requests.iter().filter_map(|row| row.get(column)).map(|cell| cell.load(Relaxed)).sum()
    }

    /// Writes all as Prometheus reads it.
    pub fn write(&self, to: &mut String) {
        let name = "fpstore_requests_total";
        head(to, name, "counter", "Requests that were answered.");
        for operation in Operation::ALL {
            for (column, cell) in self.requests[operation as usize].iter().enumerate() {
                let count = cell.load(Relaxed);
                if count > 0 {
                    let status = STATUSES.get(column).map(u16::to_string);
                    let status = status.as_deref().unwrap_or("other");
                    let operation = operation.name();
                    let labels = format!("operation=\"{operation}\",status=\"{status}\"");
                    let _ = writeln!(to, "{name}{{{labels}}} {count}");
                }
            }
        }
        let name = "fpstore_request_seconds";
        head(
            to,
            name,
            "histogram",
            "Time from the head of a request to its answer, if that is 200.",
        );
        for operation in Operation::ALL {
            let labels = format!("operation=\"{}\"", operation.name());
            self.times(operation).write(to, name, &labels);
        }
        let gauge = |to: &mut String, name, kind, help, cell: &AtomicU64| {
            write_one(to, (name, kind, help), cell.load(Relaxed) as f64);
        };
        let open = "Connections that are open.";
        gauge(to, "fpstore_connections", "gauge", open, &self.connections);
        let refused = "Connections that were refused since there were too many.";
        gauge(
            to,
            "fpstore_connections_refused_total",
            "counter",
            refused,
            &self.connections_refused,
        );
        let dropped = "Lines of the log that were dropped since its reader is too slow.";
        gauge(to, "fpstore_log_lines_dropped_total", "counter", dropped, &self.log_lines_dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_times_within_nine_percent() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        // Times from 10 us to 1 s, in a fixed order that is none.
        let times: Vec<u64> =
            (1..=10_000u64).map(|i| 10 + i * 7919 % 10_007 * i % 1_000_000).collect();
        times.iter().for_each(|&us| histogram.add(Duration::from_micros(us)));
        let mut sorted = times.clone();
        sorted.sort_unstable();
        for part in [0.01, 0.5, 0.99, 0.999, 1.0] {
            let place = ((sorted.len() as f64 * part).ceil() as usize).max(1) - 1;
            let (exact, found) = (sorted[place] as f64 / 1e6, histogram.quantile(part).unwrap());
            assert!(found >= exact * 0.999 && found <= exact * 1.1, "{part}: {found} {exact}");
        }
        assert_eq!(histogram.count(), 10_000);
    }

    #[test]
    fn extreme_times_are_counted_in_the_outer_cells() {
        let histogram = Histogram::default();
        histogram.add(Duration::ZERO);
        histogram.add(Duration::from_secs(1 << 30));
        let mut text = String::new();
        histogram.write(&mut text, "t", "a=\"b\"");
        assert!(
            text.contains("t_bucket{a=\"b\",le=\"+Inf\"} 2\n")
                && text.ends_with("_count{a=\"b\"} 2\n")
        );
    }

    #[test]
    fn names_of_stores_are_escaped() {
        let mut text = String::new();
        let values = [("a\"b\\c\nd".to_string(), 1.0)].into_iter();
        write_of_stores(&mut text, ("m", "gauge", "Help."), values);
        assert!(text.ends_with("m{store=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
    }
}
