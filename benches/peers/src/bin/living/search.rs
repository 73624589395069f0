//! Searches of a store that was built by insertions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fpstore::{Packer, Searcher, Snapshot};

use super::{Common, RADIUS, Result, Set, percentile, uniform};

const QUERIES: u64 = 200_000;
const ROUNDS: usize = 5;

/// A quarter stored, half near stored ones, a quarter random.
fn query(set: &Set, records: u64, i: u64) -> u64 {
    let random = uniform(i ^ 0x5EED << 40);
    let stored = set.fingerprint(random % records);
    match i % 4 {
        0 => stored,
        1 | 2 => stored ^ 1 << (random >> 58) ^ 1 << (random >> 50 & 63),
        _ => random,
    }
}

/// Nanoseconds of each search, and the number of matches.
fn times(searcher: &mut Searcher, set: &Set, records: u64) -> Result<(Vec<u32>, u64)> {
    let (mut times, mut matches) = (Vec::with_capacity(QUERIES as usize), 0);
    for i in 0..QUERIES {
        let query = query(set, records, i);
        let start = Instant::now();
        matches += searcher.search(query, RADIUS)?.len() as u64;
        times.push(start.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32);
    }
    Ok((times, matches))
}

fn mean(times: &[u32]) -> f64 {
    times.iter().map(|&ns| f64::from(ns)).sum::<f64>() / times.len().max(1) as f64 / 1e3
}

fn report(name: &str, times: &mut [u32]) -> (f64, f64) {
    let mean = mean(times);
    times.sort_unstable();
    let p99 = percentile(times, 0.99);
    println!("{name}: mean {mean:.2}, p50 {:.2}, p99 {p99:.2} us", percentile(times, 0.5));
    (mean, p99)
}

pub fn run(common: &Common) -> Result<()> {
    let (set, directory) = (common.set()?, common.directory()?);
    let records = common.records;
    let writer = common.options().create(directory.path().join("store"))?;
    let start = Instant::now();
    let mut batch = Vec::new();
    for id in 0..records {
        batch.push((set.fingerprint(id), id));
        if batch.len() == 1000 {
            writer.insert_batch(&batch)?;
            batch.clear();
        }
    }
    writer.insert_batch(&batch)?;
    println!("insert: {:.0} per second", records as f64 / start.elapsed().as_secs_f64());
    // What runs in the background ends first.
    writer.flush()?;
    writer.merge()?;
    let built = writer.snapshot();
    let stats = built.stats()?;
    let segments: Vec<u64> = stats.segments.iter().map(|segment| segment.count).collect();
    println!("segments: {segments:?}");
    let pairs = (0..records).map(|id| (set.fingerprint(id), id));
    let mut packer = Packer::new();
    let largest = stats.segments.iter().max_by_key(|segment| segment.count);
    if let Some((design, segment)) = largest.and_then(|at| Some((at.design.clone()?, at))) {
        let block_bytes = segment.tables[0].block_bytes;
        packer = packer.with_layout(|it| it.design(design).block_bytes(block_bytes));
    }
    packer.pack_with_ids(directory.path().join("packed"), pairs)?;
    let packed = fpstore::Store::open(directory.path().join("packed"))?.snapshot();
    let mut all = [Vec::new(), Vec::new()];
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let mut of_round = [0.0; 2];
        let mut matches = [0; 2];
        for (place, snapshot) in [&built, &packed].into_iter().enumerate() {
            let (times, found) = times(&mut Snapshot::searcher(snapshot), &set, records)?;
            (of_round[place], matches[place]) = (mean(&times), found);
            all[place].extend(times);
        }
        assert_eq!(matches[0], matches[1], "both give the same");
        ratios.push(of_round[0] / of_round[1]);
    }
    ratios.sort_by(f64::total_cmp);
    let [built_times, packed_times] = &mut all;
    let (_, p99) = report("built by insertions", built_times);
    let (_, packed_p99) = report("packed", packed_times);
    println!("ratio: mean {:.2}, p99 {:.2}", ratios[ROUNDS / 2], p99 / packed_p99);
    // While all segments are merged into one.
    let ended = AtomicBool::new(false);
    let mut during = Vec::new();
    std::thread::scope(|scope| -> Result<()> {
        let merge = scope.spawn(|| {
            let merged = writer.merge_all();
            ended.store(true, Ordering::Relaxed);
            merged
        });
        let mut searcher = built.searcher();
        while !ended.load(Ordering::Relaxed) {
            during.extend(times(&mut searcher, &set, records)?.0);
        }
        Ok(merge.join().expect("no panic")?)
    })?;
    let (_, merging_p99) = report("during a merge", &mut during);
    println!("p99 during a merge: {:.2} times that before", merging_p99 / p99);
    Ok(())
}
