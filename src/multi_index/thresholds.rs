//! How many bits may differ in each part, so that together the part tables find everything within
//! k, with the least predicted work.
//!
//! [`cover::allot`] has the rule that makes them enough.

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

/// The steps of a segment: after the first k + 1 of them all within k is found.
pub(super) struct Steps {
    steps: Vec<Step>,
    scan_ns: f64,
}

impl Steps {
    /// For parts with these headers, of fingerprints of so many bits; up to the step that costs
    /// more than a scan.
    pub(super) fn new(parts: &[&PartHeader], bits: u32, count: u64) -> Self {
        let scan_ns = costs().row_byte_ns * count as f64 * f64::from(bits / 8);
        let works: Vec<PartWork> = parts.iter().map(|part| PartWork::new(part)).collect();
        let added = |part: usize, threshold: u32| works[part].added_ns(threshold);
        let steps = cover::allot(parts.len(), bits as usize + 1, scan_ns, added);
        Self { steps, scan_ns }
    }

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
pub(crate) fn plan(bits: u32, count: u64, k: u32) -> u16 {
    if count <= SMALL {
        return 0;
    }
    let most = bits / GROUP_BITS;
    let predicted = (0..=most as u16).map(|parts| (parts, predict(bits, parts, count, k)));
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
    Steps::new(&headers.iter().collect::<Vec<_>>(), bits, count).search_ns(k)
}

/// The headers of the part tables of uniform fingerprints.
pub(super) fn headers(bits: u32, parts: u16, count: u64) -> impl Iterator<Item = PartHeader> {
    writer::parts(bits, parts, count).map(move |part| PartHeader {
        header_bytes: PartHeader::HEADER_BYTES,
        fingerprint_bits: bits as u16,
        number: part.number,
        start_bit: part.start_bit,
        part_bits: part.part_bits,
        key_bits: part.key_bits() as u8,
        count,
        coincidences: 0,
        base_crc: 0,
    })
}

/// Groups and rows that a search looks at in a part with this threshold.
pub(super) fn work(part: &PartHeader, threshold: u32) -> (f64, f64) {
    let work = PartWork::new(part);
    (flips::ways(work.group_bits, threshold), work.rows * flips::ways(work.key_bits, threshold))
}

/// What a part asks for.
struct PartWork {
    key_bits: u32,
    group_bits: u32,
    /// Rows that have the key of a query, on average over the queries.
    rows: f64,
}

impl PartWork {
    fn new(part: &PartHeader) -> Self {
        let key_bits = u32::from(part.key_bits);
        let count = part.count.max(1) as f64;
        // Queries that are like what is stored meet the keys that many have.
        let like_stored = part.coincidences as f64 / count;
        let uniform = part.count as f64 / (1u64 << key_bits) as f64;
        Self { key_bits, group_bits: key_bits - GROUP_BITS, rows: like_stored.max(uniform) }
    }

    /// The time that a threshold adds to that of one less.
    fn added_ns(&self, threshold: u32) -> f64 {
        let added = |bits| {
            let before = threshold.checked_sub(1).map_or(0.0, |less| flips::ways(bits, less));
            flips::ways(bits, threshold) - before
        };
        let (groups, keys) = (added(self.group_bits), added(self.key_bits));
        costs().group_ns * groups + costs().row_ns * self.rows * keys
    }
}
