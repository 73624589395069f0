//! What a table takes, in numbers.

use super::reader::Table;
use super::writer::{TableOptions, Written};
use crate::codec::huffman;
use crate::error::Result;
use crate::format::{BitRange, Codec};

/// The size of a table and what it is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableStats {
    /// Bits of a key: those of a fingerprint, 32 or 64, or fewer in a [short
    /// table](crate::Layout::short_tables).
    pub key_bits: u32,
    /// Number of the table in its segment; 0 is in the order of the fingerprints.
    pub number: u32,
    /// The bits that the table puts in front.
    pub top: Vec<BitRange>,
    /// Number of keys.
    pub count: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes per block.
    pub block_bytes: u32,
    /// How keys are coded.
    pub codec: Codec,
    /// Width of the low column, L.
    pub low_bits: u32,
    /// For each class the length of its Huffman code, in bits; 0 where there is none.
    pub code_lengths: Vec<u8>,
    /// For each class how many keys have it.
    pub histogram: Vec<u64>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the router in the file.
    pub router_bytes: u64,
}

impl TableStats {
    /// Bytes of all blocks.
    pub fn block_area_bytes(&self) -> u64 {
        self.blocks * u64::from(self.block_bytes)
    }

    /// Bits per fingerprint of the blocks alone; 0 for an empty table.
    pub fn bits_per_fingerprint(&self) -> f64 {
        self.per_fingerprint(self.block_area_bytes())
    }

    /// Bits per fingerprint of blocks and router.
    pub fn bits_with_router(&self) -> f64 {
        self.per_fingerprint(self.block_area_bytes() + self.router_bytes)
    }

    /// Entropy of the histogram, in bits per key: what the best code without a limit could reach.
    pub fn entropy_bits(&self) -> f64 {
        huffman::entropy_bits(&self.histogram)
    }

    /// The least bits per fingerprint that any code needs for a random set of as many keys, as
    /// [`information_bound_bits`] gives them for 64 bits.
    pub fn bound_bits(&self) -> f64 {
        bound_bits(self.key_bits, self.count)
    }

    /// The numbers of a table of `count` keys that was just written.
    pub(crate) fn of_written(count: u64, written: &Written, options: &TableOptions) -> Self {
        let coding = &options.coding;
        Self {
            key_bits: coding.bits,
            number: u32::from(options.table_number),
            top: options.top.clone(),
            count,
            blocks: written.blocks,
            block_bytes: options.block_bytes,
            codec: coding.codec,
            low_bits: coding.low_bits,
            code_lengths: coding.code_lengths.clone(),
            histogram: coding.histogram.clone(),
            file_bytes: written.entry.file_bytes,
            router_bytes: u64::from(coding.bits / 8) * written.blocks,
        }
    }

    fn per_fingerprint(&self, bytes: u64) -> f64 {
        if self.count == 0 { 0.0 } else { 8.0 * bytes as f64 / self.count as f64 }
    }
}

impl Table {
    /// The numbers of this table; checks the histogram.
    pub(crate) fn stats(&self) -> Result<TableStats> {
        let header = self.header();
        Ok(TableStats {
            key_bits: header.bits,
            number: u32::from(header.table_number),
            top: header.top.clone(),
            count: header.count,
            blocks: self.block_count(),
            block_bytes: header.block_bytes,
            codec: header.codec,
            low_bits: header.low_bits,
            code_lengths: self.code_lengths.clone(),
            histogram: self.histogram()?,
            file_bytes: self.file_bytes(),
            router_bytes: self.last_keys().bytes(),
        })
    }
}

/// The least bits per fingerprint that any code needs for a uniformly random set of `count`
/// fingerprints: log2 of the number of such sets, divided by `count`; 0 for an empty set. About 64
/// - log2(count) + 1.44.
///
/// # Examples
///
/// ```
/// let bits = fpstore::plan::information_bound_bits(1 << 24);
/// assert!((bits - 41.44).abs() < 0.01);
/// ```
pub fn information_bound_bits(count: u64) -> f64 {
    bound_bits(u64::BITS, count)
}

/// As [`information_bound_bits`], of fingerprints of so many bits.
fn bound_bits(bits: u32, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    // ln C(N, n) = ln N (N - 1) ... (N - n + 1) - ln n!, with the falling factorial by its integral
    // and the factorial by Stirling's formula.
    let (all, n) = (2f64.powi(bits as i32), count as f64);
    let share = n / all;
    // Of 64 bits two terms are enough; a set that has most of 32 takes some hundred.
    let terms = (1..200).map(|j| share.powi(j) / f64::from(j * (j + 1)));
    let falling = n * all.ln() - n * terms.sum::<f64>();
    let factorial = if count == 1 {
        0.0
    } else {
        n * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI * n).ln() + 1.0 / (12.0 * n)
    };
    ((falling - factorial) / n / 2f64.ln()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_small_sets_is_that_of_the_binomial_coefficient() {
        assert_eq!(information_bound_bits(0), 0.0);
        assert!((information_bound_bits(1) - 64.0).abs() < 1e-9);
        // log2(2^64 (2^64 - 1) (2^64 - 2) / 6) / 3
        assert!((information_bound_bits(3) - (192.0 - 6f64.log2()) / 3.0).abs() < 1e-3);
        assert!((bound_bits(32, 1) - 32.0).abs() < 1e-6);
        // Of half of all there are nearly 2^(2^32).
        assert!((bound_bits(32, 1 << 31) - 2.0).abs() < 1e-2, "{}", bound_bits(32, 1 << 31));
        assert!(bound_bits(32, 1 << 32) < 1e-2, "{}", bound_bits(32, 1 << 32));
        assert!((bound_bits(32, 1 << 24) - 9.44).abs() < 0.01);
    }
}
