//! Decides how a group of fingerprints is joined: compared pair by pair, or split by parts of its
//! bits first.
//!
//! The parts play the role of the tables of a design. With e bits that may differ in disjoint parts
//! of about equal width the general pigeonhole gives each a threshold τ ([`cover::evenly`]), so
//! that every pair differs in at most τ bits of some part. It is looked for under the first such
//! part only ([`cover::reports`]), so it is found once, and nothing has to be remembered. With τ =
//! 0 only groups that agree in the part are joined; with τ > 0 also groups whose parts differ in up
//! to τ bits.
//!
//! What is known from the parts on the way lowers e: a pair that an earlier part reports is none of
//! this one, so what is left differs there in more than τ bits, and these cannot differ elsewhere.

use super::compare;
use super::mask::Mask;
use crate::costs::JoinCosts;
use crate::cover::{self, Claim};
use crate::fingerprint::{Fingerprint, bytes_of};
use crate::flips;
use crate::simd::Level;

/// Most bits of a part with a threshold.
const MAX_NEIGHBOUR_BITS: u32 = 22;

/// What the steps of a join cost at a level of vector instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// A pair that is compared.
    pair_ns: f64,
    /// A fingerprint in a pass of a partition.
    pass_ns: f64,
    steps: JoinCosts,
}

impl Prices {
    /// Of fingerprints of this width within `k`.
    pub(super) fn new<F: Fingerprint>(costs: &JoinCosts, level: Level, k: u32) -> Self {
        // Nothing is free: what is divided by these stays a number.
        let least = |ns: f64| ns.max(1e-6);
        let pair_ns = costs.pair_ns(level) * compare::words_compared::<F>(k) as f64;
        // Wider ones are moved by a pass, and read, word by word.
        let words = (bytes_of::<F>() as f64 / 8.0).max(1.0);
        let pass_ns = costs.pass_ns + costs.pass_word_ns * (words - 1.0);
        Self { pair_ns: least(pair_ns), pass_ns: least(pass_ns), steps: *costs }
    }

    /// Number of keys of a group from which a split can be worth while.
    pub(super) fn small_keys(&self) -> f64 {
        2.0 * self.pass_ns / self.pair_ns
    }

    /// Whether comparing all of a group is less work than any split.
    #[inline(always)]
    pub(super) fn is_small(&self, size: Size) -> bool {
        size.pairs * self.pair_ns <= size.keys * self.pass_ns
    }
}

/// What is known of the pairs that are to be found in a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope<F> {
    /// Bits in which they agree.
    pub(super) equal: Mask<F>,
    /// What others report.
    pub(super) earlier: Vec<Claim<Mask<F>>>,
    /// What a fingerprint of the group counts for progress.
    pub(super) weight: f64,
}

impl<F: Fingerprint> Scope<F> {
    /// Whether a pair with this difference is to be found here.
    #[inline]
    pub(super) fn admits(&self, difference: Mask<F>) -> bool {
        (difference & self.equal).is_empty()
            && cover::reports(self.earlier.iter().copied(), difference)
    }

    /// What is known of pairs under part number `number` of `parts`.
    pub(super) fn under(&self, parts: &[SplitPart<F>], number: usize) -> Self {
        let Claim { mask, flips } = parts[number];
        let equal = if flips == 0 { self.equal | mask } else { self.equal };
        let earlier = self.earlier.iter().chain(&parts[..number]).copied().collect();
        Self { equal, earlier, weight: 0.0 }
    }

    /// How many bits of `bits` can differ at most, if those outside of `varying` cannot; `None` if
    /// no pair is possible.
    fn budget(&self, k: u32, varying: Mask<F>, bits: Mask<F>) -> Option<u32> {
        let (mut elsewhere, mut taken) = (0, bits);
        for claim in &self.earlier {
            let (mask, least) = (claim.mask & varying, claim.flips + 1);
            if mask.count() < least {
                return None;
            }
            if (mask & taken).is_empty() {
                taken = taken | mask;
                elsewhere += least;
            }
        }
        k.checked_sub(elsewhere)
    }
}

/// A part: some bits, and how many of them may differ, τ.
pub(super) type SplitPart<F> = Claim<Mask<F>>;

/// How to join a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JoinStep<F> {
    /// There can be no pair.
    Nothing,
    /// Compare all.
    Compare,
    /// Split by each of these parts.
    Split(Vec<SplitPart<F>>),
}

/// The size of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Fingerprints, of both sides.
    pub(super) keys: f64,
    /// Pairs to compare.
    pub(super) pairs: f64,
    /// Whether both sides are one.
    pub(super) one_side: bool,
}

impl Size {
    /// The size of a group with so many fingerprints on each side.
    pub(super) fn new<const SIDES: usize>(lengths: [usize; SIDES]) -> Self {
        let lengths = lengths.map(|length| length as f64);
        match lengths[..] {
            [only] => {
                Self { keys: only, pairs: only * (only - 1.0).max(0.0) / 2.0, one_side: true }
            }
            _ => Self {
                keys: lengths.iter().sum(),
                pairs: lengths.iter().product(),
                one_side: false,
            },
        }
    }
}

/// The plan with the least predicted work for a group in which the bits `varying` are not the same
/// everywhere.
pub(super) fn plan<F: Fingerprint>(
    scope: &Scope<F>,
    k: u32,
    varying: Mask<F>,
    size: Size,
    prices: &Prices,
) -> JoinStep<F> {
    best(scope, k, varying, size, prices).1
}

/// The predicted work of [`plan`], in nanoseconds, for uniform fingerprints.
pub(super) fn predict<F: Fingerprint>(
    scope: &Scope<F>,
    k: u32,
    varying: Mask<F>,
    size: Size,
    prices: &Prices,
) -> f64 {
    best(scope, k, varying, size, prices).0
}

fn best<F: Fingerprint>(
    scope: &Scope<F>,
    k: u32,
    varying: Mask<F>,
    size: Size,
    prices: &Prices,
) -> (f64, JoinStep<F>) {
    let free = varying & !scope.equal;
    if scope.budget(k, free, Mask::default()).is_none() {
        return (0.0, JoinStep::Nothing);
    }
    // No part takes less.
    let least_ns = prices.steps.part_ns + prices.pass_ns * size.keys;
    let constrained = scope.earlier.iter().fold(Mask::default(), |all, claim| all | claim.mask);
    let mut best = (size.pairs * prices.pair_ns, JoinStep::Compare);
    let single = scope.earlier.iter().map(|claim| claim.mask & free);
    if best.0 <= least_ns {
        return best;
    }
    for bits in [free & !constrained, free].into_iter().chain(single) {
        let Some(budget) = scope.budget(k, free, bits) else {
            return (0.0, JoinStep::Nothing);
        };
        for parts in 1..=(budget + 1).min(bits.count()) {
            if f64::from(parts) * least_ns >= best.0 {
                break;
            }
            let parts = cut(bits, parts, budget, size);
            let work = parts.iter().map(|part| part_work(*part, size, prices)).sum::<f64>();
            if work < best.0 {
                best = (work, JoinStep::Split(parts));
            }
        }
    }
    best
}

/// Cuts `bits` into `parts` parts with thresholds that cover `budget`, those with more bits for
/// more.
fn cut<F: Fingerprint>(bits: Mask<F>, parts: u32, budget: u32, size: Size) -> Vec<SplitPart<F>> {
    let (width, mut rest) = (bits.count(), bits);
    let part = |(number, flips): (u32, u32)| {
        let mask = rest.first(width / parts + u32::from(number < width % parts));
        rest = rest & !mask;
        // Groups of some keys: smaller ones only take longer to visit.
        let enough = (size.keys.log2() as u32).saturating_sub(3).clamp(1, MAX_NEIGHBOUR_BITS);
        SplitPart { mask: if flips == 0 { mask } else { mask.first(enough) }, flips }
    };
    (0..parts).zip(cover::evenly(parts, budget)).map(part).collect()
}

/// The predicted work of one part, in nanoseconds, for fingerprints that are uniform in it.
fn part_work<F: Fingerprint>(part: SplitPart<F>, size: Size, prices: &Prices) -> f64 {
    let Prices { pair_ns, pass_ns, steps } = prices;
    let bits = part.mask.count();
    let groups = f64::from(bits).exp2();
    let passes = (f64::from(bits).min(size.keys.log2()) / steps.pass_bits).ceil().max(1.0);
    let sort = steps.part_ns + pass_ns * size.keys * passes;
    let neighbours = flips::ways(bits, part.flips);
    let compare = size.pairs * (neighbours / groups).min(1.0) * pair_ns;
    if part.flips == 0 {
        return sort + compare;
    }
    let visits = groups.min(size.keys) * neighbours / if size.one_side { 2.0 } else { 1.0 };
    let near = f64::from(bits) <= steps.near_bits;
    let visit_ns = if near { steps.visit_near_ns } else { steps.visit_far_ns };
    sort + pass_ns * size.keys + compare + visits * visit_ns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Prices of the measurements, with 0.06 ns for a pair.
    const PRICES: Prices =
        Prices { pair_ns: 0.06, pass_ns: 3.0, steps: crate::costs::Costs::shipped().join };

    /// These bits.
    fn mask(bits: u64) -> Mask<u64> {
        Mask::difference(bits, 0)
    }

    fn size(keys: f64) -> Size {
        Size { keys, pairs: keys * keys / 2.0, one_side: true }
    }

    #[test]
    fn parts_are_disjoint_and_their_thresholds_cover_the_budget() {
        for budget in 0..20 {
            for parts in 1..=budget + 1 {
                let bits = mask(0xFFFF_F0FF_FF0F_FFFF);
                let cut = cut(bits, parts, budget, size(1e6));
                let all = cut.iter().fold(mask(0), |all, part| {
                    assert!((all & part.mask).is_empty());
                    all | part.mask
                });
                assert!((all & !bits).is_empty());
                assert_eq!(cut.iter().map(|part| part.flips + 1).sum::<u32>(), budget + 1);
            }
        }
    }

    proptest! {
        /// Against enumeration of the differences of 14 bits, over two levels of parts: each within
        /// k is reported under one of all.
        #[test]
        fn each_difference_within_k_is_reported_under_one_part(
            k in 0u32..7, bits in 0u64..1 << 14, inner_bits in 0u64..1 << 14, counts in any::<[u8; 2]>(),
            keys in 2f64..1e6,
        ) {
            let split = |scope: &Scope<u64>, bits: u64, count: u8| {
                let bits = mask(bits) & !scope.equal;
                let budget = scope.budget(k, mask((1 << 14) - 1) & !scope.equal, bits)?;
                let parts = 1 + u32::from(count) % (budget + 1).min(bits.count()).max(1);
                let parts = if bits.is_empty() { Vec::new() } else { cut(bits, parts, budget, size(keys)) };
                let scopes = (0..parts.len()).map(|number| scope.under(&parts, number));
                Some(parts.iter().copied().zip(scopes).collect::<Vec<_>>())
            };
            let outer = Scope::default();
            let outer = split(&outer, bits, counts[0]).unwrap();
            for difference in (0u64..1 << 14).filter(|bits| bits.count_ones() <= k) {
                let finds = |part: &SplitPart<u64>| part.finds(mask(difference));
                let found = |parts: &[(SplitPart<u64>, Scope<u64>)]| {
                    let admits = |(part, scope): &&(SplitPart<u64>, Scope<u64>)| {
                        finds(part) && scope.admits(mask(difference))
                    };
                    parts.iter().filter(admits).count()
                };
                prop_assert!(outer.is_empty() || found(&outer) == 1, "{:b}", difference);
                // What is near in a part is compared, and not split again.
                for (part, scope) in outer.iter().filter(|(part, _)| part.flips == 0) {
                    let is_here = finds(part) && scope.admits(mask(difference));
                    match split(scope, inner_bits, counts[1]) {
                        None => prop_assert!(!is_here, "no pair, and {:b}", difference),
                        Some(inner) if inner.is_empty() => {}
                        Some(inner) => prop_assert_eq!(found(&inner), usize::from(is_here)),
                    }
                }
            }
        }
    }

    #[test]
    fn the_paper_s_four_tables_are_chosen_at_three() {
        let JoinStep::Split(parts) = plan(&Scope::default(), 3, Mask::all(), size(4e6), &PRICES)
        else {
            panic!("four million are not compared one by one");
        };
        assert_eq!(parts.iter().map(|part| part.flips).collect::<Vec<_>>(), [0; 4]);
        assert!(parts.iter().all(|part| part.mask.count() == 16));
        // Under the last part the others differ in one bit each, and no more can differ.
        let scope = Scope::default().under(&parts, 3);
        assert_eq!(scope.budget(3, Mask::all(), mask(0)), Some(0));
        assert_eq!(scope.budget(3, Mask::all(), parts[0].mask), Some(1));
        assert!(scope.admits(mask(1 << 63 | 1 << 40 | 1 << 20)));
        assert!(!scope.admits(mask(1 << 63 | 1 << 40 | 1 << 3)));
        assert!(!scope.admits(mask(1 << 40 | 1 << 20)));
    }

    #[test]
    fn few_fingerprints_are_compared_and_large_radii_too() {
        let plan =
            |scope: &Scope<u64>, k, varying, keys| plan(scope, k, varying, size(keys), &PRICES);
        assert_eq!(plan(&Scope::default(), 3, Mask::all(), 60.0), JoinStep::Compare);
        assert_eq!(plan(&Scope::default(), 60, Mask::all(), 1e5), JoinStep::Compare);
        // More flips than fit into what varies.
        let earlier = vec![Claim { mask: mask(0xFF), flips: 1 }];
        let scope = Scope { earlier, ..Scope::default() };
        assert_eq!(plan(&scope, 3, mask(0xFF01), 1e5), JoinStep::Nothing);
    }
}
