//! Which parts a batch is streamed by: those with the least predicted time.

use super::part::{MOST_QUERIES, Part, Queries};
use super::steps::join_ns;
use super::turn;
use crate::costs::Costs;
use crate::fingerprint::Fingerprint;
use crate::flips;
use crate::simd::Level;
use crate::snapshot::Snapshot;

/// The largest radius: beyond it, the halves of too many queries and fingerprints are near each other by chance.
const MOST_K: u32 = 6;
/// Most parts, and the largest radius for which there are several: beyond it the engine of joins took less time, by up to 20%
/// at k = 5 and 50% at k = 7 (2^20 fingerprints, 2^17 queries).
const MOST_PARTS: u32 = 3;
const MOST_K_OF_PARTS: u32 = 4;
/// Most leading bits by which queries are looked up, and most values of these that a group of fingerprints looks at.
const MOST_LISTED_BITS: u32 = 20;
const MOST_FLIPS: f64 = 4096.0;
/// So many numbers of listed bits are tried besides the largest one that could be of use.
const LISTED_BITS_TRIED: u32 = 8;
/// Keys with the same leading bits that a further part leaves in no order, as a power of two.
const UNSORTED_KEYS_BITS: u32 = 4;

/// How a batch is streamed.
#[derive(Clone, Debug)]
pub(in crate::query::batch) struct StreamPlan {
    /// What keys are joined by; the first part has the leading bits.
    pub(super) parts: Vec<Part>,
    /// Keys that are sorted together by further parts.
    pub(super) together: u64,
}

impl StreamPlan {
    /// The plan with the least predicted time for so many queries, and this in nanoseconds of one thread, where `together`
    /// fingerprints may be in memory; `None` if there is none for this radius.
    pub(in crate::query::batch) fn best<F: Fingerprint>(
        snapshot: &Snapshot<F>,
        queries: u64,
        k: u32,
        together: u64,
        costs: &Costs,
    ) -> Option<(f64, Self)> {
        if k > MOST_K || queries > MOST_QUERIES {
            return None;
        }
        let segments = snapshot.segments();
        let all = segments.iter().fold(0, |all: u64, segment| all.saturating_add(segment.count()));
        let size = Size {
            segments: segments.len().max(1) as f64,
            all: all as f64,
            together: together.min(all).max(1),
            queries: queries as f64,
        };
        Some(Self::of_size::<F>(&size, k, costs))
    }

    /// The same for what is joined.
    fn of_size<F: Fingerprint>(size: &Size, k: u32, costs: &Costs) -> (f64, Self) {
        let c = &costs.stream;
        let ns = c.start_ns + c.query_ns * size.queries + costs.join.read_ns * size.all;
        let most_parts = if k > MOST_K_OF_PARTS { 1 } else { MOST_PARTS.min(k + 1) };
        let mut best = (f64::INFINITY, Vec::new());
        for count in 1..=most_parts {
            let sorted = c.sort_query_ns * f64::from(count - 1) * size.queries;
            let (joined, parts) = size.cheapest::<F>(&[], count, k + 1, costs);
            let ns = ns + sorted + joined;
            if ns < best.0 {
                best = (ns, parts);
            }
        }
        (best.0, Self { parts: best.1, together: size.together })
    }

    /// The queries with these keys, which ascend strictly, in the order of each part.
    pub(super) fn queries<F: Fingerprint>(&self, keys: &[u64]) -> Vec<Queries> {
        self.parts.iter().map(|part| Queries::new::<F>(keys, *part)).collect()
    }
}

/// What is joined.
struct Size {
    /// Number of segments, and fingerprints of all of them.
    segments: f64,
    all: f64,
    together: u64,
    queries: f64,
}

impl Size {
    /// The cheapest parts, of `count` in all, that follow on `parts`, and their predicted time. What the thresholds, each and one more, add
    /// up to is `errors` for them all: by the general pigeonhole they then miss no pair.
    fn cheapest<F: Fingerprint>(
        &self,
        parts: &[Part],
        count: u32,
        errors: u32,
        costs: &Costs,
    ) -> (f64, Vec<Part>) {
        let number = parts.len() as u32;
        if number == count {
            return (0.0, parts.to_vec());
        }
        let left = count - number - 1;
        let least = if left == 0 { errors } else { 1 };
        let mut best = (f64::INFINITY, Vec::new());
        for share in least..=errors - left {
            let (start, end) = (number * F::BITS / count, (number + 1) * F::BITS / count);
            let (bits, most) = (end - start, share - 1);
            let part = Part { start, bits, most, listed_bits: 0, cut_bits: bits };
            let (ns, part) = self.part_ns(part, costs);
            let parts = [parts, &[part]].concat();
            let (others, parts) = self.cheapest::<F>(&parts, count, errors - share, costs);
            if ns + others < best.0 {
                best = (ns + others, parts);
            }
        }
        best
    }

    /// By how many bits keys are cut: those of a further part are sorted by no more than leave some of each value.
    fn cut_bits(&self, part: &Part, listed_bits: u32) -> u32 {
        if part.start == 0 {
            return part.bits;
        }
        let enough = self.together.ilog2().saturating_sub(UNSORTED_KEYS_BITS);
        part.bits.min(enough.max(listed_bits)).min(turn::MOST_BITS)
    }

    /// The predicted time to join all under a part, and the part with the best number of listed bits.
    fn part_ns(&self, part: Part, costs: &Costs) -> (f64, Part) {
        let c = &costs.stream;
        let vector_ns = c.vector_ns(Level::best());
        let ns = |part: &Part| {
            let join = |keys: f64| join_ns(part, keys, self.queries, c, vector_ns);
            if part.start == 0 {
                return self.segments * join(self.all / self.segments);
            }
            let rounds = (self.all / self.together as f64).ceil().max(1.0);
            rounds * join(self.all / rounds) + c.sort_ns * self.all
        };
        // With less than a query of each value, most of what is looked up is empty; with many, lists are long.
        let enough = self.queries.max(1.0).log2() as u32;
        let most = part.bits.min(MOST_LISTED_BITS).min(enough);
        let parts = (most.saturating_sub(LISTED_BITS_TRIED)..=most)
            .map(|listed_bits| Part {
                listed_bits,
                cut_bits: self.cut_bits(&part, listed_bits),
                ..part
            })
            .filter(|part| flips::ways(part.listed_bits, part.most) <= MOST_FLIPS);
        let timed = parts.map(|part| (ns(&part), part));
        timed.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(exponent: u32, queries: f64, k: u32) -> (f64, StreamPlan) {
        let all = f64::from(exponent).exp2();
        let size = Size { segments: 1.0, all, together: 1 << 24, queries };
        StreamPlan::of_size::<u64>(&size, k, Costs::shipped())
    }

    #[test]
    fn more_fingerprints_take_longer_and_each_of_them_less() {
        for k in [0, 1, 3, 5] {
            for queries in [1e3, 1e6, 1e7] {
                let times: Vec<f64> = (20..=40).map(|n| best(n, queries, k).0).collect();
                for two in times.windows(2) {
                    // Twice as many, and lists hardly longer; what is best changes.
                    assert!(two[0] < two[1] && two[1] < 2.1 * two[0], "{k} {queries}: {times:?}");
                }
            }
        }
    }

    #[test]
    fn a_dense_store_is_streamed_by_its_leading_bits_alone() {
        let (ns, plan) = best(33, 2f64.powi(20), 3);
        assert_eq!(plan.parts.len(), 1);
        assert!(ns < 20.0 * 2f64.powi(33), "{ns}");
        assert!(best(24, 2f64.powi(20), 3).1.parts.len() > 1);
    }
}
