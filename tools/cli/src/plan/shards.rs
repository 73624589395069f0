//! What a batch by `match` of `fpstore.spark` takes on a cluster.

use fpstore::Fingerprint;
use fpstore::plan::{Planner, plan_parts, recommended_parts};
use serde::Serialize;

use super::show::{bytes, number, print_rows, time};
use super::spark::{BYTE_NS, Cluster, TASK_NS, WORKER_BYTES};
use crate::failure::Failure;
use crate::output::Output;

/// Fingerprints of a shard, about, as in `fpstore.spark`.
const SHARD_ROWS: u64 = 1 << 26;
/// Queries that a task answers together.
const TOGETHER: u64 = 1 << 20;

/// Nanoseconds of a core for each fingerprint of a shard and for each query, where the shard is
/// read from its start to its end: as `tools/python/benches/spark.py batch` took for 2^17 and 2^20
/// queries against 2^24, 2^25 and 2^26 fingerprints on one machine, without what Spark does itself.
const STORED_NS: f64 = 65.0;
const QUERY_NS: f64 = 1200.0;

#[derive(Serialize)]
struct Report {
    fingerprints: u64,
    bits: u32,
    radius: u32,
    queries: u64,
    executors: u64,
    cores: u64,
    plans: Vec<ShardsPlan>,
}

#[derive(Serialize)]
struct ShardsPlan {
    shards: u64,
    recommended: bool,
    shard_rows: u64,
    shard_bytes: u64,
    bytes_sent: u64,
    task_bytes: u64,
    cpu_seconds: f64,
    seconds: f64,
}

/// Prints what some numbers of shards take.
pub(super) fn run<F: Fingerprint>(
    args: Cluster,
    (radius, json): (u32, bool),
    count: u64,
    queries: u64,
) -> Result<(), Failure> {
    let Cluster { executors, cores } = args;
    let slots = args.slots();
    let mut numbers = vec![count.div_ceil(SHARD_ROWS), slots, slots.saturating_mul(2)];
    numbers.iter_mut().for_each(|shards| *shards = (*shards).clamp(1, count.max(1)));
    numbers.sort_unstable();
    numbers.dedup();
    let plan = |shards| plan::<F>((radius, count, queries), shards, slots);
    let mut plans = numbers.into_iter().map(plan).collect::<Result<Vec<_>, _>>()?;
    let best = plans.iter().map(|plan| plan.seconds).fold(f64::INFINITY, f64::min);
    if let Some(first) = plans.iter_mut().find(|plan| plan.seconds <= best) {
        first.recommended = true;
    }
    let mut output = Output::stdout();
    if json {
        let (fingerprints, bits) = (count, F::BITS);
        output.json(&Report { fingerprints, bits, radius, queries, executors, cores, plans })?;
        return output.flush();
    }
    output.line(&format!(
        "{count} fingerprints of {} bits in shards, {queries} queries within k = {radius} bits, {}",
        F::BITS,
        args.cluster()
    ))?;
    output.line("")?;
    let names = ["", "shards", "rows", "store", "sent", "task", "CPU", "time"];
    let mut rows = vec![names.map(str::to_string).to_vec()];
    rows.extend(plans.iter().map(row));
    print_rows(&mut output, &rows)?;
    output.flush()
}

fn plan<F: Fingerprint>(
    (radius, count, queries): (u32, u64, u64),
    shards: u64,
    slots: u64,
) -> Result<ShardsPlan, Failure> {
    let shard_rows = count.div_ceil(shards);
    let (shard_bytes, search_ns) = store::<F>(shard_rows, radius)?;
    let width = u64::from(F::BITS / 8);
    // Every so many queries a shard is read anew.
    let reads = queries.div_ceil(TOGETHER) as f64;
    let read_ns = reads * shard_rows as f64 * STORED_NS + queries as f64 * QUERY_NS;
    let searched_ns = queries as f64 * search_ns;
    let answer_ns = if F::BITS > u64::BITS { searched_ns } else { searched_ns.min(read_ns) };
    let bytes_sent = queries.saturating_mul(width).saturating_mul(shards);
    let task_ns = TASK_NS + (queries * width) as f64 * BYTE_NS + answer_ns;
    Ok(ShardsPlan {
        shards,
        recommended: false,
        shard_rows,
        shard_bytes,
        bytes_sent,
        // All as they were received and in one piece; those that are answered in order, and where
        // their answers begin.
        task_bytes: WORKER_BYTES + 2 * queries * width + queries.min(TOGETHER) * (2 * width + 8),
        cpu_seconds: task_ns * shards as f64 / 1e9,
        seconds: task_ns * shards.div_ceil(slots) as f64 / 1e9,
    })
}

/// Bytes of a shard as it is packed, and nanoseconds of a search in it.
fn store<F: Fingerprint>(rows: u64, radius: u32) -> Result<(u64, f64), Failure> {
    if F::BITS <= u64::BITS {
        let best = Planner::for_bits(F::BITS, rows).radius(radius).best()?;
        return Ok(best.map_or((0, 0.0), |best| (best.store_bytes, best.warm_ns)));
    }
    let parts = recommended_parts(F::BITS, rows, radius)?;
    let plans = plan_parts(F::BITS, rows, radius)?;
    let plan = plans.iter().find(|plan| plan.parts == parts);
    Ok(plan.map_or((0, 0.0), |plan| (plan.store_bytes, plan.search_ns)))
}

fn row(plan: &ShardsPlan) -> Vec<String> {
    vec![
        if plan.recommended { "*" } else { "" }.to_string(),
        plan.shards.to_string(),
        number(plan.shard_rows as f64),
        bytes(plan.shard_bytes as f64),
        bytes(plan.bytes_sent as f64),
        bytes(plan.task_bytes as f64),
        time(plan.cpu_seconds * 1e9),
        time(plan.seconds * 1e9),
    ]
}
