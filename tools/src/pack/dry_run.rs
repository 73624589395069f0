//! `fpstore pack --dry-run`: what a pack would need.

use fpstore::PackEstimate;
use serde::Serialize;

use super::{Args, IdMode, check_inputs, packer};
use crate::failure::Failure;
use crate::id_map::{ENTRY_BYTES, GROUP_STRINGS};
use crate::input::{Id, Records, Source};
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
    id_bytes: u64,
    id_map_bytes: u64,
    seconds: f64,
}

/// What the first records of all inputs tell.
#[derive(Default)]
struct Sample {
    /// Fingerprints of all inputs.
    count: u64,
    /// The greatest id that was seen.
    greatest: u64,
    /// Bytes that the strings of all inputs take in an id map.
    map_bytes: f64,
}

/// Prints what the pack would need.
pub(super) fn run(args: &Args, mode: &IdMode) -> Result<(), Failure> {
    let packer = packer(args)?;
    packer.check_target(&args.output)?;
    let packer = packer.memory(check_inputs(args)?.memory(args));
    let mut sample = Sample::default();
    for path in &args.input {
        let source = Source::open(path, &args.reading)?;
        sample.add(source)?.ok_or_else(|| {
            let message = format!("{}: --dry-run needs regular files", path.display());
            Failure::Usage(message)
        })?;
    }
    let last = sample.count.saturating_sub(1);
    let estimate = match mode {
        IdMode::None => packer.estimate(sample.count)?,
        IdMode::Line | IdMode::Map(..) => packer.estimate_with_ids(sample.count, last)?,
        IdMode::Column(_) => packer.estimate_with_ids(sample.count, sample.greatest)?,
    };
    print(args, mode, &sample, &estimate)
}

impl Sample {
    /// Adds an input, from its first records; `None` if its length is not known.
    fn add(&mut self, mut source: Source) -> Result<Option<()>, Failure> {
        let Some(length) = source.length() else { return Ok(None) };
        let mut records = Records::default();
        while records.fingerprints.len() < SAMPLE && source.read(&mut records)? {}
        let (read, found) = (source.bytes_read().max(1), records.fingerprints.len() as u64);
        self.count += (u128::from(length) * u128::from(found) / u128::from(read)) as u64;
        let (mut bytes, mut before) = (0, "");
        for (number, record) in records.iter().enumerate() {
            match record.id {
                Some(Id::Number(id)) => self.greatest = id.max(self.greatest),
                Some(Id::Text(text)) => {
                    if number.is_multiple_of(GROUP_STRINGS as usize) {
                        before = "";
                    }
                    let pairs = before.bytes().zip(text.bytes());
                    // Two lengths, and the part of the string in the entry of its group.
                    bytes += 2 + text.len() - pairs.take_while(|(a, b)| a == b).count();
                    before = text;
                }
                None => {}
            }
        }
        let entries = found as f64 * ENTRY_BYTES as f64 / GROUP_STRINGS as f64;
        self.map_bytes += (bytes as f64 + entries) * length as f64 / read as f64;
        Ok(Some(()))
    }
}

fn print(
    args: &Args,
    mode: &IdMode,
    sample: &Sample,
    estimate: &PackEstimate,
) -> Result<(), Failure> {
    let mut output = Output::stdout();
    let count = sample.count;
    let map_bytes = match mode {
        IdMode::Map(..) => sample.map_bytes as u64,
        _ => 0,
    };
    if args.json {
        output.json(&Report {
            fingerprints: count,
            tables: estimate.design.table_count(),
            memory_bytes: estimate.memory_bytes,
            temporary_bytes: estimate.temporary_bytes,
            store_bytes: estimate.store_bytes,
            id_bytes: estimate.id_bytes,
            id_map_bytes: map_bytes,
            seconds: estimate.seconds,
        })?;
    } else if !args.quiet {
        let gib = |bytes: u64| format!("{bytes} bytes ({:.2} GiB)", bytes as f64 / 2f64.powi(30));
        let mut lines = vec![
            ("fingerprints", format!("about {count}, if they are distinct and uniform")),
            ("design", format!("{}, blocks of {} bytes", estimate.design, estimate.block_bytes)),
            ("memory", gib(estimate.memory_bytes)),
            ("temporary disk", format!("{} at the peak", gib(estimate.temporary_bytes))),
            ("store", gib(estimate.store_bytes)),
        ];
        match mode {
            IdMode::None => {}
            IdMode::Line | IdMode::Map(..) => {
                lines.push(("ids", format!("{} of it", gib(estimate.id_bytes))));
            }
            IdMode::Column(_) => {
                let greatest = format!("if none is greater than {}", sample.greatest);
                lines.push(("ids", format!("{} of it, {greatest}", gib(estimate.id_bytes))));
            }
        }
        if let IdMode::Map(..) = mode {
            lines.push(("id map", gib(map_bytes)));
        }
        lines.push(("time", format!("about {:.0} seconds, and that of reading", estimate.seconds)));
        for (name, value) in lines {
            output.line(&format!("{name:16}{value}"))?;
        }
    }
    output.flush()
}
