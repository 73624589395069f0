//! Tables, as the queries see them.

use crate::fingerprint::Fingerprint;
use crate::segment::Segment;
use crate::table::Table;

/// The longest prefix whose bits are flipped, and the most prefixes that a query may visit.
const MAX_FLIPPED: u32 = u32::BITS;
const MAX_VISITS: f64 = (1 << 20) as f64;

/// A table, as the queries see it.
pub(in crate::query::batch) struct Probed<'a> {
    pub(super) table: &'a Table,
    /// Number of leading bits of its keys in which a visit agrees.
    pub(super) prefix_bits: u32,
    /// In the top, how many bits may differ.
    top: u64,
    pub(super) threshold: u32,
}

impl Probed<'_> {
    /// The tables of a segment that a search within `k` needs; `None` where it scans, or where a
    /// query would visit too many prefixes.
    pub(super) fn of<F: Fingerprint>(segment: &Segment<F>, k: u32) -> Option<Vec<Probed<'_>>> {
        let probed = |(table, threshold)| {
            let table: &Table = table;
            let bits = table.permutation().top_bits();
            let prefix_bits = prefix_bits(bits, threshold, segment.count());
            let top = u64::MAX << (64 - bits);
            Probed { table, prefix_bits, top: table.permutation().fingerprint(top), threshold }
        };
        let tables: Vec<_> = segment.thresholds(k)?.into_iter().map(probed).collect();
        tables.iter().all(|probed| probed.visits() <= MAX_VISITS).then_some(tables)
    }

    /// Prefixes that a query visits.
    pub(super) fn visits(&self) -> f64 {
        let binomial = |flips: u32| {
            (0..flips).fold(1.0, |n, i| n * f64::from(self.prefix_bits - i) / f64::from(i + 1))
        };
        (0..=self.threshold.min(self.prefix_bits)).map(binomial).sum()
    }

    /// The top, as the keys of `table` have it.
    pub(super) fn top_in(&self, table: &Table) -> Top {
        Top { mask: table.permutation().key(self.top), threshold: self.threshold }
    }
}

/// Bits of the prefixes that are visited in a table with such a top.
fn prefix_bits(top_bits: u32, threshold: u32, count: u64) -> u32 {
    if threshold == 0 {
        return top_bits;
    }
    // A longer prefix holds hardly fewer keys, and has more neighbours.
    let enough = count.max(2).ilog2().max(threshold + 1);
    top_bits.min(enough).min(MAX_FLIPPED)
}

/// Bits of the keys of a table, and how many of them may differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    pub(super) mask: u64,
    pub(super) threshold: u32,
}

impl Top {
    /// Whether a pair with this difference is to be found by this top.
    #[inline]
    pub(super) fn admits(&self, difference: u64) -> bool {
        (difference & self.mask).count_ones() <= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::join::flips;

    #[test]
    fn prefixes_whose_bits_are_flipped_have_32_bits_at_most() {
        assert_eq!(prefix_bits(64, 0, 1 << 40), 64);
        assert_eq!(prefix_bits(16, 2, 1 << 20), 16);
        assert_eq!(prefix_bits(64, 2, 1 << 20), 20);
        assert_eq!(prefix_bits(64, 25, 1 << 20), 26);
        let bits = prefix_bits(64, 1, 1 << 40);
        assert_eq!(bits, 32);
        // No flip is lost in the 32 bits of an integer.
        assert_eq!(flips(bits, 1).iter().fold(0, |all, flip| all | flip), u32::MAX);
    }
}
