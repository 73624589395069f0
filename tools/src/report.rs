//! What `pack` and `stat` tell of a table, as JSON and as text.

use fpstore::{TableStats, information_bound_bits};
use serde::Serialize;

/// A table in JSON.
#[derive(Serialize)]
pub struct TableReport {
    table: u32,
    /// First bit and number of bits of each range.
    top: Vec<(u8, u8)>,
    fingerprints: u64,
    blocks: u64,
    block_bytes: u32,
    codec: String,
    low_bits: u32,
    code_lengths: Vec<u8>,
    histogram: Vec<u64>,
    entropy_bits: f64,
    bits_per_fingerprint: f64,
    bits_with_router: f64,
    bound_bits: f64,
    block_area_bytes: u64,
    router_bytes: u64,
    file_bytes: u64,
}

impl TableReport {
    /// The report of one table.
    pub fn new(table: &TableStats) -> Self {
        Self {
            table: table.number,
            top: table.top.iter().map(|range| (range.start, range.bits)).collect(),
            fingerprints: table.count,
            blocks: table.blocks,
            block_bytes: table.block_bytes,
            codec: table.codec.to_string(),
            low_bits: table.low_bits,
            code_lengths: table.code_lengths.clone(),
            histogram: table.histogram.clone(),
            entropy_bits: table.entropy_bits(),
            bits_per_fingerprint: table.bits_per_fingerprint(),
            bits_with_router: table.bits_with_router(),
            bound_bits: information_bound_bits(table.count),
            block_area_bytes: table.block_area_bytes(),
            router_bytes: table.router_bytes,
            file_bytes: table.file_bytes,
        }
    }
}

/// Bits per fingerprint of a table against the information bound, as text.
pub fn bits_against_bound(table: &TableStats) -> String {
    if table.count == 0 {
        return "empty".to_string();
    }
    let bound = information_bound_bits(table.count);
    let bits = table.bits_per_fingerprint();
    format!(
        "{bits:.2} bits per fingerprint ({:.2} with the router), bound {bound:.2}{}",
        table.bits_with_router(),
        over_bound(bits, bound),
    )
}

fn over_bound(bits: f64, bound: f64) -> String {
    // A set of one or all fingerprints has a bound near 0, to which nothing compares.
    if bound < 1.0 {
        return String::new();
    }
    format!(", {:+.1}%", (bits / bound - 1.0) * 100.0)
}

/// `bytes` per fingerprint; 0 if there are none.
pub fn bytes_per_fingerprint(bytes: u64, fingerprints: u64) -> f64 {
    match fingerprints {
        0 => 0.0,
        _ => bytes as f64 / fingerprints as f64,
    }
}
