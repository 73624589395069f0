//! check_and_insert, one record after the other, from an empty store.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use fpstore::{Packer, Store};

use super::{Common, Result, engines, percentile};

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Engines, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "fpstore")]
    engines: Vec<String>,
    /// Seconds after which an engine is stopped; what it has done by then is told.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

/// Bytes of the files in a directory.
fn bytes(path: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let data = entry.metadata()?;
        sum += if data.is_dir() { bytes(&entry.path())? } else { data.len() };
    }
    Ok(sum)
}

/// Bytes that this process has had written to the disk.
fn written_by_process() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

pub fn run(options: &Options) -> Result<()> {
    for engine in &options.engines {
        load(engine, options)?;
    }
    Ok(())
}

fn load(name: &str, options: &Options) -> Result<()> {
    let common = &options.common;
    let (set, directory) = (common.set()?, common.directory()?);
    let path = directory.path().join("store");
    let mut engine = engines::open(name, common, &path)?;
    let written_before = written_by_process();
    println!("{name}: records, calls per second in this tenth and over all, stored");
    let mut times: Vec<u32> = Vec::with_capacity(common.records as usize);
    let (start, mut stored, mut inserted) = (Instant::now(), 0u64, Vec::new());
    let tenth = (common.records / 10).max(1);
    let (mut last, mut of_tenth) = (start, start);
    for i in 0..common.records {
        let fingerprint = set.fingerprint(i);
        if engine.check_and_insert(fingerprint, i)? {
            stored += 1;
            inserted.push((fingerprint, i));
        }
        let now = Instant::now();
        times.push((now - last).as_nanos().min(u128::from(u32::MAX)) as u32);
        last = now;
        if (i + 1) % tenth == 0 {
            let recent = tenth as f64 / of_tenth.elapsed().as_secs_f64();
            let all = (i + 1) as f64 / start.elapsed().as_secs_f64();
            println!("{name}: {:>10} {recent:>9.0} {all:>9.0} {stored:>10}", i + 1);
            of_tenth = Instant::now();
        }
        if start.elapsed() > Duration::from_secs(options.seconds) {
            println!("{name}: stopped after {} records", i + 1);
            break;
        }
    }
    engine.finish()?;
    let (seconds, calls) = (start.elapsed().as_secs_f64(), times.len());
    times.sort_unstable();
    println!(
        "{name}: {:.0} calls per second; p50 {:.1}, p99 {:.1}, p99.9 {:.1}, worst {:.0} us",
        calls as f64 / seconds,
        percentile(&times, 0.5),
        percentile(&times, 0.99),
        percentile(&times, 0.999),
        percentile(&times, 1.0)
    );
    if name == "fpstore" {
        let stats = Store::open(&path)?.stats()?;
        let segments: Vec<u64> = stats.segments.iter().map(|segment| segment.count).collect();
        println!("{name}: segments at the end {segments:?}");
    }
    drop(engine);
    let on_disk = bytes(&path)?;
    let written = written_by_process().saturating_sub(written_before);
    println!(
        "{name}: {:.2} bytes per stored fingerprint with its id; written {:.2} times the records of 16 bytes, \
         {:.2} times the final size",
        on_disk as f64 / stored as f64,
        written as f64 / (16.0 * stored as f64),
        written as f64 / on_disk as f64
    );
    if name == "fpstore" {
        let stats = Store::open(&path)?.stats()?;
        if let Some(living) = &stats.living {
            println!(
                "{name}: write amplification as the store counts it {:?}",
                living.write_amplification()
            );
        }
        let packed = directory.path().join("packed");
        let design = stats.segments.last().and_then(|segment| segment.design.clone());
        let block_bytes =
            common.block_bytes.or(stats.segments.last().map(|s| s.tables[0].block_bytes));
        let mut packer = Packer::new();
        if let (Some(design), Some(block_bytes)) = (design, block_bytes) {
            packer = packer.with_layout(|it| it.design(design).block_bytes(block_bytes));
        }
        let summary = packer.pack_with_ids(&packed, inserted)?;
        println!(
            "{name}: packed {:.2} bytes; the store takes {:.3} times as much",
            summary.bytes as f64 / stored as f64,
            on_disk as f64 / summary.bytes as f64
        );
    }
    Ok(())
}
