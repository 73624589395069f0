//! How many bits may differ in each part, so that together the part tables find everything within
//! k, with the least predicted work.
//!
//! [`cover::allot`] has the rule that makes them enough.

use std::array;

use super::writer;
use crate::costs::{Costs, SearchCosts};
use crate::cover::{self, Step};
use crate::flips;
use crate::format::{BaseHeader, GROUP_BITS, PartHeader};

/// The part of the time of a scan that the search for the nearest spends in part tables before it
/// knows how near they are.
const SCAN_SHARE: f64 = 0.125;

/// What the steps take.
fn costs() -> &'static SearchCosts {
    &Costs::shipped().search
}

/// The steps of a search: after the first k + 1 of them all within k is found.
pub(super) struct Steps {
    steps: Vec<Step>,
    scan_ns: f64,
}

/// What searches cost in the parts of a segment.
pub(super) struct PartCosts {
    parts: Vec<PartWork>,
    bits: u32,
    pub(super) scan_ns: f64,
    /// Whether all keys have about as many rows.
    is_even: bool,
}

impl PartCosts {
    /// For parts with these headers, of fingerprints of so many bits.
    pub(super) fn new(parts: &[&PartHeader], bits: u32, count: u64) -> Self {
        let scan_ns = costs().row_byte_ns * count as f64 * f64::from(bits / 8);
        let parts: Vec<PartWork> = parts.iter().map(|part| PartWork::new(part)).collect();
        let is_even = parts.iter().all(PartWork::is_even);
        Self { parts, bits, scan_ns, is_even }
    }

    /// The steps up to the one that costs more than a scan: for the average query.
    pub(super) fn steps(&self) -> Steps {
        let added = |part: usize, threshold: u32| self.parts[part].added_ns(threshold);
        self.allot(self.bits as usize + 1, added)
    }

    /// Whether the rows around the keys of a query make a difference.
    pub(super) fn is_even(&self) -> bool {
        self.is_even
    }

    /// The same for a query, of which it is known how many rows are around its key in each part;
    /// `most` of them at most.
    /// With `is_few` no part has another threshold than 0, and only its own rows are known.
    pub(super) fn steps_of(&self, most: usize, is_few: bool, around: &[Around]) -> Steps {
        if is_few {
            let own = |part: usize| costs().group_ns + costs().row_ns * f64::from(around[part].own);
            let costs: Vec<f64> = (0..self.parts.len()).map(own).collect();
            let added = |part: usize, threshold: u32| match threshold {
                0 => costs[part],
                _ => f64::INFINITY,
            };
            return self.allot(most, added);
        }
        let parts = self.parts.iter().zip(around);
        let costs: Vec<_> = parts.map(|(part, around)| part.added_around_ns(*around)).collect();
        let added = |part: usize, threshold: u32| {
            costs[part].get(threshold as usize).copied().unwrap_or(f64::INFINITY)
        };
        self.allot(most, added)
    }

    pub(super) fn allot(&self, most: usize, added: impl Fn(usize, u32) -> f64) -> Steps {
        let steps = cover::allot(self.parts.len(), most, self.scan_ns, added);
        Steps { steps, scan_ns: self.scan_ns }
    }
}

impl Steps {
    /// The steps that find all within `k`; `None` if a scan of the base takes less time.
    pub(super) fn within(&self, k: u32) -> Option<&[Step]> {
        let steps = self.steps.get(..=k as usize)?;
        steps.last().filter(|last| last.total <= self.scan_ns).map(|_| steps)
    }

    /// The step that adds `radius` to all lesser ones, for who looks for the nearest, knows that
    /// they are within `bound`, and has looked at so many groups and rows on the way; `None` if it
    /// is better to scan the base now.
    ///
    /// What part tables tell of far ones is little. So a scan is put off only as long as the steps
    /// have taken a small part of its time, or will have taken not much more than that time once
    /// they are at the bound.
    pub(super) fn widening(&self, radius: u32, bound: u32, work: (u64, u64)) -> Option<&Step> {
        let step = self.steps.get(radius as usize)?;
        let before = radius.checked_sub(1).map_or(0.0, |before| self.steps[before as usize].total);
        let spent = costs().group_ns * work.0 as f64 + costs().row_ns * work.1 as f64;
        let after = |step: &Step| spent + step.total - before;
        let is_cheap = after(step) <= SCAN_SHARE * self.scan_ns;
        let last = self.within(bound).and_then(<[Step]>::last);
        let ends = last.is_some_and(|last| after(last) <= (1.0 + SCAN_SHARE) * self.scan_ns);
        (is_cheap || ends).then_some(step)
    }

    /// The predicted time of a search within `k`, in nanoseconds.
    pub(super) fn search_ns(&self, k: u32) -> f64 {
        let last = self.within(k).and_then(<[Step]>::last);
        last.map_or(self.scan_ns, |last| last.total)
    }
}

/// Fingerprints up to which none but the base is written: to scan it takes some microseconds.
const SMALL: u64 = 1 << 12;

/// The number of parts with which a search within `k` of so many uniform fingerprints takes the
/// least time; of those that take hardly longer, the least number, which takes the least space.
pub(crate) fn plan_uniform(bits: u32, count: u64, k: u32) -> u16 {
    plan(bits, count, k, 0.5)
}

/// The same of fingerprints of which two differ in each bit with this probability.
pub(super) fn plan(bits: u32, count: u64, k: u32, differing: f64) -> u16 {
    if count <= SMALL {
        return 0;
    }
    let most = bits / GROUP_BITS;
    let predict = |parts| {
        let headers: Vec<_> = headers(bits, parts, count).collect();
        let headers: Vec<_> = headers.iter().collect();
        let mut costs = PartCosts::new(&headers, bits, count);
        costs.parts.iter_mut().for_each(|part| part.differing = differing);
        costs.steps().search_ns(k)
    };
    let predicted = (0..=most as u16).map(|parts| (parts, predict(parts)));
    let predicted: Vec<_> = predicted.collect();
    let best = predicted.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    let enough = predicted.iter().find(|(_, time)| *time <= best * 1.05);
    enough.map_or(0, |&(parts, _)| parts)
}

/// Bytes of the files of so many fingerprints with so many parts.
pub(crate) fn file_bytes(bits: u32, parts: u16, count: u64) -> u64 {
    let base = BaseHeader {
        header_bytes: BaseHeader::HEADER_BYTES,
        fingerprint_bits: bits as u16,
        part_count: parts,
        count,
        set_sum: 0,
    };
    let parts = headers(bits, parts, count).map(|part| part.geometry().body.file_bytes());
    base.body().file_bytes() + parts.sum::<u64>()
}

/// The predicted time of a search within `k` of so many uniform fingerprints in so many parts, in
/// nanoseconds.
pub(crate) fn predict(bits: u32, parts: u16, count: u64, k: u32) -> f64 {
    let headers: Vec<_> = headers(bits, parts, count).collect();
    uniform_steps(&headers, bits, count).search_ns(k)
}

/// The steps of parts with these headers.
pub(super) fn uniform_steps(parts: &[PartHeader], bits: u32, count: u64) -> Steps {
    PartCosts::new(&parts.iter().collect::<Vec<_>>(), bits, count).steps()
}

/// The headers of the part tables of uniform fingerprints.
pub(super) fn headers(bits: u32, parts: u16, count: u64) -> impl Iterator<Item = PartHeader> {
    let parts = (0..).zip(writer::ranges(bits, parts, count));
    parts.map(move |(number, part)| part.header(bits, number, count))
}

/// Groups and rows that a search looks at in a part with this threshold.
pub(super) fn work(part: &PartHeader, threshold: u32) -> (f64, f64) {
    let work = PartWork::new(part);
    (flips::ways(work.group_bits, threshold), work.rows * flips::ways(work.key_bits, threshold))
}

/// Thresholds of a query whose cost is told from what is around its key: more of them cost more
/// than any scan.
const THRESHOLDS: usize = 8;
/// How many more rows than of uniform fingerprints those have that are like what is stored, if keys
/// have about as many.
const EVEN: f64 = 1.25;

/// The rows around a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Around {
    /// Its own, those of the keys in its group that differ in one bit, and the others of the group.
    pub(super) own: u32,
    pub(super) beside: u32,
    pub(super) other: u32,
    /// Those of all groups that differ from its group in one bit.
    pub(super) around_group: u32,
}

/// What a part asks for.
struct PartWork {
    key_bits: u32,
    group_bits: u32,
    /// Rows that have the key of a query: on average over queries that are like what is stored, and
    /// over uniform ones.
    rows: f64,
    uniform_rows: f64,
    /// How often a bit of two keys differs, as far as `rows` does not tell.
    differing: f64,
    /// Groups that differ in 0, 1, ... bits.
    groups: [f64; THRESHOLDS],
}

impl PartWork {
    fn new(part: &PartHeader) -> Self {
        let key_bits = u32::from(part.key_bits);
        let count = part.count.max(1) as f64;
        // Queries that are like what is stored meet the keys that many have.
        let like_stored = part.coincidences as f64 / count;
        let uniform_rows = part.count as f64 / (1u64 << key_bits) as f64;
        let rows = like_stored.max(uniform_rows);
        let group_bits = key_bits - GROUP_BITS;
        let groups = array::from_fn(|flipped| flips::ways_of(group_bits, flipped as u32));
        Self { key_bits, group_bits, rows, uniform_rows, differing: 0.5, groups }
    }

    fn is_even(&self) -> bool {
        self.rows <= EVEN * self.uniform_rows
    }

    /// The time that a threshold adds to that of one less.
    fn added_ns(&self, threshold: u32) -> f64 {
        let groups = flips::ways_of(self.group_bits, threshold);
        let keys = flips::ways_of(self.key_bits, threshold);
        // Where bits seldom differ, a key has more rows, and one that differs in a bit fewer of
        // them.
        let odds = self.differing / (1.0 - self.differing);
        let of_key = (2.0 * (1.0 - self.differing)).powi(self.key_bits as i32);
        let rows = self.rows * of_key * odds.powi(threshold as i32);
        costs().group_ns * groups + costs().row_ns * rows * keys
    }

    /// The same for each threshold of a query.
    ///
    /// Keys further away have fewer rows. In the group of the key this is known. In others it is
    /// taken to be alike, and each bit in which a group differs to change the number of rows by the
    /// same factor.
    fn added_around_ns(&self, around: Around) -> [f64; THRESHOLDS] {
        /// Keys of a group that differ from one of them in 0, 1, and more bits.
        const KEYS: [f64; 3] = [1.0, 6.0, 57.0];
        /// The same in each number of bits.
        const OF_GROUP: [f64; THRESHOLDS] = [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0, 0.0];
        // What few rows show is chance.
        let floor = 0.25 * self.uniform_rows;
        let keys = KEYS.iter().sum::<f64>();
        let rows = [around.own, around.beside, around.other].map(f64::from);
        let of_group = rows.iter().sum::<f64>() / keys;
        let groups = f64::from(self.group_bits.max(1));
        let beside = f64::from(around.around_group) / (keys * groups);
        let factor = ((beside + floor) / (of_group + floor)).min(1.0);
        // Rows of a key, by the bits in which it differs within the group.
        let own: [f64; 3] = array::from_fn(|bits| rows[bits] / KEYS[bits]);
        let elsewhere = own.map(|rows| beside * (rows + floor) / (of_group + floor));
        // Rows of all keys within some bits.
        let within = |rows: [f64; 3]| {
            let mut sum = 0.0;
            OF_GROUP.iter().enumerate().map(move |(bits, keys)| {
                sum += keys * rows[bits.min(2)];
                sum
            })
        };
        let mut rows: [f64; THRESHOLDS] = [0.0; THRESHOLDS];
        rows.iter_mut().zip(within(own)).for_each(|(rows, own)| *rows = own);
        let mut share = 1.0;
        for flipped in 1..THRESHOLDS {
            let groups = self.groups[flipped] * share;
            for (rows, of_group) in rows[flipped..].iter_mut().zip(within(elsewhere)) {
                *rows += groups * of_group;
            }
            share *= factor;
        }
        let before = |threshold: usize| threshold.checked_sub(1).map_or(0.0, |less| rows[less]);
        array::from_fn(|threshold| {
            let added = rows[threshold] - before(threshold);
            costs().group_ns * self.groups[threshold] + costs().row_ns * added
        })
    }
}
