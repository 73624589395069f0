//! `fpstore plan`: which design to pack, before anything is packed.

mod parts;
mod report;
mod shards;
mod show;
mod spark;

use std::path::{Path, PathBuf};

use fpstore::plan::{Plan, Planner};
use fpstore::{Design, Fingerprint, Prefer};

use fpstore_records::{Options, Records, Source};
use report::{PlanReport, Report};

use self::show::{bytes, number, print_rows, time};
use crate::command_line::quoted_path;
use crate::failure::Failure;
use crate::feed;
use crate::global::Globals;
use crate::input::InputArgs;
use crate::options::{any_radius, bits, count};
use crate::output::Output;
use crate::skipped::Skipped;
use crate::width::{check_radius, for_width};

const AFTER_HELP: &str = "\
Examples:
  fpstore plan --n 8e9                           eight billion fingerprints
  fpstore plan --n 5e7 -k 6 --budget 12 --prefer speed
  fpstore plan --n 1e9 --sample hashes.txt       fingerprints are not uniform
  fpstore plan --n 1e7 --bits 256 -k 31          into how many parts?
  fpstore plan --n 8e9 --spark 200               a self-join by Spark

A row for each design in its best size of blocks. The marked one is what `pack`
takes by itself, or with --budget the best within that:
  tables, block, store  sorted copies of the set; bytes of a block, of all files
  B/fp, router          bytes for each fingerprint; memory of an open store
  warm, cold            time of a query with the store in memory, or on the disk
--details adds the bits that tables are sorted by (prefix), how many of these
may differ from the query (differ), how many fingerprints share its prefix
(candidates), and what it scans, decodes and touches.

With --bits 128 or 256 a row for each number of parts into which the bits are
cut: look-ups in their tables, candidates that are compared, and how many bits
may differ in each part.

Times are predicted for uniform fingerprints, or those of --sample, for queries
without matches on one thread.";

/// Predicts size and latency of every design, and recommends one
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// Number of distinct fingerprints, such as 8e9, 2^34 or 1_000_000 [default: those of --sample]
    #[arg(long = "n", value_name = "N", value_parser = count)]
    count: Option<u64>,

    /// The distance that queries will mostly ask for
    #[arg(short = 'k', default_value_t = 3, value_name = "K")]
    #[arg(value_parser = any_radius, allow_negative_numbers = true)]
    radius: u32,

    /// Bits of a fingerprint: 32, 64, 128 or 256 [default: what --sample tells, or 64]
    #[arg(long, value_name = "BITS", value_parser = bits)]
    bits: Option<u32>,

    /// The most bytes of all files per fingerprint
    #[arg(long, value_name = "BYTES")]
    budget: Option<f64>,

    /// What to choose for
    #[arg(long, default_value = "balanced", value_name = "size|balanced|speed")]
    prefer: Prefer,

    /// Bytes of a block: powers of two from 256 to 8192, separated by commas
    #[arg(long, default_value = "auto", value_name = "auto|N,...")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    block_bytes: Sizes,

    /// Some fingerprints of the set, drawn at random, or all; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,

    /// Print also how a query finds its matches
    #[arg(long, conflicts_with = "json")]
    details: bool,

    #[command(flatten)]
    spark: spark::SparkArgs,

    #[command(flatten)]
    reading: InputArgs,
}

/// Sizes of blocks, or none for those of the planner.
#[derive(Clone, Debug)]
struct Sizes(Option<Vec<u32>>);

impl std::str::FromStr for Sizes {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self(None));
        }
        text.split(',')
            .map(|size| size.trim().parse())
            .collect::<Result<_, _>>()
            .map(Some)
            .map(Self)
    }
}

/// Prints the plans.
pub fn run(args: &Args) -> Result<(), Failure> {
    let bits = match (args.bits, &args.sample) {
        (Some(bits), _) => bits,
        (None, Some(sample)) => {
            feed::told_width(std::slice::from_ref(sample), &args.reading.options(None, None))?
        }
        (None, None) => u64::BITS,
    };
    check_radius("plan", Some(args.radius), bits)?;
    if let Some(cluster) = args.spark.spark {
        return for_width!(bits, run_spark(args, cluster));
    }
    match bits {
        32 => return plan_tables::<u32>(args),
        64 => return plan_tables::<u64>(args),
        _ => {}
    }
    check_parts(args)?;
    let count = match (args.count, &args.sample) {
        (Some(count), _) => count,
        (None, Some(path)) => {
            for_width!(bits, sample_count(path, &args.reading.options(None, None)))?
        }
        (None, None) => return Err(no_count()),
    };
    parts::run(args, bits, count)
}

/// Refuses what only tables have.
fn check_parts(args: &Args) -> Result<(), Failure> {
    let of_tables = [
        ("--block-bytes", args.block_bytes.0.is_some()),
        ("--prefer", args.prefer != Prefer::default()),
    ];
    match of_tables.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(Failure::Usage(format!(
            "plan: {name} is for tables, and these have parts; leave it out"
        ))),
        None => Ok(()),
    }
}

/// Prints what a join or a batch by Spark takes.
fn run_spark<F: Fingerprint>(args: &Args, cluster: spark::Cluster) -> Result<(), Failure> {
    let sample = args
        .sample
        .as_deref()
        .map(|path| read_sample::<F>(path, &args.reading.options(None, None)));
    let sample = sample.transpose()?.unwrap_or_default();
    let count = args.count.or(args.sample.as_ref().map(|_| sample.len() as u64));
    let (count, what) = (count.ok_or_else(no_count)?, (args.radius, args.globals.json));
    match args.spark.queries {
        Some(queries) => shards::run::<F>(cluster, what, count, queries),
        None => spark::run(cluster, what, count, &sample),
    }
}

fn no_count() -> Failure {
    Failure::Usage("plan: how many fingerprints? give --n N, or --sample FILE".to_string())
}

fn sample_count<F: Fingerprint>(path: &Path, reading: &Options) -> Result<u64, Failure> {
    Ok(read_sample::<F>(path, reading)?.len() as u64)
}

/// Prints what designs take.
fn plan_tables<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let sample = args
        .sample
        .as_deref()
        .map(|path| read_sample::<F>(path, &args.reading.options(None, None)))
        .transpose()?;
    let count = args.count.or(sample.as_ref().map(|sample| sample.len() as u64));
    let count = count.ok_or_else(no_count)?;
    let mut planner = Planner::for_bits(F::BITS, count)
        .radius(args.radius)
        .budget(args.budget)
        .prefer(args.prefer)
        .uneven(true);
    if let Some(sizes) = &args.block_bytes.0 {
        planner = planner.block_sizes(sizes.iter().copied());
    }
    if let Some(sample) = &sample {
        let key = |one: &F| one.bits(0, F::BITS) << (u64::BITS - F::BITS);
        planner = planner.sample(&sample.iter().map(key).collect::<Vec<u64>>());
    }
    let plans = planner.plans()?;
    print::<F>(args, count, &plans, planner.hot_ns())
}

/// The distinct fingerprints of a file.
fn read_sample<F: Fingerprint>(path: &Path, reading: &Options) -> Result<Vec<F>, Failure> {
    let (mut records, mut skipped) = (Records::default(), Skipped::default());
    let mut source = Source::open(path, reading)?;
    loop {
        let more = source.read(&mut records);
        skipped.tell(&mut records);
        if !more? {
            break;
        }
    }
    skipped.tell_count(records.next_number());
    let mut fingerprints = records.fingerprints;
    fingerprints.sort_unstable();
    fingerprints.dedup();
    Ok(fingerprints)
}

fn print<F: Fingerprint>(
    args: &Args,
    count: u64,
    plans: &[Plan],
    hot_ns: Option<f64>,
) -> Result<(), Failure> {
    let best = plans.first().filter(|plan| plan.within_budget);
    let hot_query_ns = hot_ns.filter(|hot_ns| best.is_some_and(|best| *hot_ns < best.warm_ns));
    let command = best.map(|plan| pack_command::<F>(args, plan));
    let mut output = Output::stdout();
    if args.globals.json {
        let is_best = |plan: &Plan| best == Some(plan);
        output.json(&Report {
            fingerprints: count,
            radius: args.radius,
            hot_query_ns,
            recommended: command,
            plans: plans.iter().map(|plan| PlanReport::new(plan, is_best(plan))).collect(),
        })?;
        return output.flush();
    }
    let bits = match F::BITS {
        u64::BITS => String::new(),
        bits => format!(" of {bits} bits"),
    };
    let radius = args.radius;
    output.line(&format!("{count} fingerprints{bits}, queries within k = {radius} bits"))?;
    output.line("")?;
    let mut rows = vec![header(args.details)];
    // A row for each design, or for each size of blocks that was asked for.
    let mut shown: Vec<(&Design, bool)> = Vec::new();
    let mut order: Vec<&Plan> = plans.iter().collect();
    order.sort_by_key(|plan| (plan.design.table_count(), plan.design.to_string()));
    for plan in order {
        let design = (&plan.design, plan.short_tables);
        if args.block_bytes.0.is_none() && shown.contains(&design) {
            continue;
        }
        shown.push(design);
        rows.push(row(plan, best == Some(plan), args.details));
    }
    print_rows(&mut output, &rows)?;
    if let Some(hot_ns) = hot_query_ns {
        output.line(&format!(
            "\nOnce searches have built a hot index, each takes about {} with any design.",
            time(hot_ns)
        ))?;
    }
    match command {
        Some(command) => output.line(&format!("\n{command}"))?,
        None => output.line("\nno design is within the budget; give more, or none")?,
    }
    output.flush()
}

/// What is packed.
fn input(args: &Args) -> String {
    match &args.sample {
        Some(path) if args.count.is_none() && path != Path::new("-") => quoted_path(path),
        _ => "INPUT".to_string(),
    }
}

/// How it is read, behind the other options.
fn reading(args: &Args) -> String {
    match args.sample {
        Some(_) if args.count.is_none() => args.reading.given(),
        _ => String::new(),
    }
}

fn pack_command<F: Fingerprint>(args: &Args, plan: &Plan) -> String {
    let bits = match F::BITS {
        u64::BITS => String::new(),
        bits => format!(" --bits {bits}"),
    };
    // What a pack chooses by itself need not be said.
    let layout = match args.budget.is_some() || args.block_bytes.0.is_some() {
        true => {
            let short = if plan.short_tables { ":short" } else { "" };
            format!(" --design {}{short} --block-bytes {}", plan.design, plan.block_bytes)
        }
        false => match args.prefer {
            Prefer::Balanced => String::new(),
            Prefer::Size => " --prefer size".to_string(),
            Prefer::Speed => " --prefer speed".to_string(),
        },
    };
    format!(
        "fpstore pack {} -o STORE{bits} -k {}{layout}{}",
        input(args),
        args.radius,
        reading(args)
    )
}

fn header(details: bool) -> Vec<String> {
    let mut names =
        vec!["", "design", "tables", "block", "store", "B/fp", "router", "warm", "cold"];
    if details {
        names.extend(["prefix", "differ", "candidates", "blocks", "decoded", "touched"]);
    }
    names.into_iter().map(str::to_string).collect()
}

fn row(plan: &Plan, recommended: bool, details: bool) -> Vec<String> {
    let mark = match (recommended, plan.within_budget) {
        (true, _) => "*",
        (false, true) => "",
        (false, false) => "over",
    };
    let mut row = vec![
        mark.to_string(),
        format!("{}{}", plan.design, if plan.short_tables { " short" } else { "" }),
        plan.tables.len().to_string(),
        plan.block_bytes.to_string(),
        bytes(plan.store_bytes as f64),
        format!("{:.2}", plan.bytes_per_fingerprint),
        bytes(plan.router_bytes as f64),
        time(plan.warm_ns),
        time(plan.cold_ns),
    ];
    if details {
        let prefix = range(plan.tables.iter().map(|table| table.top_bits));
        let candidates = plan.tables.iter().map(|table| table.candidates).fold(0.0, f64::max);
        row.extend([
            prefix.unwrap_or_default(),
            differ(plan),
            number(candidates),
            number(plan.blocks),
            number(plan.blocks_decoded),
            bytes(plan.bytes_touched),
        ]);
    }
    row
}

/// The least and the greatest of some numbers, if there are any.
fn range(numbers: impl Iterator<Item = u32> + Clone) -> Option<String> {
    let (least, most) = (numbers.clone().min()?, numbers.max()?);
    Some(if least < most { format!("{least}-{most}") } else { most.to_string() })
}

/// How many bits of a prefix may differ, and in how many tables, if not in all.
fn differ(plan: &Plan) -> String {
    if plan.scans {
        return "all are read".to_string();
    }
    let searched = plan.tables.iter().filter_map(|table| table.threshold);
    let (number, tables) = (searched.clone().count(), plan.tables.len());
    match range(searched) {
        Some(bits) if number < tables => format!("{bits} in {number} of {tables}"),
        bits => bits.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_every_spelling_and_nothing_else() {
        for (text, expected) in [
            ("8e9", 8_000_000_000),
            ("2^34", 1 << 34),
            ("1_000_000", 1_000_000),
            ("7", 7),
            ("1.5e3", 1500),
        ] {
            assert_eq!(count(text), Ok(expected));
        }
        for text in ["", "-1", "2^64", "1e30", "1.5", "0.5e0", "8 e9", "x", "2^"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
