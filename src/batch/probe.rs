//! Brings the queries into the order of each table and reads the blocks of the table once, in
//! order.
//!
//! A query visits the keys that begin like it: with its own prefix, the top of the table, and where
//! the threshold τ is over zero with each that differs from it in up to τ bits. Queries that visit
//! the same prefix are compared with its keys together. A match is handed on from the first table
//! in whose top it differs from the query in at most the threshold, so that it comes once per
//! segment.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::join::{Found, Kernel, Output, flips};
use crate::segment::Segment;
use crate::sort;
use crate::table::Table;

/// Visits of one task.
const TASK: usize = 1 << 13;
/// Blocks that are decoded side by side.
const SIDE_BY_SIDE: u64 = 8;
/// Keys that were used up before the others are moved.
const USED_UP: usize = 1 << 14;

/// Measured, in nanoseconds: decoding a key, bringing a query into order, and visiting a prefix.
const DECODE_COST: f64 = 2.2;
const SORT_COST: f64 = 20.0;
const VISIT_COST: f64 = 40.0;

/// A table, as the queries see it.
struct Probed<'a> {
    table: &'a Table,
    /// Number of leading bits of its keys in which a visit agrees.
    prefix_bits: u32,
    /// In the top, how many bits may differ.
    top: u64,
    threshold: u32,
}

impl Probed<'_> {
    /// The tables of a segment that a search within `k` needs; `None` where it scans.
    fn of(segment: &Segment, k: u32) -> Option<Vec<Probed<'_>>> {
        let thresholds = segment.thresholds(k)?.iter().zip(segment.tables());
        let needed = thresholds.filter_map(|(threshold, table)| Some((table, (*threshold)?)));
        let probed = |(table, threshold): (_, u32)| {
            let table: &Table = table;
            let bits = table.permutation().top_bits();
            // A longer prefix holds hardly fewer keys, and has more neighbours.
            let enough = segment.count().max(2).ilog2().max(threshold + 1);
            let prefix_bits = if threshold == 0 { bits } else { bits.min(enough) };
            let top = u64::MAX << (64 - bits);
            Probed { table, prefix_bits, top: table.permutation().fingerprint(top), threshold }
        };
        Some(needed.map(probed).collect())
    }

    /// Prefixes that a query visits.
    fn visits(&self) -> f64 {
        let binomial = |flips: u32| {
            (0..flips).fold(1.0, |n, i| n * f64::from(self.prefix_bits - i) / f64::from(i + 1))
        };
        (0..=self.threshold.min(self.prefix_bits)).map(binomial).sum()
    }

    /// Whether a pair with this difference is to be found in this table, if it is not before.
    fn admits(&self, difference: u64) -> bool {
        (difference & self.top).count_ones() <= self.threshold
    }
}

/// The predicted time of [`probe`] in nanoseconds of one thread; `None` where tables do not help.
pub(super) fn cost(segments: &[Segment], queries: u64, k: u32) -> Option<f64> {
    let pair_cost = Kernel::best().pair_cost();
    let mut sum = 0.0;
    for segment in segments {
        for probed in Probed::of(segment, k)? {
            let visits = probed.visits() * queries as f64;
            let count = segment.count() as f64;
            let blocks = (probed.table.block_count() as f64).max(1.0);
            let per_visit = count * f64::from(probed.prefix_bits).exp2().recip();
            let decoded = blocks.min(visits * (1.0 + per_visit * blocks / count.max(1.0)));
            sum += DECODE_COST * decoded * count / blocks
                + visits
                    * (SORT_COST + VISIT_COST.min(VISIT_COST * per_visit) + per_visit * pair_cost);
        }
    }
    Some(sum)
}

/// Bytes of memory per query.
pub(super) fn query_bytes(segments: &[Segment], k: u32) -> u64 {
    let tables = segments.iter().filter_map(|segment| Probed::of(segment, k)).flatten();
    let bytes =
        |probed: Probed<'_>| if probed.threshold == 0 { 8.0 } else { 32.0 * probed.visits() };
    tables.map(bytes).fold(8.0, f64::max) as u64
}

/// Whether a search within `k` needs the tables of all segments, and not a scan.
pub(super) fn can_probe(segments: &[Segment], k: u32) -> bool {
    segments.iter().all(|segment| segment.thresholds(k).is_some())
}

/// Finds all that is within `k` of `queries`, which ascend strictly, in the tables of those
/// segments that [can be probed](can_probe). Runs in the current pool of threads.
pub(super) fn probe(output: &Output, queries: &[u64], segments: &[Segment], k: u32) -> Result<()> {
    for segment in segments {
        let tables = Probed::of(segment, k).unwrap_or_default();
        for (number, probed) in tables.iter().enumerate() {
            let earlier = &tables[..number];
            let sweep = Sweep { output, k, probed, earlier, kernel: Kernel::best() };
            sweep.run(queries)?;
        }
    }
    Ok(())
}

/// All queries in the order of one table.
struct Sweep<'a> {
    output: &'a Output,
    k: u32,
    probed: &'a Probed<'a>,
    earlier: &'a [Probed<'a>],
    kernel: Kernel,
}

impl Sweep<'_> {
    fn run(&self, queries: &[u64]) -> Result<()> {
        let permutation = self.probed.table.permutation();
        if self.probed.threshold == 0 {
            let mut keys = vec![0; queries.len()];
            sort::sort_permuted(queries, permutation, &mut keys);
            return self.visit(&keys, |&key| (key, key));
        }
        let bits = self.probed.prefix_bits;
        let flips = flips(bits, self.probed.threshold);
        let visits = queries.iter().flat_map(|&query| {
            let key = permutation.key(query);
            flips.iter().map(move |&flip| [key ^ u64::from(flip) << (64 - bits), key])
        });
        let visits: Vec<[u64; 2]> = visits.collect();
        let mut sorted = vec![[0; 2]; visits.len()];
        let distinct = sort::sort_lists(&[&visits], &mut sorted);
        drop(visits);
        self.visit(&sorted[..distinct], |&[visited, key]| (visited, key))
    }

    /// Compares the keys of queries with those that begin like what they visit: `split` gives that
    /// and the key. The visits ascend.
    fn visit<T: Sync>(&self, visits: &[T], split: impl Fn(&T) -> (u64, u64) + Sync) -> Result<()> {
        let prefix = |visit: &T| self.prefix(split(visit).0);
        // Tasks end where prefixes do.
        let mut tasks = Vec::new();
        let mut start = 0;
        while start < visits.len() {
            let near = visits.len().min(start + TASK);
            let last = prefix(&visits[near - 1]);
            let end = near + visits[near..].partition_point(|visit| prefix(visit) == last);
            tasks.push(start..end);
            start = end;
        }
        let visit_all = |found: &mut Found<'_>, task: Range<usize>| {
            let mut window = Window::new(self.probed.table);
            let mut keys = Vec::new();
            for group in visits[task].chunk_by(|one, other| prefix(one) == prefix(other)) {
                if self.output.stopped() {
                    return Ok(());
                }
                let first = prefix(&group[0]);
                let stored = window.read(first, first | self.low_mask(), group.len())?;
                if !stored.is_empty() {
                    keys.clear();
                    keys.extend(group.iter().map(|visit| split(visit).1));
                    self.compare(&keys, stored, found);
                }
            }
            Ok(())
        };
        let tasks = tasks.into_par_iter().with_max_len(1);
        tasks.map_init(|| Found::new(self.output), visit_all).collect()
    }

    fn compare(&self, keys: &[u64], stored: &[u64], found: &mut Found<'_>) {
        let permutation = self.probed.table.permutation();
        self.kernel.between(keys, stored, self.k, |key, stored| {
            let (query, stored) = (permutation.fingerprint(key), permutation.fingerprint(stored));
            let difference = query ^ stored;
            let here = self.probed.admits(difference);
            if here && !self.earlier.iter().any(|earlier| earlier.admits(difference)) {
                found.push(query, stored);
            }
        });
    }

    fn low_mask(&self) -> u64 {
        u64::MAX.checked_shr(self.probed.prefix_bits).unwrap_or(0)
    }

    fn prefix(&self, key: u64) -> u64 {
        key & !self.low_mask()
    }
}

/// The decoded keys of some blocks that follow each other.
struct Window<'a> {
    table: &'a Table,
    /// The blocks behind the keys.
    next_block: u64,
    keys: Vec<u64>,
    /// Keys that are used up.
    used: usize,
    decoded: Vec<u64>,
}

impl<'a> Window<'a> {
    fn new(table: &'a Table) -> Self {
        Self { table, next_block: 0, keys: Vec::new(), used: 0, decoded: Vec::new() }
    }

    /// The keys from `first` to `last`, neither of which is below that of an earlier call. Decodes
    /// each block at most once.
    fn read(&mut self, first: u64, last: u64, queries: usize) -> Result<&[u64]> {
        let blocks = self.table.block_count();
        if self.keys.last().is_none_or(|&greatest| greatest < first) {
            self.keys.clear();
            self.used = 0;
            self.next_block = self.seek(first);
        }
        while self.keys.last().is_none_or(|&greatest| greatest < last) && self.next_block < blocks {
            // As many as are needed; where queries are dense, the blocks behind are as well.
            let mut end = self.next_block + 1;
            let ahead = if queries > 1 { SIDE_BY_SIDE } else { 1 };
            let most = blocks.min(self.next_block + SIDE_BY_SIDE);
            while end < most
                && (self.table.last_key(end - 1) < last || end < self.next_block + ahead)
            {
                end += 1;
            }
            self.table.decode_blocks(self.next_block..end, &mut self.decoded)?;
            if self.used > USED_UP {
                self.keys.drain(..std::mem::take(&mut self.used));
            }
            self.keys.extend_from_slice(&self.decoded);
            self.next_block = end;
        }
        self.used += gallop(&self.keys[self.used..], |key| key < first);
        let behind = &self.keys[self.used..];
        Ok(&behind[..gallop(behind, |key| key <= last)])
    }

    /// The first block from the next one on whose last key is not below `key`.
    fn seek(&self, key: u64) -> u64 {
        let blocks = self.table.block_count();
        let (mut start, mut step) = (self.next_block, 1);
        while start + step <= blocks && self.table.last_key(start + step - 1) < key {
            start += step;
            step *= 2;
        }
        let mut end = blocks.min(start + step - 1).max(start);
        while start < end {
            let middle = start + (end - start) / 2;
            if self.table.last_key(middle) < key { start = middle + 1 } else { end = middle }
        }
        start
    }
}

/// The number of leading keys for which `holds` does; none holds behind one that does not. Takes
/// time logarithmic in that number.
fn gallop(keys: &[u64], holds: impl Fn(u64) -> bool) -> usize {
    let mut end = 1;
    while end < keys.len() && holds(keys[end - 1]) {
        end *= 2;
    }
    let start = end / 2;
    let end = end.min(keys.len());
    start + keys[start..end].partition_point(|&key| holds(key))
}

#[cfg(test)]
mod tests {
    use super::gallop;

    #[test]
    fn galloping_finds_the_end_of_a_run() {
        for count in 0..70u64 {
            let keys: Vec<u64> = (0..count).collect();
            for end in 0..=count {
                assert_eq!(gallop(&keys, |key| key < end), end as usize, "{end} of {count}");
            }
        }
    }
}
