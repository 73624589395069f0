//! `fpstore bench compare`: what got slower between two sweeps, beyond noise.
//!
//! A configuration has a median latency in each round; rounds are spread over the sweep. Of these
//! the lower quartile counts: what else a machine does makes rounds slower, never faster. A change
//! is told if, in logarithms, it exceeds the greater of
//!
//! * the least change that is asked for, and
//! * four standard errors of the difference, from the median absolute deviations of the rounds on
//!   both sides;
//!
//! and beyond that what a piece of work changed by, in the same direction, that has nothing to do
//! with stores and was timed beside every round: where the machine was slower as a whole, nothing
//! else was.
//!
//! A change of all configurations alike is found at less, by their number: the median change is
//! told if it exceeds half of the least change, beyond the median of what the other work changed
//! by, and if nine configurations of ten changed in that direction.

use std::process::ExitCode;

use fpstore_cli::failure::Failure;
use fpstore_cli::output::Output;
use serde::Serialize;

use super::args::CompareArgs;
use super::results::{Measured, Results, Round};
use super::terminal::time;
use super::timing::median;

/// Standard errors that are taken for noise.
const ERRORS: f64 = 4.0;
/// The fewest rounds that have a spread.
const LEAST_ROUNDS: usize = 4;
/// The fewest configurations of which the median change is told.
const LEAST_CONFIGURATIONS: usize = 5;
/// Fewer configurations than this share may have changed the other way.
const ALIKE: f64 = 0.9;
/// From the median absolute deviation to the standard deviation of a normal distribution.
const TO_DEVIATION: f64 = 1.4826;
/// From the standard deviation to the error of a quartile of one value, of a normal distribution.
const QUARTILE_ERROR: f64 = 1.36;

/// What is told of two sweeps.
#[derive(Debug, Serialize)]
pub struct Comparison {
    pub compared: usize,
    pub slower: Vec<Change>,
    pub faster: Vec<Change>,
    /// The median change of all, if it is beyond noise.
    pub overall: Option<f64>,
    /// The change of the other work, in percent.
    pub reference: f64,
    /// Configurations that only one of the sweeps has.
    pub unmatched: Vec<String>,
    /// What differs about the sweeps themselves.
    pub warnings: Vec<String>,
}

/// A configuration that changed.
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    pub id: String,
    pub before_ns: f64,
    pub after_ns: f64,
    /// In percent of before.
    pub change: f64,
    /// The change that would have been taken for noise, in percent.
    pub noise: f64,
}

/// Compares two files, and gives the exit code 1 if something got slower.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if !(args.least.is_finite() && args.least >= 0.0) {
        let message = "--least: a change is a number of percent, 0 or more";
        return Err(Failure::Usage(message.to_string()));
    }
    let (before, after) = (Results::read(&args.before)?, Results::read(&args.after)?);
    let comparison = compare(&before, &after, args.least / 100.0);
    if comparison.compared == 0 {
        return Err(Failure::Usage(format!(
            "{}: has no configuration of {}; compare sweeps of the same grid",
            args.after.display(),
            args.before.display()
        )));
    }
    let mut output = Output::stdout();
    if args.json {
        output.json(&comparison)?;
    } else {
        for line in comparison.lines() {
            output.line(&line)?;
        }
    }
    output.flush()?;
    Ok(ExitCode::from(u8::from(comparison.is_slower())))
}

/// Compares the configurations that both have. `least` is the least change that counts.
pub fn compare(before: &Results, after: &Results, least: f64) -> Comparison {
    let mut comparison = Comparison {
        compared: 0,
        slower: Vec::new(),
        faster: Vec::new(),
        overall: None,
        reference: 0.0,
        unmatched: Vec::new(),
        warnings: warnings(before, after),
    };
    let (mut changes, mut references) = (Vec::new(), Vec::new());
    for old in &before.configurations {
        let Some(new) = after.find(&old.id) else {
            comparison.unmatched.push(old.id.clone());
            continue;
        };
        comparison.compared += 1;
        let (from, to) = (Sample::new(old, |r| r.p50_ns), Sample::new(new, |r| r.p50_ns));
        let (ref_from, ref_to) =
            (Sample::new(old, |r| r.reference_ns), Sample::new(new, |r| r.reference_ns));
        let (change, reference) = (to.centre - from.centre, ref_to.centre - ref_from.centre);
        let noise = f64::max(least.ln_1p(), ERRORS * f64::hypot(from.error, to.error))
            + along(change, reference);
        changes.push(change);
        references.push(reference);
        let percent = |log: f64| 100.0 * log.exp_m1();
        let told = Change {
            id: old.id.clone(),
            before_ns: from.centre.exp().round(),
            after_ns: to.centre.exp().round(),
            change: percent(change),
            noise: percent(noise),
        };
        match change {
            _ if change > noise => comparison.slower.push(told),
            _ if change < -noise => comparison.faster.push(told),
            _ => {}
        }
    }
    let old = |id: &str| before.find(id).is_some();
    let only_new = after.configurations.iter().filter(|new| !old(&new.id));
    comparison.unmatched.extend(only_new.map(|new| new.id.clone()));
    let reference = median(references);
    comparison.reference = 100.0 * reference.exp_m1();
    let all = median(changes.clone());
    let alike = changes.iter().filter(|change| change.signum() == all.signum()).count() as f64;
    let beyond = all.abs() > least.ln_1p() / 2.0 + along(all, reference);
    if changes.len() >= LEAST_CONFIGURATIONS && alike >= ALIKE * changes.len() as f64 && beyond {
        comparison.overall = Some(100.0 * all.exp_m1());
    }
    for list in [&mut comparison.slower, &mut comparison.faster] {
        list.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    }
    comparison
}

/// How far `other` goes into the direction of `change`.
fn along(change: f64, other: f64) -> f64 {
    (other * change.signum()).max(0.0)
}

/// The logarithm of a figure over the rounds: its lower quartile, and the standard error of that.
struct Sample {
    centre: f64,
    error: f64,
}

impl Sample {
    fn new(measured: &Measured, value: fn(&Round) -> f64) -> Self {
        let logs = measured.warm.rounds.iter().map(|round| value(round).max(1.0).ln());
        let mut logs: Vec<f64> = logs.collect();
        logs.sort_by(f64::total_cmp);
        let centre = logs.get(logs.len().saturating_sub(1) / 4).copied().unwrap_or(0.0);
        let error = match logs.len() {
            // Too few to know.
            0..LEAST_ROUNDS => 0.03,
            n => {
                let middle = median(logs.clone());
                let deviations = logs.iter().map(|log| (log - middle).abs()).collect();
                QUARTILE_ERROR * TO_DEVIATION * median(deviations) / (n as f64).sqrt()
            }
        };
        Self { centre, error }
    }
}

fn warnings(before: &Results, after: &Results) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut differ = |what: &str, old: String, new: String| {
        if old != new {
            warnings.push(format!("the {what} differ: {old}; {new}"));
        }
    };
    let machine = |r: &Results| format!("{}, {} cores", r.machine.processor, r.machine.cores);
    differ("machines", machine(before), machine(after));
    let data = |r: &Results| format!("{}, {} distinct", r.data.name, r.data.distinct);
    differ("sets", data(before), data(after));
    let queries = |r: &Results| format!("{} {}, k = {}", r.queries.count, r.queries.name, r.radius);
    differ("queries", queries(before), queries(after));
    let build = |r: &Results| format!("optimized {}", r.build.optimized);
    differ("programs", build(before), build(after));
    warnings
}

impl Comparison {
    /// Whether anything got slower.
    pub fn is_slower(&self) -> bool {
        !self.slower.is_empty() || self.overall.is_some_and(|overall| overall > 0.0)
    }

    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        let number = self.compared;
        lines.push(format!(
            "{number} configurations compared; other work changed by {:+.1}%",
            self.reference
        ));
        for (what, changes) in [("slower", &self.slower), ("faster", &self.faster)] {
            for Change { id, before_ns, after_ns, change, noise } in changes {
                let (before, after) = (time(*before_ns), time(*after_ns));
                lines.push(format!(
                    "{what}: {id:<28} {before:>8} -> {after:>8}  {change:+.1}% (noise up to {noise:.1}%)"
                ));
            }
        }
        if let Some(overall) = self.overall {
            lines.push(format!("all together: {overall:+.1}%"));
        }
        if self.slower.is_empty() && self.faster.is_empty() && self.overall.is_none() {
            lines.push("nothing changed beyond noise".to_string());
        }
        if !self.unmatched.is_empty() {
            lines.push(format!("only in one of both: {}", self.unmatched.join(" ")));
        }
        lines
    }
}
