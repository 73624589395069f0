//! How a search within a radius goes through a hot index.

use super::{HotIndex, Layout, PART_BITS, part_mask};
use crate::costs::{Costs, SearchCosts};
use crate::cover::{self, Claim};
use crate::flips;
use crate::simd::Level;

/// Runs of a search at most: all are found before the first is compared, which takes 8 bytes and
/// some nanoseconds for each.
pub(crate) const MOST_RUNS: u32 = 1 << 14;

/// How a search within a radius goes: by runs of some parts, or through all fingerprints.
pub(crate) struct HotPlan {
    /// The parts whose runs are looked up, ascending; `None` if it takes less time to compare
    /// everything.
    pub(crate) claims: Option<HotClaims>,
    work: HotWork,
    /// The same of a comparison of everything.
    whole: HotWork,
    /// Bytes of the index.
    bytes: f64,
}

/// What a search by runs looks into.
pub(crate) struct HotClaims {
    /// The number of each part.
    pub(crate) parts: Vec<usize>,
    /// What it claims, in the order of the bits of a fingerprint.
    pub(crate) claims: Vec<Claim>,
}

/// What a search does, on average over queries like the fingerprints of the index.
#[derive(Clone, Copy)]
struct HotWork {
    parts: f64,
    runs: f64,
    keys: f64,
}

impl HotWork {
    fn ns(self, bytes: f64, c: &SearchCosts) -> f64 {
        let missing = c.missing(bytes);
        self.parts * (c.hot_part_ns + missing * c.hot_part_dram_ns)
            + self.runs * (c.hot_run_ns + missing * c.hot_run_dram_ns)
            + self.keys * (key_ns(c) + missing * c.hot_key_dram_ns)
    }
}

/// The predicted time of a search within `k` in a hot index of so many uniform fingerprints, in
/// nanoseconds; `None` if there can be none.
pub(crate) fn uniform_ns(bits: u32, count: u64, k: u32, c: &SearchCosts) -> Option<f64> {
    let layout = Layout::new(bits, count)?;
    // The stored fingerprint that is asked for, and others by chance.
    let run_keys = 1.0 + layout.count as f64 / f64::from(layout.prefix_bits).exp2();
    let plan = HotPlan::of_layout(layout, &vec![run_keys; layout.parts()], k);
    Some(plan.search_ns(c))
}

/// A key that is compared.
fn key_ns(c: &SearchCosts) -> f64 {
    if Level::best().is_avx512() { c.hot_key_avx512_ns } else { c.hot_key_ns }
}

impl HotPlan {
    pub(super) fn new(index: &HotIndex, k: u32) -> Self {
        Self::of_layout(index.layout, &index.run_keys, k)
    }

    /// For an index of this layout, and for each part the keys of the run that a query is in, on
    /// average.
    fn of_layout(layout: Layout, run_keys: &[f64], k: u32) -> Self {
        let c = &Costs::shipped().search;
        let bytes = layout.bytes() as f64;
        let whole = HotWork { parts: 0.0, runs: 1.0, keys: layout.count as f64 };
        // A part as a whole has so many ways to differ, and its prefixes may have less.
        let prefix_bits = layout.prefix_bits;
        let work = |part: usize, flips: u32| {
            let runs = flips::ways(prefix_bits, flips.min(prefix_bits));
            HotWork { parts: 1.0, runs, keys: runs * run_keys[part] }
        };
        let ns = |part: usize, flips: u32| work(part, flips).ns(bytes, c);
        let added = |part: usize, flips: u32| match flips.checked_sub(1) {
            Some(less) => ns(part, flips) - ns(part, less),
            None => ns(part, flips),
        };
        let (parts, whole_ns) = (layout.parts(), whole.ns(bytes, c));
        let steps = cover::allot(parts, k as usize + 1, whole_ns, added);
        let by_all = Self { claims: None, work: whole, whole, bytes };
        if steps.len() <= k as usize {
            return by_all;
        }
        let used = cover::flips(parts, &steps).into_iter().enumerate();
        let used: Vec<(usize, u32)> =
            used.filter_map(|(part, flips)| Some((part, flips?))).collect();
        let works = used.iter().map(|&(part, flips)| work(part, flips));
        let work = works.reduce(|one, other| HotWork {
            parts: one.parts + other.parts,
            runs: one.runs + other.runs,
            keys: one.keys + other.keys,
        });
        let Some(work) =
            work.filter(|work| work.runs <= f64::from(MOST_RUNS) && work.ns(bytes, c) < whole_ns)
        else {
            return by_all;
        };
        let claim = |&(part, flips): &(usize, u32)| Claim { mask: part_mask(part), flips };
        let claims = used.iter().map(claim).collect();
        let parts = used.iter().map(|&(part, _)| part).collect();
        Self { claims: Some(HotClaims { parts, claims }), work, whole, bytes }
    }

    /// Whether it takes more than half of the time that it takes to compare everything.
    pub(crate) fn is_long(&self) -> bool {
        let c = &Costs::shipped().search;
        2.0 * self.work.ns(self.bytes, c) > self.whole.ns(self.bytes, c)
    }

    /// The predicted time of a search, in nanoseconds.
    pub(crate) fn search_ns(&self, c: &SearchCosts) -> f64 {
        c.query_ns + self.work.ns(self.bytes, c)
    }
}

const _: () = assert!(u64::BITS.is_multiple_of(PART_BITS) && u32::BITS.is_multiple_of(PART_BITS));
