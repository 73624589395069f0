//! `fpstore plan`: which design to pack, before anything is packed.

mod parts;
mod report;
mod shards;
mod show;
mod spark;

use std::path::{Path, PathBuf};

use fpstore::{Design, Fingerprint, Objective, Plan, Planner};

use fpstore_records::{Options, Records, Source};
use report::{PlanReport, Report};

use self::show::{bytes, number, print_rows, time};
use crate::command_line::quoted_path;
use crate::failure::Failure;
use crate::feed;
use crate::input::InputArgs;
use crate::options::{any_radius, bits, count, read_costs};
use crate::output::Output;
use crate::skipped::Skipped;
use crate::width::{check_radius, for_width};

const AFTER_HELP: &str = "\
Examples:
  fpstore plan --n 8e9                           eight billion fingerprints
  fpstore plan --n 2^34 --block-bytes 1024       the table of the paper
  fpstore plan --n 5e7 -k 6 --budget 12 --prefer speed
  fpstore plan --n 1e9 --sample hashes.txt       fingerprints are not uniform
  fpstore plan --n 1e7 --bits 256 -k 31          into how many parts?
  fpstore plan --n 1e8 --calibration my.cal      on this machine, by `bench calibrate`
  fpstore plan --n 8e9 --spark --executors 200   a self-join by Spark
  fpstore plan --n 8e9 --spark --queries 1e6     a batch by Spark

A row for each design in its best size of blocks, the recommended one marked:
  tables      sorted copies of the set
  block       bytes of a block
  store       bytes of all files, and B/fp: of these per fingerprint
  router      memory that the routers of an open store take
  warm, cold  time of a query, with the store in memory or all on the disk
--details adds how a query finds its matches:
  prefix      bits that a table is sorted by first
  differ      of these, how many may differ from those of the query; `1 in 2 of
              3` says that two of three tables are searched
  candidates  fingerprints that share the prefix of the query, in the table with most
  blocks      that a query scans in all tables; decoded are those in which a
              random fingerprint comes near enough
  touched     bytes of blocks that a query reads
`fpstore glossary` explains the words. Widths such as 26,19,19 are parts of your own, and stand there where they beat
the named designs. Predicted from uniform fingerprints, or from --sample, for
queries without matches, on one thread.

With --bits 128 or 256, and with --parts, a row for each number of parts into
which the bits are cut: the store has every fingerprint once, and for each part a
table by which it finds those that differ there in few bits.
  warm        time of a query, with the store in memory; predicted from uniform
              fingerprints, also with --sample
  look-ups    in these tables
  candidates  fingerprints that are compared with the query
  may differ  how many bits of a part of the query a look-up may change: with `2 bits in
              10 parts, 1 bit in 1 part` no match within K is missed
Those that take much longer are shown with --details, and in JSON.

With --short-tables the tables behind the first are short, as those of `pack
--short-tables`: the sizes are theirs, the times those of whole ones, which take
about as long within the distance K.

--prefer balanced takes the least product of space and time, but no more space
than the fingerprints themselves, or than --budget; size prefers
little space, speed little time. `pack --prefer` chooses the same way, among the
named designs of up to four tables, and `32,16` with a short table and a narrow
column, which beside a single table takes 2 bytes more.

--calibration takes what the steps of searches take on a machine, as `fpstore bench
calibrate -o FILE` measures it in ten seconds or so; a file may hold some only.

--spark predicts a self-join by `fpstore.spark`, in one thread for each core of
an executor. A row for each number of parts into which the bits are cut:
  tables      that each fingerprint is sent by, and top: bits of the least of them
  tasks       that join, and task: memory of one
  sent        fingerprints that are sent, and as many bytes are shuffled
  skew        work of the heaviest task by that of the median, by --sample
  CPU, time   in all, and by the clock if all cores are busy
With --queries a batch by `match` against shards, a row for each number of shards:
  rows, store fingerprints of a shard, and bytes of its files
  sent        bytes of queries: all of them go to each shard
A shard is taken to lie where its task runs: bytes that are fetched come on top,
and so does the order of what is found";

/// Predicts size and latency of every design, and recommends one
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
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

    /// Numbers of parts also for 32 and 64 bits, instead of designs
    #[arg(long)]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    parts: bool,

    /// The most bytes of all files per fingerprint
    #[arg(long, value_name = "BYTES")]
    budget: Option<f64>,

    /// What to choose for
    #[arg(long, default_value = "balanced", value_name = "size|balanced|speed")]
    prefer: Objective,

    /// Bytes of a block: powers of two from 256 to 8192, separated by commas
    #[arg(long, default_value = "auto", value_name = "auto|N,...")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    block_bytes: Sizes,

    /// Sizes with short tables, as `pack --short-tables` makes them; times are those of whole ones
    #[arg(long)]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    short_tables: bool,

    /// Some fingerprints of the set, drawn at random, or all; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,

    /// The constants of a machine, from `fpstore bench calibrate` [default: the shipped ones]
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Layout, for experts", hide_short_help = true)]
    calibration: Option<PathBuf>,

    /// Print also how a query finds its matches
    #[arg(long, conflicts_with = "json")]
    details: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

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
    if args.spark.spark {
        return for_width!(bits, run_spark(args));
    }
    match bits {
        32 if !args.parts => return plan_tables::<u32>(args),
        64 if !args.parts => return plan_tables::<u64>(args),
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
        ("--short-tables", args.short_tables),
        ("--calibration", args.calibration.is_some()),
        ("--prefer", args.prefer != Objective::default()),
    ];
    match of_tables.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(Failure::Usage(format!(
            "plan: {name} is for tables, and these have parts; leave it out"
        ))),
        None => Ok(()),
    }
}

/// Prints what a join or a batch by Spark takes.
fn run_spark<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let sample = args
        .sample
        .as_deref()
        .map(|path| read_sample::<F>(path, &args.reading.options(None, None)));
    let sample = sample.transpose()?.unwrap_or_default();
    let count = args.count.or(args.sample.as_ref().map(|_| sample.len() as u64));
    let (count, what) = (count.ok_or_else(no_count)?, (args.radius, args.json));
    match args.spark.queries {
        Some(queries) => shards::run::<F>(&args.spark, what, count, queries),
        None => spark::run(&args.spark, what, count, &sample),
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
    let costs = args.calibration.as_deref().map(read_costs).transpose()?.unwrap_or_default();
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
        .objective(args.prefer)
        .costs(costs)
        .short_tables(args.short_tables)
        .uneven(true);
    if let Some(sizes) = &args.block_bytes.0 {
        planner = planner.block_sizes(sizes.iter().copied());
    }
    if let Some(sample) = &sample {
        let key = |one: &F| one.bits(0, F::BITS) << (u64::BITS - F::BITS);
        planner = planner.sample(&sample.iter().map(key).collect::<Vec<u64>>());
    }
    print::<F>(args, count, &planner.plans()?)
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

fn print<F: Fingerprint>(args: &Args, count: u64, plans: &[Plan]) -> Result<(), Failure> {
    let best = plans.first().filter(|plan| plan.within_budget);
    let command = best.map(|plan| pack_command::<F>(args, plan));
    let mut output = Output::stdout();
    if args.json {
        let is_best = |plan: &Plan| best == Some(plan);
        output.json(&Report {
            fingerprints: count,
            radius: args.radius,
            recommended: command,
            plans: plans.iter().map(|plan| PlanReport::new(plan, is_best(plan))).collect(),
        })?;
        return output.flush();
    }
    let bits = match F::BITS {
        u64::BITS => String::new(),
        bits => format!(" of {bits} bits"),
    };
    let short = if args.short_tables && F::BITS == u64::BITS { ", short tables" } else { "" };
    let radius = args.radius;
    output.line(&format!("{count} fingerprints{bits}, queries within k = {radius} bits{short}"))?;
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
    let short = match plan.short_tables {
        false => String::new(),
        true if args.short_tables => " --short-tables".to_string(),
        // Small for its speed by its narrow column.
        true => format!(" --short-tables --low-bits {}", plan.low_bits),
    };
    format!(
        "fpstore pack {} -o STORE{bits} -k {} --design {} --block-bytes {}{short}{}",
        input(args),
        args.radius,
        plan.design,
        plan.block_bytes,
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
