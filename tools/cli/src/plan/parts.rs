//! The table of numbers of parts.

use fpstore::plan::{PartsPlan, plan_parts, recommended_parts};
use serde::Serialize;

use super::show::{bytes, number, print_rows, time};
use super::{Args, input, reading};
use crate::failure::Failure;
use crate::output::Output;
use crate::report::per_fingerprint;
use crate::units::plural;

/// Rows are printed of plans that take at most so many times as long as the fastest.
const SHOWN: f64 = 4.0;

#[derive(Serialize)]
struct Report {
    fingerprints: u64,
    bits: u32,
    radius: u32,
    recommended: Option<String>,
    plans: Vec<PlanReport>,
}

#[derive(Serialize)]
struct PlanReport {
    parts: u16,
    recommended: bool,
    within_budget: bool,
    /// Of each part, how many bits a look-up may change; null for a part that is not looked at, and
    /// none at all where every fingerprint is read.
    may_differ: Vec<Option<u32>>,
    lookups: f64,
    candidates: f64,
    store_bytes: u64,
    /// Null without fingerprints.
    bytes_per_fingerprint: Option<f64>,
    warm_ns: f64,
}

/// Prints what every number of parts takes, for so many fingerprints of so many bits.
pub(super) fn run(args: &Args, bits: u32, count: u64) -> Result<(), Failure> {
    let plans = plan_parts(bits, count, args.radius)?;
    let planned = recommended_parts(bits, count, args.radius)?;
    let each = |plan: &PartsPlan| per_fingerprint(plan.store_bytes as f64, count);
    let fits =
        |plan: &PartsPlan| each(plan).zip(args.budget).is_none_or(|(each, most)| each <= most);
    let best = plans.iter().filter(|plan| fits(plan)).min_by(|one, other| {
        // What a pack takes by itself goes before the fastest.
        let order = |plan: &PartsPlan| (plan.parts != planned, plan.search_ns);
        let ((one, one_ns), (other, other_ns)) = (order(one), order(other));
        one.cmp(&other).then(one_ns.total_cmp(&other_ns))
    });
    let is_best = |plan: &PartsPlan| best.is_some_and(|best| best.parts == plan.parts);
    let command = best.map(|plan| {
        let parts = match plan.parts == planned {
            true => String::new(),
            false => format!(" --design parts:{}", plan.parts),
        };
        let (input, reading) = (input(args), reading(args));
        format!("fpstore pack {input} -o STORE --bits {bits} -k {}{parts}{reading}", args.radius)
    });
    let mut output = Output::stdout();
    if args.globals.json {
        let report = |plan: &PartsPlan| PlanReport {
            parts: plan.parts,
            recommended: is_best(plan),
            within_budget: fits(plan),
            may_differ: plan.thresholds.clone(),
            lookups: plan.probes,
            candidates: plan.candidates,
            store_bytes: plan.store_bytes,
            bytes_per_fingerprint: each(plan),
            warm_ns: plan.search_ns,
        };
        let (radius, plans) = (args.radius, plans.iter().map(report).collect());
        let report = Report { fingerprints: count, bits, radius, recommended: command, plans };
        output.json(&report)?;
        return output.flush();
    }
    output.line(&format!(
        "{count} fingerprints of {bits} bits, queries within k = {} bits",
        args.radius
    ))?;
    output.line("")?;
    let names = ["", "parts", "store", "B/fp", "warm", "look-ups", "candidates", "may differ"];
    let mut rows = vec![names.map(str::to_string).to_vec()];
    let fastest = plans.iter().map(|plan| plan.search_ns).fold(f64::INFINITY, f64::min);
    let is_shown = |plan: &&PartsPlan| {
        args.details || plan.parts == 0 || is_best(plan) || plan.search_ns <= SHOWN * fastest
    };
    rows.extend(plans.iter().filter(is_shown).map(|plan| {
        let mark = match (is_best(plan), fits(plan)) {
            (true, _) => "*",
            (false, true) => "",
            (false, false) => "over",
        };
        vec![
            mark.to_string(),
            plan.parts.to_string(),
            bytes(plan.store_bytes as f64),
            each(plan).map_or(String::new(), |each| format!("{each:.2}")),
            time(plan.search_ns),
            number(plan.probes),
            number(plan.candidates),
            thresholds(plan),
        ]
    }));
    print_rows(&mut output, &rows)?;
    match command {
        Some(command) => output.line(&format!("\n{command}"))?,
        None => output.line("\nno number of parts is within the budget; give more, or none")?,
    }
    output.flush()
}

/// How many bits may differ, and in how many parts.
fn thresholds(plan: &PartsPlan) -> String {
    let mut parts: Vec<(u32, usize)> = Vec::new();
    let mut thresholds: Vec<u32> = plan.thresholds.iter().flatten().copied().collect();
    thresholds.sort_unstable_by(|one, other| other.cmp(one));
    for threshold in thresholds {
        match parts.last_mut() {
            Some((last, count)) if *last == threshold => *count += 1,
            _ => parts.push((threshold, 1)),
        }
    }
    if parts.is_empty() {
        return "all are read".to_string();
    }
    let text = |(bits, count): &(u32, usize)| {
        format!("{} in {}", plural(u64::from(*bits), "bit"), plural(*count as u64, "part"))
    };
    let texts: Vec<_> = parts.iter().map(text).collect();
    texts.join(", ")
}
