//! Which bits of a fingerprint a search looks into, how many of them may differ, and which of
//! several looks reports a match.
//!
//! A search is a list of *claims*, in the order in which it goes through them. Each covers some
//! bits of a fingerprint, and finds whatever differs from the query in up to so many of these.
//! Together they find everything within k. What several of them find is reported by one of them:
//! by the last, or by the first.

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

/// One look of a search: it finds every key that differs from the query in up to `flips` bits of
/// `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) mask: u64,
    pub(crate) flips: u32,
}

impl Claim {
    /// Whether it certainly finds a key. Bits that were not seen may differ.
    #[inline(always)]
    pub(crate) fn finds(self, Differs { bits, seen }: Differs) -> bool {
        self.mask & !seen == 0 && (self.mask & bits).count_ones() <= self.flips
    }
}

/// The rule that reports each match once. A claim that finds a key reports it unless one of the
/// `others` does: all claims behind it, or all before it, over the same order of bits as `differs`.
/// Where not all bits were seen, several may report a key. None is reported by nobody.
#[inline(always)]
pub(crate) fn reports(others: impl IntoIterator<Item = Claim>, differs: Differs) -> bool {
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
    use crate::flips;

    /// The cost of a threshold of a part of so many bits, of which a look takes so long.
    fn cost(bits: u32, look: f64, threshold: u32) -> f64 {
        look * flips::ways(bits, threshold)
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
            parts in prop::collection::vec((4u32..12, 1u32..100), 1..5), k in 0u32..4,
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
