//! Batches that are durable when the call returns.

use std::io::Write;
use std::time::{Duration, Instant};

use fpstore::{Durability, WriterOptions};

use super::{Common, Result};

const BATCH: usize = 1000;
const TIME: Duration = Duration::from_secs(5);

pub fn run(common: &Common) -> Result<()> {
    let (set, directory) = (common.set()?, common.directory()?);
    let writer = WriterOptions::new().durability(Durability::Immediate);
    let writer = common.options().writer(writer).create(directory.path().join("store"))?;
    let (start, mut id, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while start.elapsed() < TIME {
        let pairs: Vec<(u64, u64)> =
            (id..id + BATCH as u64).map(|id| (set.fingerprint(id), id)).collect();
        let before = Instant::now();
        writer.insert_batch(&pairs)?;
        slowest = slowest.max(before.elapsed());
        id += BATCH as u64;
    }
    let rate = id as f64 / start.elapsed().as_secs_f64();
    println!("fpstore: {rate:.0} fingerprints per second, worst batch {slowest:?}");
    drop(writer);
    // As many bytes per sync as the log has, and as few.
    for bytes in [17 * BATCH, 64] {
        let mut file = std::fs::File::create(directory.path().join("syncs"))?;
        let (start, mut syncs) = (Instant::now(), 0);
        while start.elapsed() < TIME {
            file.write_all(&vec![7; bytes])?;
            file.sync_all()?;
            syncs += 1;
        }
        let rate = f64::from(syncs) / start.elapsed().as_secs_f64();
        println!("disk: {rate:.0} syncs of {bytes} bytes per second");
    }
    Ok(())
}
