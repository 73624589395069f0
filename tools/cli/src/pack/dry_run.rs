//! `fpstore pack --dry-run`: what a pack would need.

use fpstore::plan::PackEstimate;
use fpstore::{Design, Fingerprint, Store};
use fpstore_records::{Id, Options, Records, Source};
use serde::Serialize;

use super::room::Room;
use super::{Args, IdMode, execution, feed, memory_beside, packer, recipes_of, summary};
use crate::failure::Failure;
use crate::output::Output;
use crate::paths::is_store;
use crate::units;
use crate::width;

/// Fingerprints of each input from which their number is estimated.
const SAMPLE: usize = 1 << 16;

#[derive(Serialize)]
struct Report {
    fingerprints: u64,
    /// Those of parts have a table each, beside the base.
    tables: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<u16>,
    memory_bytes: u64,
    temporary_bytes: u64,
    store_bytes: u64,
    id_bytes: u64,
    /// What names take at the most, which is their text.
    name_bytes: u64,
    seconds: f64,
    /// Whether memory and disks have room for it; their free bytes are null where nobody knows.
    fits: bool,
    memory_free_bytes: Option<u64>,
    disk_free_bytes: Option<u64>,
}

/// What the first records of all inputs tell.
#[derive(Default)]
struct Sample {
    /// Fingerprints of all inputs.
    count: u64,
    /// Whether that is just estimated.
    is_estimated: bool,
    /// The greatest id that was seen.
    greatest: u64,
    /// Bytes of the names of all inputs.
    name_bytes: f64,
}

/// Prints what the pack would need.
pub(super) fn run<F: Fingerprint>(
    args: &Args,
    mode: &IdMode,
    reading: &Options,
) -> Result<(), Failure> {
    let packer = packer::<F>(args)?;
    packer.check_target(args.output())?;
    let inputs = feed(args, reading).check::<F>()?;
    let k = args.layout.radius.or(recipes_of(args, &inputs)?.k()).unwrap_or(args.k());
    let packer = packer.layout(args.layout.layout::<F>(k)?);
    let packer = packer.execution(execution(args).memory(memory_beside(&inputs, args)));
    let mut sample = Sample::default();
    for path in &args.input {
        if is_store(path) {
            sample.add_store(&width::open::<F>(path)?)?;
            continue;
        }
        let source = Source::<F>::open(path, reading)?;
        sample.add(source)?.ok_or_else(|| {
            let message = format!("{}: --dry-run needs regular files", path.display());
            Failure::Usage(message)
        })?;
    }
    let last = sample.count.saturating_sub(1);
    let estimate = match mode {
        IdMode::None => packer.estimate(sample.count)?,
        _ if sample.name_bytes > 0.0 => packer.estimate_with_ids(sample.count, last)?,
        IdMode::Line => packer.estimate_with_ids(sample.count, last)?,
        IdMode::Column(_) | IdMode::Stored => {
            packer.estimate_with_ids(sample.count, sample.greatest)?
        }
    };
    print(args, mode, &sample, &estimate)
}

impl Sample {
    /// Adds a store.
    fn add_store<F: Fingerprint>(&mut self, store: &Store<F>) -> Result<(), Failure> {
        let stats = store.stats()?;
        let ids = stats.segments.iter().filter_map(|segment| segment.ids);
        let (mut pairs, mut bits) = (0, 0);
        for ids in ids {
            pairs += ids.ids;
            bits = ids.id_bits.max(bits);
        }
        self.count = self.count.saturating_add(stats.fingerprints.max(pairs));
        self.is_estimated |= stats.segments.len() > 1 || stats.living.is_some();
        self.greatest = self.greatest.max(u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0));
        Ok(())
    }

    /// Adds an input, from its first records; `None` if its length is not known.
    fn add<F: Fingerprint>(&mut self, mut source: Source<F>) -> Result<Option<()>, Failure> {
        let Some(length) = source.length() else { return Ok(None) };
        let mut records = Records::default();
        let mut more = true;
        while more && records.fingerprints.len() < SAMPLE {
            more = source.read(&mut records)?;
        }
        let (read, found) = (source.bytes_read().max(1), records.fingerprints.len() as u64);
        let known = source.records()?.or((!more).then_some(found));
        self.is_estimated |= known.is_none();
        self.count =
            self.count.saturating_add(known.unwrap_or_else(|| {
                (u128::from(length) * u128::from(found) / u128::from(read)) as u64
            }));
        for record in records.iter() {
            if let Some(Id::Number(id)) = record.id {
                self.greatest = id.max(self.greatest);
            }
        }
        let bytes: usize = records.iter().map(|record| record.id.map_or(0, bytes_of)).sum();
        self.name_bytes += bytes as f64 * length as f64 / read as f64;
        Ok(Some(()))
    }
}

/// Bytes of a name; none of a number.
fn bytes_of(id: Id<'_>) -> usize {
    match id {
        Id::Number(_) => 0,
        Id::Text(text) => text.len(),
        Id::Bytes(bytes) => bytes.len(),
        Id::Uuid(_) | Id::Number128(_) => 16,
    }
}

/// How the fingerprints will be laid out, in words.
fn layout(estimate: &PackEstimate) -> String {
    match (&estimate.design, estimate.block_bytes) {
        (Some(design), Some(bytes)) => {
            let short = if estimate.short_tables { " in short tables" } else { "" };
            format!("{design}{short}, blocks of {bytes} bytes")
        }
        _ => summary::parts_text(estimate.parts.unwrap_or(0)),
    }
}

/// What is there of what it needs.
fn room(args: &Args, estimate: &PackEstimate, name_bytes: u64) -> Room {
    Room::new(estimate.memory_bytes)
        .on_disk(args.output(), estimate.store_bytes.saturating_add(name_bytes))
        .on_disk(args.globals.tmp_dir.as_deref().unwrap_or(args.output()), estimate.temporary_bytes)
}

fn print(
    args: &Args,
    mode: &IdMode,
    sample: &Sample,
    estimate: &PackEstimate,
) -> Result<(), Failure> {
    let mut output = Output::stdout();
    let count = sample.count;
    let name_bytes = sample.name_bytes as u64;
    let room = room(args, estimate, name_bytes);
    if args.globals.json {
        output.json(&Report {
            fingerprints: count,
            tables: estimate.design.as_ref().map_or(0, Design::table_count),
            parts: estimate.parts,
            memory_bytes: estimate.memory_bytes,
            temporary_bytes: estimate.temporary_bytes,
            store_bytes: estimate.store_bytes,
            id_bytes: estimate.id_bytes,
            name_bytes,
            seconds: estimate.seconds,
            fits: room.fits(),
            memory_free_bytes: room.memory_free(),
            disk_free_bytes: room.disk_free(),
        })?;
    } else if !args.globals.quiet {
        let size = |bytes: u64| units::bytes(bytes as f64);
        let about = if sample.is_estimated { "about " } else { "" };
        let number = format!("{about}{}", units::count(count));
        let mut lines = vec![
            (
                "fingerprints",
                format!("{number}; what follows holds if they are distinct and uniform"),
            ),
            ("design", layout(estimate)),
            ("memory", size(estimate.memory_bytes)),
            (
                "temporary disk",
                match estimate.temporary_bytes {
                    0 => "none".to_string(),
                    bytes => format!("{} at the peak", size(bytes)),
                },
            ),
            ("store", size(estimate.store_bytes)),
        ];
        match mode {
            IdMode::None => {}
            IdMode::Line => {
                lines.push(("ids", format!("{} of it", size(estimate.id_bytes))));
            }
            _ if name_bytes > 0 => {
                lines.push(("ids", format!("{} of it", size(estimate.id_bytes))));
            }
            IdMode::Column(_) | IdMode::Stored => {
                let greatest = format!("if none is greater than {}", sample.greatest);
                lines.push(("ids", format!("{} of it, {greatest}", size(estimate.id_bytes))));
            }
        }
        if name_bytes > 0 {
            lines.push((
                "names",
                format!("at most {} on top, which is their text", size(name_bytes)),
            ));
        }
        let time = units::time(1e9 * estimate.seconds);
        lines.push(("time", format!("about {time}, and that of reading")));
        lines.extend(room.faults().into_iter().map(|fault| ("does not fit", fault)));
        for (name, value) in lines {
            output.line(&format!("{name:16}{value}"))?;
        }
    }
    output.flush()
}
