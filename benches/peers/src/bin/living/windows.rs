//! A year of daily windows.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Common, RADIUS, Result};

const DAYS: u64 = 365;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const PER_DAY: u64 = 1 << 16;

fn day(number: u64) -> SystemTime {
    UNIX_EPOCH + DAY * (20_000 + number) as u32
}

pub fn run(common: &Common) -> Result<()> {
    let (set, directory) = (common.set()?, common.directory()?);
    let writer = common.options().window(Some(DAY)).create(directory.path().join("store"))?;
    let start = Instant::now();
    for number in 0..DAYS {
        for id in number * PER_DAY..(number + 1) * PER_DAY {
            writer.insert_at(set.fingerprint(id), id, day(number) + DAY / 2)?;
        }
    }
    writer.flush()?;
    writer.merge()?;
    println!("insert: {:?}", start.elapsed());
    let snapshot = writer.snapshot();
    let week = snapshot.between(day(DAYS - 7)..day(DAYS))?;
    println!(
        "segments: {} of {} windows; of the last 7 days {}",
        snapshot.stats()?.segments.len(),
        DAYS,
        week.stats()?.segments.len()
    );
    for (name, snapshot) in [("7 days", &week), ("all", &snapshot)] {
        let mut searcher = snapshot.searcher();
        let (start, mut matches) = (Instant::now(), 0);
        for i in 0..10_000 {
            matches +=
                searcher.search(set.fingerprint(i * 2_003 % (DAYS * PER_DAY)), RADIUS)?.len();
        }
        println!("search in {name}: {:?} each, {matches} matches", start.elapsed() / 10_000);
    }
    let start = Instant::now();
    let gone = writer.expire(day(300))?;
    println!("expire of 300 days: {:?}, {gone} segments", start.elapsed());
    println!("segments: {}", writer.snapshot().stats()?.segments.len());
    Ok(())
}
