//! Which parts a batch is streamed by: those with the least predicted time.

use super::part::{MOST_QUERIES, Part};
use super::steps::join_ns;
use super::turn;
use crate::costs::Costs;
use crate::cover;
use crate::fingerprint::Fingerprint;
use crate::flips;
use crate::permute::Permutation;
use crate::segment::Segment;
use crate::simd::Level;
use crate::snapshot::Snapshot;

/// The largest radius: beyond it, the halves of too many queries and fingerprints are near each
/// other by chance.
const MOST_K: u32 = 6;
/// Most parts, and the largest radius for which there are several: beyond it the engine of joins
/// took less time, by up to 20% at k = 5 and 50% at k = 7 (2^20 fingerprints, 2^17 queries).
const MOST_PARTS: u32 = 3;
const MOST_K_OF_PARTS: u32 = 4;
/// Most leading bits by which queries are looked up, and most values of these that a group of
/// fingerprints looks at.
const MOST_LISTED_BITS: u32 = 20;
const MOST_FLIPS: f64 = 4096.0;
/// So many numbers of listed bits are tried besides the largest one that could be of use.
const LISTED_BITS_TRIED: u32 = 8;
/// Keys with the same leading bits that a further part leaves in no order, as a power of two.
const UNSORTED_KEYS_BITS: u32 = 4;

/// How a batch is streamed.
#[derive(Clone, Debug)]
pub(in crate::query::batch) struct SweepPlan {
    /// What keys are joined by.
    pub(super) parts: Vec<Part>,
    /// Keys that are turned together.
    pub(super) together: u64,
}

impl SweepPlan {
    /// The plan with the least predicted time for so many queries, and this in nanoseconds of one
    /// thread, where `together` fingerprints may be in memory; `None` if there is none for this
    /// radius.
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
        let size = Size::new(snapshot, queries, together);
        let largest = snapshot.segments().iter().max_by_key(|segment| segment.count());
        let tables = largest.and_then(|segment| segment.thresholds(k)).unwrap_or_default();
        let tops = tables.iter().map(|(table, most)| Part::of_table(table, *most)).collect();
        let by_tops = size.of_parts(tops, costs);
        let (ns, parts) = match size.of_ranges::<F>(k, costs) {
            by_ranges if by_ranges.0 <= by_tops.0 => by_ranges,
            _ => by_tops,
        };
        ns.is_finite().then_some((ns, Self { parts, together: size.together }))
    }
}

/// What is joined.
struct Size {
    /// The number of fingerprints of each segment, and the orders in which it has them.
    segments: Vec<(f64, Vec<Permutation>)>,
    /// All fingerprints.
    all: f64,
    together: u64,
    queries: f64,
}

impl Size {
    fn new<F: Fingerprint>(snapshot: &Snapshot<F>, queries: u64, together: u64) -> Self {
        let of = |segment: &Segment<F>| {
            let orders = segment.orders().map(|table| table.permutation().clone());
            (segment.count() as f64, orders.collect())
        };
        let segments: Vec<_> = snapshot.segments().iter().map(|segment| of(segment)).collect();
        let all = segments.iter().map(|(count, _)| count).sum::<f64>();
        let together = together.min(all as u64).max(1);
        Self { segments, all, together, queries: queries as f64 }
    }

    /// The predicted time by parts that are the tops of tables. Infinite if there are less than
    /// two, or too many are to be turned: the queries of all of these are in memory together.
    fn of_parts(&self, tops: Vec<Part>, costs: &Costs) -> (f64, Vec<Part>) {
        let turned = tops.iter().filter(|part| self.turned(part) > 0.0).count();
        if tops.len() < 2 || turned >= MOST_PARTS as usize {
            return (f64::INFINITY, tops);
        }
        let timed = tops.into_iter().map(|part| self.part_ns(part, costs));
        let (ns, parts): (Vec<f64>, Vec<Part>) = timed.unzip();
        (self.whole_ns(ns.into_iter().sum(), &parts, costs), parts)
    }

    /// The least predicted time by ranges of about equal length.
    fn of_ranges<F: Fingerprint>(&self, k: u32, costs: &Costs) -> (f64, Vec<Part>) {
        let most_parts = if k > MOST_K_OF_PARTS { 1 } else { MOST_PARTS.min(k + 1) };
        let by = |count| {
            let (ns, parts) = self.in_ranges::<F>(count, k, costs);
            (self.whole_ns(ns, &parts, costs), parts)
        };
        let timed = (1..=most_parts).map(by);
        timed.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, Vec::new()))
    }

    /// The time for these parts, which take so long by themselves.
    fn whole_ns(&self, parts_ns: f64, parts: &[Part], costs: &Costs) -> f64 {
        let c = &costs.sweep;
        let sorted = parts.iter().filter(|part| !part.is_identity()).count() as f64;
        // Where something is turned, the identity tables are read for that.
        let reads = parts.iter().any(|part| part.is_identity() || self.turned(part) > 0.0);
        let read = if reads { self.all } else { 0.0 };
        c.start_ns
            + (c.query_ns + c.sort_query_ns * sorted) * self.queries
            + c.read_ns * read
            + parts_ns
    }

    /// The segments that have their fingerprints in the order of a part: the number of fingerprints
    /// of each.
    fn direct(&self, part: &Part) -> impl Iterator<Item = f64> {
        let has = |(_, orders): &&(f64, Vec<Permutation>)| {
            orders.iter().any(|order| part.is_order_of(order))
        };
        self.segments.iter().filter(has).map(|(count, _)| *count)
    }

    /// Fingerprints that are to be turned for a part.
    fn turned(&self, part: &Part) -> f64 {
        (self.all - self.direct(part).sum::<f64>()).max(0.0)
    }

    /// The cheapest parts among `count` ranges of about equal length, and their predicted time.
    fn in_ranges<F: Fingerprint>(&self, count: u32, k: u32, costs: &Costs) -> (f64, Vec<Part>) {
        let part = |number: u32, most: u32| {
            let (start, end) = (number * F::BITS / count, (number + 1) * F::BITS / count);
            self.part_ns(Part::of_range::<F>(start, end - start, most), costs)
        };
        // Of each range, by how many bits may differ: the time, and the part.
        let of_range = |number| (0..=k).map(|most| part(number, most)).unzip();
        let ranges: Vec<(Vec<f64>, Vec<Part>)> = (0..count).map(of_range).collect();
        let by_flips = ranges.iter().map(|(ns, parts)| (parts[0].bits, ns));
        let (ns, flips) = cover::cheapest(k, by_flips);
        let parts = ranges
            .into_iter()
            .zip(flips)
            .filter_map(|((_, mut parts), flips)| Some(parts.swap_remove(flips? as usize)));
        (ns, parts.collect())
    }

    /// By how many bits keys are cut: those that are turned are sorted by no more than leave some
    /// of each value.
    fn cut_bits(&self, part: &Part, listed_bits: u32) -> u32 {
        if self.turned(part) == 0.0 {
            return u64::BITS;
        }
        let enough = self.together.ilog2().saturating_sub(UNSORTED_KEYS_BITS);
        part.bits.min(enough.max(listed_bits)).min(turn::MOST_BITS)
    }

    /// The predicted time to join all under a part, and the part with the best number of listed
    /// bits.
    fn part_ns(&self, part: Part, costs: &Costs) -> (f64, Part) {
        let c = &costs.sweep;
        let vector_ns = c.vector_ns(Level::best());
        let turned = self.turned(&part);
        let ns = |part: &Part| {
            let join = |keys: f64| join_ns(part, keys, self.queries, c, vector_ns);
            let mut ns = self.direct(part).map(join).sum::<f64>();
            if !part.is_identity() {
                ns += c.read_ns * self.direct(part).sum::<f64>();
            }
            if turned > 0.0 {
                let rounds = (turned / self.together as f64).ceil().max(1.0);
                ns += rounds * join(turned / rounds) + c.sort_ns * turned;
            }
            ns
        };
        // With less than a query of each value, most of what is looked up is empty; with many,
        // lists are long.
        let enough = self.queries.max(1.0).log2() as u32;
        let most = part.bits.min(MOST_LISTED_BITS).min(enough);
        let parts = (most.saturating_sub(LISTED_BITS_TRIED)..=most)
            .map(|listed_bits| Part {
                listed_bits,
                cut_bits: self.cut_bits(&part, listed_bits),
                ..part.clone()
            })
            .filter(|part| flips::ways(part.listed_bits, part.most) <= MOST_FLIPS);
        let timed = parts.map(|part| (ns(&part), part));
        timed
            .min_by(|one, other| one.0.total_cmp(&other.0))
            .unwrap_or((f64::INFINITY, part.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(exponent: u32, queries: f64, k: u32) -> (f64, SweepPlan) {
        let all = f64::from(exponent).exp2();
        let segments = vec![(all, vec![Permutation::new(&[])])];
        let size = Size { segments, all, together: 1 << 24, queries };
        let (ns, parts) = size.of_ranges::<u64>(k, Costs::shipped());
        (ns, SweepPlan { parts, together: size.together })
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

    /// Against enumeration of all flips of the ranges that find everything.
    #[test]
    fn no_flips_of_ranges_take_less() {
        let costs = Costs::shipped();
        for (count, k, queries) in (1..=3)
            .flat_map(|count| (0..=5u32).map(move |k| (count, k, 10f64.powf(f64::from(k + 1)))))
        {
            let segments = vec![(1e7, vec![Permutation::new(&[])])];
            let size = Size { segments, all: 1e7, together: 1 << 20, queries };
            let range_ns = |number: u32, most: u32| {
                let (start, end) = (number * 64 / count, (number + 1) * 64 / count);
                size.part_ns(Part::of_range::<u64>(start, end - start, most), costs).0
            };
            // Of each range none, or so many flips and one.
            let mut least = f64::INFINITY;
            for units in 0..(k + 2).pow(count) {
                let of = |number: u32| units / (k + 2).pow(number) % (k + 2);
                if (0..count).map(of).sum::<u32>() > k {
                    let used = (0..count).filter(|&number| of(number) > 0);
                    least = least.min(used.map(|number| range_ns(number, of(number) - 1)).sum());
                }
            }
            let (ns, parts) = size.in_ranges::<u64>(count, k, costs);
            assert!((ns - least).abs() <= 1e-9 * least, "{count}, k = {k}: {ns}, not {least}");
            assert!(parts.iter().map(|part| part.most + 1).sum::<u32>() > k, "{parts:?}");
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
