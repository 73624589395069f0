//! What a pack tells in the end: what it has made, why, and what else there would have been.

use fpstore::plan::{Plan, plan_parts};
use fpstore::stats::TableStats;
use fpstore::{Design, Fingerprint, PackSummary, Prefer};
use serde::Serialize;

use super::Args;
use crate::failure::Failure;
use crate::output::Output;
use crate::report::{TableReport, per_fingerprint, short_key_bits};
use crate::units;

/// Bytes of an id as a plain integer.
const ID_BYTES: u64 = 8;
/// The least number of fingerprints that weigh more than what a file has besides them.
const COMPARABLE: u64 = 4096;
/// The most tables of a design that is proposed, as of one that a pack chooses.
const MOST_TABLES: usize = 4;

/// The summary in JSON.
#[derive(Serialize)]
struct Summary {
    store: String,
    read: u64,
    skipped: u64,
    distinct: u64,
    /// Pairs of a fingerprint and an id; null without ids.
    ids: Option<u64>,
    id_bytes: u64,
    bytes: u64,
    /// Null without fingerprints.
    bytes_per_fingerprint: Option<f64>,
    /// Bytes of the fingerprints and ids as plain integers.
    raw_bytes: u64,
    /// Null where there are parts, as the next one; these and the width are left out otherwise.
    design: Option<String>,
    block_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<u16>,
    /// Predicted nanoseconds of a query in memory; null for sets that are too small to tell.
    query_ns: Option<f64>,
    /// The same once searches have built a hot index; null if they will build none.
    hot_query_ns: Option<f64>,
    alternatives: Vec<Alternative>,
    temporary_bytes: u64,
    seconds: f64,
    seconds_of: Stages,
    tables: Vec<TableReport>,
}

/// Seconds of each stage. With several threads stages overlap.
#[derive(Serialize)]
struct Stages {
    sort: f64,
    count: f64,
    cut: f64,
    encode: f64,
    write: f64,
    sync: f64,
}

/// What another preference would give, as predicted.
#[derive(Serialize)]
struct Alternative {
    prefer: &'static str,
    design: String,
    block_bytes: u32,
    bytes: u64,
    query_ns: f64,
}

/// What is predicted of a store and of others.
#[derive(Default)]
struct Predicted {
    query_ns: Option<f64>,
    /// In a hot index, if it gets one.
    hot_query_ns: Option<f64>,
    alternatives: Vec<Alternative>,
}

impl Predicted {
    fn new<F: Fingerprint>(args: &Args, summary: &PackSummary) -> Self {
        if summary.distinct < COMPARABLE {
            return Self::default();
        }
        let (Some(design), Some(block_bytes)) = (summary.design(), summary.block_bytes()) else {
            let plans = plan_parts(F::BITS, summary.distinct, args.k()).unwrap_or_default();
            let own = plans.iter().find(|plan| Some(plan.parts) == summary.parts());
            return Self { query_ns: own.map(|plan| plan.search_ns), ..Self::default() };
        };
        let planner = || summary.planner.clone();
        let own = planner().designs([design.clone()]).block_bytes(Some(block_bytes));
        // Where it cannot be predicted nothing is told.
        let Ok(Some(own)) = own.budget(None).best() else { return Self::default() };
        let named = Design::NAMES.iter().filter_map(|name| Design::named_for(F::BITS, name));
        let named = named.filter(|design| design.table_count() <= MOST_TABLES);
        // That of the store may have chosen what was left open.
        let planner = planner().designs(named).low_bits(None).short_tables(false);
        let best = |prefer| planner.clone().prefer(prefer).best().ok().flatten();
        let smaller = best(Prefer::Size)
            .filter(|plan| (plan.store_bytes as f64) < 0.9 * own.store_bytes as f64)
            .map(|plan| Alternative::new("size", plan, summary.id_bytes));
        let hot_query_ns = summary.planner.hot_ns().filter(|ns| *ns < own.warm_ns);
        let faster = best(Prefer::Speed)
            .filter(|plan| planner.search_ns(plan) < 0.67 * planner.search_ns(&own))
            .map(|plan| Alternative::new("speed", plan, summary.id_bytes));
        let alternatives = smaller.into_iter().chain(faster).collect();
        Self { query_ns: Some(own.warm_ns), hot_query_ns, alternatives }
    }
}

impl Alternative {
    fn new(prefer: &'static str, plan: Plan, id_bytes: u64) -> Self {
        Self {
            prefer,
            design: plan.design.to_string(),
            block_bytes: plan.block_bytes,
            bytes: plan.store_bytes + id_bytes,
            query_ns: plan.warm_ns,
        }
    }
}

/// Prints the summary, as the arguments say.
pub(super) fn print<F: Fingerprint>(
    args: &Args,
    summary: &PackSummary,
    skipped: u64,
    seconds: f64,
) -> Result<(), Failure> {
    let mut output = Output::stdout();
    if args.globals.json {
        output.json(&json::<F>(args, summary, skipped, seconds))?;
    } else if !args.globals.quiet {
        let store = args.output().display();
        let packed = units::plural(summary.distinct, "fingerprint");
        let packed = match F::BITS {
            u64::BITS => packed,
            bits => format!("{packed} of {bits} bits"),
        };
        let done = if args.append.is_some() { "appended" } else { "packed" };
        output.line(&format!("{store}: {packed} {done} in {seconds:.2} seconds"))?;
        for (name, value) in rows::<F>(args, summary, skipped) {
            output.line(&format!("  {name:<9}{value}"))?;
        }
    }
    output.flush()
}

fn raw_bytes<F: Fingerprint>(summary: &PackSummary) -> u64 {
    let fingerprints = summary.distinct.saturating_mul(u64::from(F::BITS / 8));
    fingerprints.saturating_add(ID_BYTES.saturating_mul(summary.ids.unwrap_or(0)))
}

fn rows<F: Fingerprint>(
    args: &Args,
    summary: &PackSummary,
    skipped: u64,
) -> Vec<(&'static str, String)> {
    let bytes = |bytes: u64| units::bytes(bytes as f64);
    let mut rows = Vec::new();
    if summary.read > summary.distinct || skipped > 0 {
        let repeats = summary.read - summary.distinct;
        let skipped = match skipped {
            0 => String::new(),
            _ => format!(", {} skipped", units::count(skipped)),
        };
        let read = units::plural(summary.read, "fingerprint");
        rows.push(("read", format!("{read}, {} of them repeated{skipped}", units::count(repeats))));
    }
    let (size, raw) = (bytes(summary.bytes), raw_bytes::<F>(summary));
    rows.push((
        "size",
        match summary.distinct {
            0 => size,
            1..COMPARABLE => format!("{size}; compression gains nothing on a set this small"),
            _ => format!(
                "{size}, {:.0}% of the {} that {} as plain integers",
                100.0 * summary.bytes as f64 / raw as f64,
                bytes(raw),
                if summary.ids.is_some() { "fingerprints and ids take" } else { "these take" },
            ),
        },
    ));
    if let Some(ids) = summary.ids {
        let (ids, size) = (units::plural(ids, "id"), bytes(summary.id_bytes));
        rows.push(("ids", format!("{ids} in {size} of it")));
    }
    rows.push(("design", design::<F>(args, summary)));
    let predicted = Predicted::new::<F>(args, summary);
    if let Some(ns) = predicted.query_ns {
        let what = format!("predicted at distance {}, in memory, on one thread", args.k());
        let hot = predicted.hot_query_ns.map(units::time);
        let hot = hot.map(|time| format!("; {time} once searches have built a hot index"));
        let hot = hot.unwrap_or_default();
        rows.push(("queries", format!("about {} each, {what}{hot}", units::time(ns))));
    }
    for other in predicted.alternatives {
        // In a hot index every design is as fast.
        if other.prefer == "speed" && predicted.hot_query_ns.is_some() {
            continue;
        }
        let name = if other.prefer == "size" { "smaller" } else { "faster" };
        let (size, time) = (bytes(other.bytes), units::time(other.query_ns));
        let Alternative { prefer, design, .. } = other;
        rows.push((name, format!("--prefer {prefer}: {design}, about {size} and {time} each")));
    }
    rows
}

/// How the fingerprints are laid out, and why, in words.
fn design<F: Fingerprint>(args: &Args, summary: &PackSummary) -> String {
    let (Some(design), Some(bytes)) = (summary.design(), summary.block_bytes()) else {
        let parts = parts_text(summary.parts().unwrap_or(0));
        let reason = match args.layout.design {
            Some(_) => "as given".to_string(),
            None => format!("as planned for distance {}", args.k()),
        };
        return format!("{parts}; {reason}");
    };
    let tables = units::plural(summary.tables.len() as u64, "table");
    let is_short = |table: &&TableStats| short_key_bits(table, F::BITS).is_some();
    let tables = match summary.tables.iter().filter(is_short).count() {
        0 => tables,
        short => format!("{tables}, {short} of them short"),
    };
    format!("{design} ({tables}), blocks of {bytes} bytes; {}", reason::<F>(args, summary))
}

/// A base and so many part tables, in words.
pub(super) fn parts_text(parts: u16) -> String {
    match parts {
        0 => "one copy, which is scanned".to_string(),
        _ => format!("one copy and {}", units::plural(parts.into(), "part table")),
    }
}

/// Why the store has this design, in words.
fn reason<F: Fingerprint>(args: &Args, summary: &PackSummary) -> &'static str {
    let tables_bytes = (summary.bytes - summary.id_bytes) as f64;
    let raw_bytes = f64::from(F::BITS / 8) * summary.distinct as f64;
    match (args.layout.design.is_some(), args.layout.block_bytes.is_some(), args.layout.prefer) {
        (true, true, _) => "as given",
        (true, false, _) => "tables as given",
        (false, _, Prefer::Size) => "the smallest, as preferred",
        (false, _, Prefer::Speed) => "fast, as preferred, whatever its size",
        (false, _, prefer) if tables_bytes > prefer.most_bytes(raw_bytes) => "the smallest",
        (false, _, _) => "fast for its size",
    }
}

fn json<F: Fingerprint>(args: &Args, summary: &PackSummary, skipped: u64, seconds: f64) -> Summary {
    let predicted = Predicted::new::<F>(args, summary);
    Summary {
        store: args.output().display().to_string(),
        read: summary.read,
        skipped,
        distinct: summary.distinct,
        ids: summary.ids,
        id_bytes: summary.id_bytes,
        bytes: summary.bytes,
        bytes_per_fingerprint: per_fingerprint(summary.bytes as f64, summary.distinct),
        raw_bytes: raw_bytes::<F>(summary),
        design: summary.design().map(Design::to_string),
        block_bytes: summary.block_bytes(),
        bits: Some(F::BITS).filter(|&bits| bits != u64::BITS),
        parts: summary.parts(),
        query_ns: predicted.query_ns,
        hot_query_ns: predicted.hot_query_ns,
        alternatives: predicted.alternatives,
        temporary_bytes: summary.temporary_bytes,
        seconds,
        seconds_of: Stages {
            sort: summary.times.sort.as_secs_f64(),
            count: summary.times.count.as_secs_f64(),
            cut: summary.times.cut.as_secs_f64(),
            encode: summary.times.encode.as_secs_f64(),
            write: summary.times.write.as_secs_f64(),
            sync: summary.times.sync.as_secs_f64(),
        },
        tables: summary.tables.iter().map(|table| TableReport::new(table, F::BITS)).collect(),
    }
}
