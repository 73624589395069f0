//! What is told of a segment that has a base and part tables.

use fpstore::stats::{BaseStats, PartStats, SegmentStats};
use serde::Serialize;

use super::living;
use crate::failure::Failure;
use crate::output::Output;
use crate::report::per_fingerprint;
use crate::units::plural;

/// In JSON.
#[derive(Serialize)]
pub(super) struct PartsReport {
    base: BaseReport,
    parts: Vec<PartReport>,
}

#[derive(Serialize)]
struct BaseReport {
    file_bytes: u64,
}

#[derive(Serialize)]
struct PartReport {
    /// The bits that rows are found by; bit 0 is the most significant one.
    key_bits: Vec<u32>,
    /// Pairs of fingerprints that agree in these.
    alike_pairs: u64,
    file_bytes: u64,
}

impl PartsReport {
    pub(super) fn new(base: &BaseStats) -> Self {
        let report = |part: &PartStats| PartReport {
            key_bits: part.key.clone(),
            alike_pairs: part.coincidences / 2,
            file_bytes: part.file_bytes,
        };
        let parts = base.parts.iter().map(report).collect();
        Self { base: BaseReport { file_bytes: base.file_bytes }, parts }
    }
}

/// Prints a segment.
pub(super) fn print(
    output: &mut Output,
    segment: &SegmentStats,
    base: &BaseStats,
) -> Result<(), Failure> {
    output.line(&format!(
        "segment {}: {} in a base and {}{}",
        segment.number,
        plural(segment.count, "fingerprint"),
        plural(base.parts.len() as u64, "part table"),
        living::of_segment(segment),
    ))?;
    let each = |bytes: u64| {
        let bits = per_fingerprint(8.0 * bytes as f64, segment.count);
        let bits = bits.map_or(String::new(), |bits| format!(", {bits:.2} bits per fingerprint"));
        format!("{bytes} bytes{bits}")
    };
    output.line(&format!("  base: {}", each(base.file_bytes)))?;
    for (number, part) in base.parts.iter().enumerate() {
        output.line(&format!("  part {}: {}", number + 1, each(part.file_bytes)))?;
        let alike = match part.coincidences / 2 {
            0 => "no two fingerprints agree in these".to_string(),
            pairs => format!("{} of fingerprints agree in these", plural(pairs, "pair")),
        };
        for (name, value) in [("key bits", runs(&part.key)), ("alike", alike)] {
            output.line(&format!("    {name:<13}{value}"))?;
        }
    }
    Ok(())
}

/// Ascending numbers, those that follow each other as the first and the last: `3, 5-9`.
fn runs(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let runs = runs.map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(", ")
}
