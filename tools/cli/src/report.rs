//! What `pack` and `stat` tell of a table, as JSON and as text.
//!
//! What has no meaning for a set so small is left out: null in JSON.

use fpstore::stats::TableStats;
use serde::Serialize;

use crate::units;

/// Blocks from which on the free space of the last one hardly counts.
const COMPARABLE_BLOCKS: u64 = 16;

/// A table in JSON.
#[derive(Serialize)]
pub struct TableReport {
    table: u32,
    /// First bit and number of bits of each range.
    top: Vec<(u8, u8)>,
    fingerprints: u64,
    /// Left out where keys are whole fingerprints.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_bits: Option<u32>,
    blocks: u64,
    block_bytes: u32,
    codec: String,
    low_bits: u32,
    code_lengths: Vec<u8>,
    histogram: Vec<u64>,
    entropy_bits: f64,
    /// Null without fingerprints, as the two that follow.
    bits_per_fingerprint: Option<f64>,
    bits_with_router: Option<f64>,
    bound_bits: Option<f64>,
    block_area_bytes: u64,
    router_bytes: u64,
    file_bytes: u64,
}

impl TableReport {
    /// The report of one table of fingerprints of so many bits.
    pub fn new(table: &TableStats, bits: u32) -> Self {
        let of_some = |bits: f64| Some(bits).filter(|_| table.count > 0);
        Self {
            table: table.number,
            top: table.top.iter().map(|range| (range.start, range.bits)).collect(),
            fingerprints: table.count,
            key_bits: short_key_bits(table, bits),
            blocks: table.blocks,
            block_bytes: table.block_bytes,
            codec: table.codec.to_string(),
            low_bits: table.low_bits,
            code_lengths: table.code_lengths.clone(),
            histogram: table.histogram.clone(),
            entropy_bits: table.entropy_bits(),
            bits_per_fingerprint: of_some(table.bits_per_fingerprint()),
            bits_with_router: of_some(table.bits_with_router()),
            bound_bits: of_some(table.bound_bits()),
            block_area_bytes: table.block_area_bytes(),
            router_bytes: table.router_bytes,
            file_bytes: table.file_bytes,
        }
    }
}

/// Bits of the keys of a short table; `None` where they are all those of a fingerprint.
pub fn short_key_bits(table: &TableStats, bits: u32) -> Option<u32> {
    Some(table.key_bits).filter(|&key_bits| key_bits < bits)
}

/// Bits per fingerprint of a table against the information bound, as text.
pub fn bits_against_bound(table: &TableStats) -> String {
    if table.count == 0 {
        return "empty".to_string();
    }
    if table.blocks < COMPARABLE_BLOCKS {
        return format!(
            "{}, too few to compare with the bound",
            units::plural(table.blocks, "block")
        );
    }
    let bound = table.bound_bits();
    let bits = table.bits_per_fingerprint();
    format!(
        "{bits:.2} bits per fingerprint ({:.2} with the router), bound {bound:.2}, {:+.1}%",
        table.bits_with_router(),
        (bits / bound - 1.0) * 100.0,
    )
}

/// `amount` per fingerprint; `None` if there are none.
pub fn per_fingerprint(amount: f64, fingerprints: u64) -> Option<f64> {
    (fingerprints > 0).then(|| amount / fingerprints as f64)
}
