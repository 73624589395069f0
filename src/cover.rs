//! Which bits of a fingerprint a search looks into, how many of them may differ, and which of
//! several looks reports a match.
//!
//! A search is a list of *claims*, in the order in which it goes through them. Each covers some
//! bits of a fingerprint, and finds whatever differs from the query in up to so many of these.
//! Together they find everything within k. What several of them find is reported by one of them:
//! by the last, or by the first.

/// Where two fingerprints differ, as far as that is known; `B` are bits of them.
pub(crate) trait Difference<B>: Copy {
    /// Whether certainly no more than so many of these bits differ.
    fn is_within(self, bits: B, flips: u32) -> bool;
}

/// The bits in which a key differs from a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Differs {
    pub(crate) bits: u64,
    /// Those that were looked at.
    pub(crate) seen: u64,
}

impl Differs {
    /// All bits were looked at.
    #[inline(always)]
    pub(crate) fn all(bits: u64) -> Self {
        Self { bits, seen: u64::MAX }
    }
}

impl Difference<u64> for Differs {
    /// Bits that were not seen may differ.
    #[inline(always)]
    fn is_within(self, bits: u64, flips: u32) -> bool {
        bits & !self.seen == 0 && (bits & self.bits).count_ones() <= flips
    }
}

/// One look of a search: it finds every key that differs from the query in up to `flips` bits of
/// `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim<B = u64> {
    pub(crate) mask: B,
    pub(crate) flips: u32,
}

impl<B> Claim<B> {
    /// Whether it certainly finds a key.
    #[inline(always)]
    pub(crate) fn finds(self, differs: impl Difference<B>) -> bool {
        differs.is_within(self.mask, self.flips)
    }
}

/// The rule that reports each match once. A claim that finds a key reports it unless one of the
/// `others` does: all claims behind it, or all before it, over the same order of bits as `differs`.
/// Where not all bits were seen, several may report a key. None is reported by nobody.
#[inline(always)]
pub(crate) fn reports<B>(
    others: impl IntoIterator<Item = Claim<B>>,
    differs: impl Difference<B>,
) -> bool {
    !others.into_iter().any(|claim| claim.finds(differs))
}

/// One step to a larger radius: one more bit of a part may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) part: usize,
    /// Bits of the part that may differ from now on.
    pub(crate) flips: u32,
    /// The cost of all steps so far.
    pub(crate) total: f64,
}

/// Allots flips to disjoint parts: after the first k + 1 steps every key within k is found by some
/// part.
///
/// This is the general pigeonhole (Qin et al., *GPH: Similarity Search in Hamming Space*, ICDE
/// 2018). Take thresholds such that the sum of (threshold + 1) over the parts is k + 1. A key that
/// exceeds all of them differs in at least k + 1 bits.
///
/// `added` gives the cost of so many flips of a part on top of those of one less. It grows with the
/// flips, so that taking the cheapest step each time gives the least sum. Ends after `most` steps,
/// or with the first that takes the total over `limit`.
pub(crate) fn allot(
    parts: usize,
    most: usize,
    limit: f64,
    added: impl Fn(usize, u32) -> f64,
) -> Vec<Step> {
    let mut next = vec![0; parts];
    let (mut steps, mut total) = (Vec::new(), 0.0);
    while steps.len() < most && total <= limit {
        let costs = next.iter().enumerate().map(|(part, &flips)| (part, added(part, flips)));
        let Some((part, cost)) = costs.min_by(|(_, one), (_, other)| one.total_cmp(other)) else {
            break;
        };
        total += cost;
        steps.push(Step { part, flips: next[part], total });
        next[part] += 1;
    }
    steps
}

/// The flips that [`allot`] gives to each of so many parts that cost the same: to those that are
/// needed, the first ones.
pub(crate) fn evenly(parts: u32, k: u32) -> impl ExactSizeIterator<Item = u32> {
    let units = k + 1;
    let flips = move |part| units / parts + u32::from(part < units % parts) - 1;
    (0..parts.min(units)).map(flips)
}

/// The least cost at which disjoint parts find every key within k, and the flips of each part, as
/// [`flips`] has them. The costs may be any: `costs[part]` has those of 0, 1, ... flips, up to k or
/// to all bits of the part, with which it finds everything by itself. Infinite where there is no
/// part with all of these.
pub(crate) fn cheapest<C: AsRef<[f64]>>(
    k: u32,
    parts: impl IntoIterator<Item = (u32, C)>,
) -> (f64, Vec<Option<u32>>) {
    // A part with so many flips, or all of its bits, gives that many units and one more; least[u]
    // is the least cost of u units, the last one of all that are needed or more. For each part, by
    // units, how many there were before it, and its flips.
    let needed = k as usize + 1;
    let mut least = vec![f64::INFINITY; needed + 1];
    least[0] = 0.0;
    let mut steps: Vec<Vec<(usize, Option<u32>)>> = Vec::new();
    for (bits, costs) in parts {
        let before = least.clone();
        let mut step: Vec<_> = (0..=needed).map(|units| (units, None)).collect();
        for (units, known) in before.iter().enumerate().take(needed) {
            for (flips, cost) in (0u32..).zip(costs.as_ref()) {
                let more = if flips >= bits { needed } else { flips as usize + 1 };
                let to = (units + more).min(needed);
                if known + cost < least[to] {
                    least[to] = known + cost;
                    step[to] = (units, Some(flips));
                }
            }
        }
        steps.push(step);
    }
    let mut flips = vec![None; steps.len()];
    let mut units = needed;
    for (flips, step) in flips.iter_mut().zip(&steps).rev() {
        (units, *flips) = step[units];
    }
    (least[needed], flips)
}

/// The flips of each part after some steps; `None` for one that is not needed.
pub(crate) fn flips(parts: usize, steps: &[Step]) -> Vec<Option<u32>> {
    let mut flips = vec![None; parts];
    steps.iter().for_each(|step| flips[step.part] = Some(step.flips));
    flips
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::flips::ways;

    /// The cost of a threshold of a part of so many bits, of which a look takes so long.
    fn cost(bits: u32, look: f64, threshold: u32) -> f64 {
        look * ways(bits, threshold)
    }

    /// All ways to give the parts thresholds whose sum with 1 for each used part is `units`.
    fn allotments(parts: usize, units: u32) -> Vec<Vec<Option<u32>>> {
        if parts == 0 {
            return if units == 0 { vec![Vec::new()] } else { Vec::new() };
        }
        let with = |own: u32| {
            let others = allotments(parts - 1, units - own).into_iter();
            others.map(move |mut others| {
                others.push(own.checked_sub(1));
                others
            })
        };
        (0..=units).flat_map(with).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Against enumeration: the least cost of all allotments.
        #[test]
        fn no_allotment_costs_less(
            // With fewer bits the costs of three flips would not grow any more.
            parts in prop::collection::vec((6u32..12, 1u32..100), 1..5), k in 0u32..4,
        ) {
            let price = |part: usize, flips: u32| cost(parts[part].0, parts[part].1.into(), flips);
            let added = |part: usize, flips: u32| {
                price(part, flips) - flips.checked_sub(1).map_or(0.0, |less| price(part, less))
            };
            let steps = allot(parts.len(), k as usize + 1, f64::INFINITY, added);
            let total = |flips: &[Option<u32>]| -> f64 {
                let of = flips.iter().enumerate();
                of.filter_map(|(part, flips)| Some(price(part, (*flips)?))).sum()
            };
            let all = allotments(parts.len(), k + 1);
            let least = all.iter().map(|one| total(one)).fold(f64::INFINITY, f64::min);
            let found = flips(parts.len(), &steps);
            prop_assert!(all.contains(&found), "{found:?}");
            prop_assert!((total(&found) - least).abs() <= 1e-9 * least, "{found:?}");
            prop_assert!((steps[k as usize].total - least).abs() <= 1e-9 * least);
        }

        /// Against enumeration, with costs of any kind: the least cost of all flips that find
        /// every way to spread k differing bits over the parts.
        #[test]
        fn no_flips_that_find_everything_cost_less(
            parts in prop::collection::vec((1u32..4, any::<[u8; 5]>()), 1..4), k in 0u32..5,
        ) {
            let parts: Vec<(u32, Vec<f64>)> = parts
                .into_iter()
                .map(|(bits, costs)| {
                    let costs = costs.iter().map(|&cost| f64::from(cost)).take(k.min(bits) as usize + 1);
                    (bits, costs.collect())
                })
                .collect();
            let spreads = |most: &dyn Fn(usize) -> u32| -> Vec<Vec<u32>> {
                (0..parts.len()).fold(vec![Vec::new()], |all, part| {
                    let with = |own: &Vec<u32>, next| [&own[..], &[next]].concat();
                    all.iter().flat_map(|own| (0..=most(part)).map(move |next| with(own, next))).collect()
                })
            };
            let errors: Vec<_> = spreads(&|part| parts[part].0);
            let errors: Vec<_> = errors.iter().filter(|one| one.iter().sum::<u32>() <= k).collect();
            // One more than the flips of each part, or 0.
            let finds = |units: &Vec<u32>| {
                errors.iter().all(|errors| errors.iter().zip(units).any(|(errors, units)| errors < units))
            };
            let cost = |units: &Vec<u32>| -> f64 {
                let of = units.iter().zip(&parts);
                of.filter_map(|(&units, (_, costs))| costs.get(units.checked_sub(1)? as usize)).sum()
            };
            let all = spreads(&|part| parts[part].1.len() as u32);
            let least = all.iter().filter(|units| finds(units)).map(cost).fold(f64::INFINITY, f64::min);
            let (found, flips) = cheapest(k, parts.iter().map(|(bits, costs)| (*bits, costs)));
            let units: Vec<u32> = flips.iter().map(|flips| flips.map_or(0, |flips| flips + 1)).collect();
            prop_assert!(finds(&units), "{flips:?}");
            prop_assert_eq!((found, cost(&units)), (least, least), "{:?}", flips);
        }

        #[test]
        fn even_flips_are_what_parts_of_the_same_cost_are_allotted(parts in 1u32..40, k in 0u32..80) {
            let steps = allot(parts as usize, k as usize + 1, f64::INFINITY, |_, flips| flips.into());
            let mut even: Vec<Option<u32>> = evenly(parts, k).map(Some).collect();
            even.resize(parts as usize, None);
            prop_assert_eq!(even, flips(parts as usize, &steps));
        }

        /// Against enumeration of the differences of 12 bits: each within k is reported once, by
        /// one that finds it.
        #[test]
        fn each_difference_within_k_is_reported_once(
            cuts in prop::collection::btree_set(1u32..12, 0..4), k in 0u32..8,
            looks in any::<[u8; 5]>(),
        ) {
            let ends: Vec<u32> = cuts.into_iter().chain([12]).collect();
            let starts = [0].into_iter().chain(ends.iter().copied());
            let ranges: Vec<_> = starts.zip(&ends).map(|(start, &end)| start..end).collect();
            let added = |part: usize, flips: u32| {
                f64::from(looks[part]) + f64::from(flips) * f64::from(ranges[part].end)
            };
            let steps = allot(ranges.len(), k as usize + 1, f64::INFINITY, added);
            let claims: Vec<Claim> = flips(ranges.len(), &steps)
                .into_iter()
                .zip(&ranges)
                .filter_map(|(flips, range)| {
                    let mask = (1u64 << range.end) - (1 << range.start);
                    Some(Claim { mask, flips: flips? })
                })
                .collect();
            for bits in (0..1u64 << 12).filter(|bits| bits.count_ones() <= k) {
                let differs = Differs::all(bits);
                let reporting = (0..claims.len()).filter(|&at| {
                    claims[at].finds(differs) && reports(claims[at + 1..].iter().copied(), differs)
                });
                prop_assert_eq!(reporting.count(), 1, "{:b} of {:?}", bits, claims);
                let first = (0..claims.len()).filter(|&at| {
                    claims[at].finds(differs) && reports(claims[..at].iter().copied(), differs)
                });
                prop_assert_eq!(first.count(), 1, "{:b} of {:?}", bits, claims);
            }
        }
    }

    #[test]
    fn a_claim_over_bits_that_were_not_seen_finds_nothing() {
        let claim = Claim { mask: 0b1100, flips: 1 };
        assert!(claim.finds(Differs { bits: 0b0101, seen: 0b1110 }));
        assert!(!claim.finds(Differs { bits: 0b0101, seen: 0b1011 }));
        assert!(!claim.finds(Differs::all(0b1100)));
        assert!(reports([], Differs::all(0)));
    }

    #[test]
    fn steps_end_where_they_cost_too_much() {
        let steps = allot(2, 10, 5.0, |_, flips| f64::from(flips) + 1.0);
        let totals: Vec<f64> = steps.iter().map(|step| step.total).collect();
        assert_eq!(totals, [1.0, 2.0, 4.0, 6.0]);
        assert_eq!(flips(3, &steps), [Some(1), Some(1), None]);
        assert_eq!(allot(0, 3, 1.0, |_, _| 1.0), []);
    }
}
