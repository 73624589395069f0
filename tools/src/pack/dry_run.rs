//! `fpstore pack --dry-run`: what a pack would need.

use fpstore::PackEstimate;
use serde::Serialize;

use super::{Args, packer};
use crate::failure::Failure;
use crate::input::{Records, Source};
use crate::output::Output;

/// Fingerprints of each input from which their number is estimated.
const SAMPLE: usize = 1 << 16;

#[derive(Serialize)]
struct Report {
    fingerprints: u64,
    tables: usize,
    memory_bytes: u64,
    temporary_bytes: u64,
    store_bytes: u64,
    seconds: f64,
}

/// Prints what the pack would need.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let packer = packer(args)?;
    packer.check_target(&args.output)?;
    let mut count = 0;
    for path in &args.input {
        count += count_of(Source::open(path, &args.reading)?).ok_or_else(|| {
            let message = format!("{}: --dry-run needs regular files", path.display());
            Failure::Usage(message)
        })??;
    }
    let estimate = packer.estimate(count)?;
    print(args, count, &estimate)
}

/// The number of fingerprints of an input, from its first ones; `None` if its length is not known.
fn count_of(mut source: Source) -> Option<Result<u64, Failure>> {
    let length = source.length()?;
    let mut records = Records::default();
    while records.fingerprints.len() < SAMPLE {
        match source.read(&mut records) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Some(Err(error.into())),
        }
    }
    let (read, found) = (source.bytes_read().max(1), records.fingerprints.len() as u64);
    Some(Ok((u128::from(length) * u128::from(found) / u128::from(read)) as u64))
}

fn print(args: &Args, count: u64, estimate: &PackEstimate) -> Result<(), Failure> {
    let mut output = Output::stdout();
    if args.json {
        output.json(&Report {
            fingerprints: count,
            tables: estimate.design.table_count(),
            memory_bytes: estimate.memory_bytes,
            temporary_bytes: estimate.temporary_bytes,
            store_bytes: estimate.store_bytes,
            seconds: estimate.seconds,
        })?;
    } else if !args.quiet {
        let gib = |bytes: u64| format!("{bytes} bytes ({:.2} GiB)", bytes as f64 / 2f64.powi(30));
        for (name, value) in [
            ("fingerprints", format!("about {count}, if they are distinct and uniform")),
            ("design", format!("{}, blocks of {} bytes", estimate.design, estimate.block_bytes)),
            ("memory", gib(estimate.memory_bytes)),
            ("temporary disk", format!("{} at the peak", gib(estimate.temporary_bytes))),
            ("store", gib(estimate.store_bytes)),
            ("time", format!("about {:.0} seconds, and that of reading", estimate.seconds)),
        ] {
            output.line(&format!("{name:16}{value}"))?;
        }
    }
    output.flush()
}
