//! What a self-join by `fpstore.spark` takes on a cluster.

use std::str::FromStr;

use fpstore::Fingerprint;
use fpstore_spread::{Exchange, HeavyCell, JoinTables};
use serde::Serialize;

use super::show::{bytes, number, print_rows, time};
use crate::failure::Failure;
use crate::options::count;
use crate::output::Output;

/// Bytes that a task receives, about, as in `fpstore.spark`.
const TASK_BYTES: u64 = 1 << 25;
/// The most tables of a row: more are sent for nothing.
const SHOWN_TABLES: usize = 64;
/// Share of a sample from which on a cell is looked at.
const TOLD_SHARE: f64 = 1.0 / 16384.0;

/// Nanoseconds of a core, as `tools/python/benches/spark.py scale` took them for 2^20 to 2^26
/// fingerprints on two executors of one machine: for each fingerprint that Spark reads and hands to
/// Python, for each fingerprint and table that it is counted by, sent by and joined in, and for
/// each byte that Spark shuffles.
const READ_NS: f64 = 400.0;
const COUNT_NS: f64 = 35.0;
const SEND_NS: f64 = 90.0;
const JOIN_NS: f64 = 130.0;
pub(super) const BYTE_NS: f64 = 15.0;
/// Of a task that is started.
pub(super) const TASK_NS: f64 = 3e8;
/// Of a task by itself: the interpreter with numpy and pyarrow, and what its allocators keep.
pub(super) const WORKER_BYTES: u64 = 240 << 20;

#[derive(clap::Args)]
pub(super) struct SparkArgs {
    /// Predict a self-join by `fpstore.spark` instead: on so many executors, such as 200, or 200x4
    /// of 4 cores each
    #[arg(long, value_name = "EXECUTORS[xCORES]", conflicts_with_all = ["budget", "prefer", "block_bytes", "details"])]
    #[arg(help_heading = "Joins and batches by Spark", hide_short_help = true)]
    pub spark: Option<Cluster>,

    /// Predict a batch of so many queries by `match` there, in place of the join
    #[arg(long, requires = "spark", value_name = "N", value_parser = count)]
    #[arg(conflicts_with = "sample")]
    #[arg(help_heading = "Joins and batches by Spark", hide_short_help = true)]
    pub(super) queries: Option<u64>,
}

/// What runs a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub(super) executors: u64,
    /// Of an executor.
    pub(super) cores: u64,
}

impl FromStr for Cluster {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (executors, cores) = text.split_once('x').unwrap_or((text, "1"));
        let cluster = Self { executors: count(executors)?, cores: count(cores)? };
        match cluster.slots() {
            0 => Err("a cluster has an executor, and that a core, or more".to_string()),
            _ => Ok(cluster),
        }
    }
}

impl Cluster {
    /// Tasks that run at once.
    pub(super) fn slots(&self) -> u64 {
        self.executors.saturating_mul(self.cores)
    }

    /// The cluster in words.
    pub(super) fn cluster(&self) -> String {
        let plural = if self.cores == 1 { "" } else { "s" };
        format!("{} executors with {} core{plural}", self.executors, self.cores)
    }
}

#[derive(Serialize)]
struct Report {
    fingerprints: u64,
    bits: u32,
    radius: u32,
    executors: u64,
    cores: u64,
    plans: Vec<SparkPlan>,
}

#[derive(Serialize)]
struct SparkPlan {
    parts: u32,
    recommended: bool,
    tables: usize,
    top_bits: u32,
    tasks: usize,
    splits: usize,
    amplification: f64,
    rows_sent: u64,
    bytes_shuffled: u64,
    task_bytes: u64,
    skew: f64,
    cpu_seconds: f64,
    seconds: f64,
}

/// Prints what every number of parts takes.
pub(super) fn run<F: Fingerprint>(
    args: Cluster,
    (radius, json): (u32, bool),
    count: u64,
    sample: &[F],
) -> Result<(), Failure> {
    let Cluster { executors, cores } = args;
    let slots = args.slots();
    let mut plans = Vec::new();
    for parts in radius.saturating_add(1)..=F::BITS {
        let tables = JoinTables::<F>::new(radius, parts);
        match tables {
            Ok(tables) if tables.table_count() <= SHOWN_TABLES || plans.is_empty() => {
                plans.push(plan(tables, count, sample, slots)?);
            }
            Ok(_) => break,
            Err(error) if plans.is_empty() => return Err(error.into()),
            Err(_) => break,
        }
    }
    let best = plans.iter().map(|plan| plan.seconds).fold(f64::INFINITY, f64::min);
    if let Some(first) = plans.iter_mut().find(|plan| plan.seconds <= best) {
        first.recommended = true;
    }
    let mut output = Output::stdout();
    if json {
        let (fingerprints, bits) = (count, F::BITS);
        output.json(&Report { fingerprints, bits, radius, executors, cores, plans })?;
        return output.flush();
    }
    output.line(&format!(
        "{count} fingerprints of {} bits, all pairs within k = {radius} bits, {}",
        F::BITS,
        args.cluster()
    ))?;
    output.line("")?;
    let names =
        ["", "parts", "tables", "top", "tasks", "task", "sent", "shuffled", "skew", "CPU", "time"];
    let mut rows = vec![names.map(str::to_string).to_vec()];
    rows.extend(plans.iter().map(row));
    print_rows(&mut output, &rows)?;
    output.flush()
}

fn plan<F: Fingerprint>(
    tables: JoinTables<F>,
    count: u64,
    sample: &[F],
    slots: u64,
) -> Result<SparkPlan, Failure> {
    let (parts, number) = (tables.parts(), tables.table_count());
    let top_bits = tables.top_bits();
    let sent = count.saturating_mul(number as u64);
    let width = u64::from(F::BITS / 8);
    let tasks = sent.saturating_mul(width).div_ceil(TASK_BYTES).max(2 * slots).min(1 << 20) as u32;
    let heavy = heavy(&tables, count, sample);
    let exchange = Exchange::new(tables, count, tasks, &heavy)?;
    let mut loads = exchange.loads().to_vec();
    loads.sort_by(f64::total_cmp);
    let (most, median) = (loads.last().copied().unwrap_or(0.0), loads[loads.len() / 2].max(1.0));
    let (rows_sent, tasks) = (exchange.rows_sent(), exchange.task_count());
    let bytes_shuffled = rows_sent.saturating_mul(width);
    let of_task = rows_sent / tasks as u64;
    // Read to count and to send.
    let cpu_ns = count as f64 * (2.0 * READ_NS + number as f64 * COUNT_NS)
        + rows_sent as f64 * (SEND_NS + JOIN_NS)
        + bytes_shuffled as f64 * BYTE_NS
        + tasks as f64 * TASK_NS;
    // The last task may have started when the others were done.
    let last_ns = most * (SEND_NS + JOIN_NS + width as f64 * BYTE_NS);
    Ok(SparkPlan {
        parts,
        recommended: false,
        tables: number,
        top_bits,
        tasks,
        splits: exchange.split_count(),
        amplification: rows_sent as f64 / count.max(1) as f64,
        rows_sent,
        bytes_shuffled,
        // As it was received, and in three lists while it is joined.
        task_bytes: WORKER_BYTES + 4 * of_task * width,
        skew: most / median,
        cpu_seconds: cpu_ns / 1e9,
        seconds: (cpu_ns / slots as f64 + last_ns) / 1e9,
    })
}

/// The cells with many fingerprints, as a sample tells.
fn heavy<F: Fingerprint>(tables: &JoinTables<F>, count: u64, sample: &[F]) -> Vec<HeavyCell> {
    let scale = count as f64 / sample.len().max(1) as f64;
    let least = (sample.len() as f64 * TOLD_SHARE).max(8.0);
    let mut heavy = Vec::new();
    for table in 0..tables.table_count() {
        let mut counts = vec![0u64; tables.cell_count(table)];
        for &fingerprint in sample {
            counts[tables.cell(table, fingerprint)] += 1;
        }
        let cells = (0..).zip(counts).filter(|(_, count)| *count as f64 >= least);
        heavy.extend(cells.map(|(cell, count)| HeavyCell {
            table: table as u32,
            cell,
            rows: (count as f64 * scale) as u64,
        }));
    }
    heavy
}

fn row(plan: &SparkPlan) -> Vec<String> {
    vec![
        if plan.recommended { "*" } else { "" }.to_string(),
        plan.parts.to_string(),
        plan.tables.to_string(),
        plan.top_bits.to_string(),
        plan.tasks.to_string(),
        bytes(plan.task_bytes as f64),
        number(plan.rows_sent as f64),
        bytes(plan.bytes_shuffled as f64),
        format!("{:.1}", plan.skew),
        time(plan.cpu_seconds * 1e9),
        time(plan.seconds * 1e9),
    ]
}
