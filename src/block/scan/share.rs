//! How many keys survive the comparison of the column.

/// Survivors of a block, if keys are uniform, from which on a scan decodes all of its keys.
/// Milliseconds of 2^24 with L = 32 in blocks of 512 bytes, by the number from which on, and never
/// (AVX2; least of two runs):
///
/// | k | 1 | 2 | 4 | 8 | 12 | never |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | 14 | 23 | 20 | 18 | 19 | 18 | 15 |
/// | 16 | 37 | 37 | 34 | 37 | 32 | 30 |
/// | 20 | 54 | 53 | 54 | 57 | 63 | 92 |
const DECODED: f64 = 4.0;

/// The share of uniform keys that are within the budget by a column of so many bits.
pub(crate) fn share_within(low_bits: u32, budget: u32) -> f64 {
    let mut ways = 1.0;
    let mut within = 0.0;
    for flips in 0..=budget.min(low_bits) {
        within += ways;
        ways *= f64::from(low_bits - flips) / f64::from(flips + 1);
    }
    within / 2f64.powi(low_bits as i32)
}

/// The least budget with which so many keys of a block survive that a scan decodes it whole.
pub(crate) fn decodes_from(low_bits: u32, keys_per_block: usize) -> u32 {
    let survivors = |budget| share_within(low_bits, budget) * keys_per_block as f64;
    (0..low_bits).find(|&budget| survivors(budget) >= DECODED).unwrap_or(low_bits)
}
