//! Brings the queries into the order of each table and reads the blocks of the table once, in
//! order.
//!
//! A query visits the keys that begin like it: with its own prefix, the top of the table, and where
//! the threshold τ is over zero with each that differs from it in up to τ bits. Queries that visit
//! the same prefix are compared with its keys together: by their [low parts](low), which stand in a
//! block as they are, or [whole], after all blocks were decoded, whichever is
//! [predicted](mod@cost) to take less time.
//!
//! A match is handed on from the last table in whose top it differs from the query in at most the
//! threshold, so that it comes once per segment. The top of a later table often lies in the low
//! parts: then no key is decoded that a later table hands on.

mod cost;
mod low;
mod probed;
mod whole;

use std::ops::Range;

use crate::costs::Costs;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, of_key};
use crate::query::join::{self, Found, Output, flips};
use crate::segment::Segment;
use crate::simd::Level;
use crate::snapshot::Snapshot;
use crate::sort;
use crate::table::Table;
use crate::tasks;

use super::low::{self as batch_low, Shape};

use cost::ProbeTimes;
#[cfg(test)]
pub(super) use cost::of_segment_ns;
pub(super) use cost::predicted_ns;
pub(super) use probed::Probed;
use probed::Top;

/// Visits of one task.
const TASK: usize = 1 << 13;

/// Bytes of memory per query.
pub(super) fn query_bytes<F: Fingerprint>(snapshot: &Snapshot<F>, k: u32) -> u64 {
    let tables = snapshot.segments().iter().filter_map(|segment| Probed::of(segment, k)).flatten();
    let bytes =
        |probed: Probed<'_>| if probed.threshold == 0 { 8.0 } else { 32.0 * probed.visits() };
    tables.map(bytes).fold(8.0, f64::max) as u64
}

/// Bytes of decoded keys that each thread holds at most.
pub(super) fn decoded_bytes<F: Fingerprint>(snapshot: &Snapshot<F>) -> u64 {
    let tables = snapshot.segments().iter().flat_map(|segment| segment.tables());
    let keys = tables.map(|table| table.geometry().most_keys()).max().unwrap_or(0);
    8 * keys.max(whole::MOST_KEYS)
}

/// Whether the tables of all segments can be probed within `k`.
pub(super) fn can_probe<F: Fingerprint>(snapshot: &Snapshot<F>, k: u32) -> bool {
    snapshot.segments().iter().all(|segment| Probed::of(segment, k).is_some())
}

/// Finds all that is within `k` of `queries`, which ascend strictly, in the tables of those
/// segments that [can be probed](can_probe). Runs in the current pool of threads.
pub(super) fn probe<F: Fingerprint>(
    output: &Output<F>,
    queries: &[u64],
    snapshot: &Snapshot<F>,
    k: u32,
    costs: &Costs,
) -> Result<()> {
    for segment in snapshot.segments() {
        let by_low_parts = |probed: &Probed<'_>, tables| {
            ProbeTimes::new(segment, probed, tables, queries.len() as f64, k, costs).by_low_parts()
        };
        probe_segment(output, queries, segment, k, by_low_parts)?;
    }
    Ok(())
}

/// Probes one segment. `by_low_parts` tells for a table, of so many, whether the low parts of its
/// keys are compared, if they have any.
pub(super) fn probe_segment<F: Fingerprint>(
    output: &Output<F>,
    queries: &[u64],
    segment: &Segment<F>,
    k: u32,
    by_low_parts: impl Fn(&Probed<'_>, usize) -> bool,
) -> Result<()> {
    let tables = Probed::of(segment, k).unwrap_or_default();
    let mut keys = Vec::new();
    for (number, probed) in tables.iter().enumerate() {
        let has_low_parts = probed.table.geometry().low_bits > 0;
        let later = tables[number + 1..].iter().map(|later| later.top_in(probed.table));
        let mut sweep = Sweep {
            output,
            k,
            probed,
            top: probed.top_in(probed.table),
            later: later.collect(),
            level: Level::best(),
            low_shape: None,
        };
        if has_low_parts && by_low_parts(probed, tables.len()) {
            sweep.low_shape = Some(sweep.low_shape());
        }
        sweep.run(queries, &mut keys)?;
    }
    Ok(())
}

/// What a query visits.
trait Visit: Sync {
    /// A key with the prefix that is visited.
    fn visited(&self) -> u64;

    /// The key of the query.
    fn key(&self) -> u64;
}

/// A visit of the own prefix.
impl Visit for u64 {
    fn visited(&self) -> u64 {
        *self
    }

    fn key(&self) -> u64 {
        *self
    }
}

/// What is visited, and the key.
impl Visit for [u64; 2] {
    fn visited(&self) -> u64 {
        self[0]
    }

    fn key(&self) -> u64 {
        self[1]
    }
}

/// All queries in the order of one table.
struct Sweep<'a, F: Fingerprint> {
    output: &'a Output<F>,
    k: u32,
    probed: &'a Probed<'a>,
    /// The top of the table, and those of the tables behind it, in the keys of the table.
    top: Top,
    later: Vec<Top>,
    level: Level,
    /// How low parts are compared; `None` where whole keys are.
    low_shape: Option<Shape>,
}

impl<F: Fingerprint> Sweep<'_, F> {
    /// `keys` is scratch space.
    fn run(&self, queries: &[u64], keys: &mut Vec<u64>) -> Result<()> {
        let permutation = self.probed.table.permutation();
        if self.probed.threshold == 0 {
            keys.resize(queries.len(), 0);
            sort::sort_permuted(queries, permutation, keys);
            return self.visit(keys);
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
        self.visit(&sorted[..distinct])
    }

    /// Compares the keys of queries with those that begin like what they visit. The visits ascend.
    fn visit(&self, visits: &[impl Visit]) -> Result<()> {
        // Tasks end where prefixes do.
        let mut ranges = Vec::new();
        let mut start = 0;
        while start < visits.len() {
            let near = visits.len().min(start + TASK);
            let last = self.prefix(visits[near - 1].visited());
            let same = |visit: &_| self.prefix(Visit::visited(visit)) == last;
            let end = near + visits[near..].partition_point(same);
            ranges.push(start..end);
            start = end;
        }
        let visit_all = |range: Range<usize>| {
            let (visits, found) = (&visits[range], &mut Found::new(self.output));
            match self.low_shape {
                Some(shape) => low::visit(self, shape, visits, found),
                None => whole::visit(self, visits, found),
            }
        };
        tasks::try_each(ranges, visit_all)
    }

    /// The visits of each prefix.
    fn by_prefix<'v, V: Visit>(&self, visits: &'v [V]) -> impl Iterator<Item = &'v [V]> {
        let low_mask = self.low_mask();
        visits.chunk_by(move |one, other| (one.visited() ^ other.visited()) & !low_mask == 0)
    }

    /// Compares keys of queries with stored ones that begin like what they visit.
    fn compare(&self, keys: &[u64], stored: &[u64], found: &mut Found<'_, F>) {
        join::between(self.level, keys, stored, self.k, |key, stored| {
            if self.hands_on(key ^ stored) {
                self.push(key, stored, found);
            }
        });
    }

    fn push(&self, key: u64, stored: u64, found: &mut Found<'_, F>) {
        let permutation = self.probed.table.permutation();
        let fingerprint = |key| of_key(permutation.fingerprint(key));
        found.push(fingerprint(key), fingerprint(stored));
    }

    /// Whether a match with this difference is handed on from this table.
    #[inline]
    fn hands_on(&self, difference: u64) -> bool {
        self.may_hand_on(difference, u64::MAX)
    }

    /// Whether a match may be handed on from this table, whose difference is 0 in those bits that
    /// are not visible.
    #[inline]
    fn may_hand_on(&self, difference: u64, visible: u64) -> bool {
        let by_later = |top: &Top| top.mask & !visible == 0 && top.admits(difference);
        self.top.admits(difference) && !self.later.iter().any(by_later)
    }

    /// How low parts are to be compared.
    fn low_shape(&self) -> Shape {
        let table = self.probed.table;
        batch_low::shape(table, |mask| self.most_within(mask), |mask| self.differs_within(mask))
    }

    /// The most bits in which a match that is handed on from this table may differ within `mask`. In
    /// the top of each later table it differs in more than its threshold.
    fn most_within(&self, mask: u64) -> u32 {
        let (mut outside, mut most) = (!mask, self.k);
        for top in &self.later {
            if top.mask & !outside == 0 {
                outside &= !top.mask;
                most = most.saturating_sub(top.threshold + 1);
            }
        }
        most
    }

    /// Whether every match that is handed on from this table differs in some bit within `mask`.
    fn differs_within(&self, mask: u64) -> bool {
        self.later.iter().any(|top| top.mask & !mask == 0)
    }

    fn low_mask(&self) -> u64 {
        u64::MAX.checked_shr(self.probed.prefix_bits).unwrap_or(0)
    }

    fn prefix(&self, key: u64) -> u64 {
        key & !self.low_mask()
    }

    /// The least and the greatest key with the prefix of `key`.
    fn range(&self, key: u64) -> (u64, u64) {
        (self.prefix(key), key | self.low_mask())
    }
}

/// The first block from `start` on whose last key is not below `key`; the number of blocks if there
/// is none. Takes time logarithmic in the distance.
fn seek(table: &Table, mut start: u64, key: u64) -> u64 {
    /// Blocks that are looked at one after the other: a branch that a CPU predicts costs less than
    /// some fewer that it does not.
    const NEAR: u64 = 8;
    let blocks = table.block_count();
    let near = blocks.min(start + NEAR);
    while start < near {
        if table.last_key(start) >= key {
            return start;
        }
        start += 1;
    }
    let mut step = 1;
    while start + step <= blocks && table.last_key(start + step - 1) < key {
        start += step;
        step *= 2;
    }
    let mut end = blocks.min(start + step - 1).max(start);
    while start < end {
        let middle = start + (end - start) / 2;
        if table.last_key(middle) < key { start = middle + 1 } else { end = middle }
    }
    start
}
