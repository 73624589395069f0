//! Decides how a group of fingerprints is joined: compared pair by pair, or split by parts of its
//! bits first.
//!
//! The parts play the role of the tables of a design. With e bits that may differ in m disjoint
//! parts with thresholds τ, where the τ + 1 add up to e + 1, every pair differs in at most τ bits
//! of some part. It is looked for under the first such part only, so it is found once, and nothing
//! has to be remembered. With τ = 0 only groups that agree in the part are joined; with τ > 0 also
//! groups whose parts differ in up to τ bits.
//!
//! What is known from the parts on the way lowers e: a pair that was not to be found under an
//! earlier part differs there, and these bits cannot differ elsewhere.

use super::digit::first_bits;
use crate::costs::JoinCosts;
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
    pub(super) fn new(costs: &JoinCosts, level: Level) -> Self {
        // Nothing is free: what is divided by these stays a number.
        let least = |ns: f64| ns.max(1e-6);
        Self { pair_ns: least(costs.pair_ns(level)), pass_ns: least(costs.pass_ns), steps: *costs }
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
pub(super) struct Scope {
    /// Bits in which they agree.
    pub(super) equal: u64,
    /// Masks, and how many of their bits differ at least.
    pub(super) differ: Vec<(u64, u32)>,
    /// What a fingerprint of the group counts for progress.
    pub(super) weight: f64,
}

impl Scope {
    /// Whether a pair with this difference is to be found here.
    #[inline]
    pub(super) fn admits(&self, difference: u64) -> bool {
        let differs = |&(mask, least): &(u64, u32)| (difference & mask).count_ones() >= least;
        difference & self.equal == 0 && self.differ.iter().all(differs)
    }

    /// What is known of pairs under part number `number` of `parts`.
    pub(super) fn under(&self, parts: &[SplitPart], number: usize) -> Self {
        let SplitPart { mask, most } = parts[number];
        let equal = if most == 0 { self.equal | mask } else { self.equal };
        let earlier = parts[..number].iter().map(|part| (part.mask, part.most + 1));
        let differ = self.differ.iter().copied().chain(earlier).collect();
        Self { equal, differ, weight: 0.0 }
    }

    /// How many bits of `bits` can differ at most, if those outside of `varying` cannot; `None` if
    /// no pair is possible.
    fn budget(&self, k: u32, varying: u64, bits: u64) -> Option<u32> {
        let (mut elsewhere, mut taken) = (0, bits);
        for &(mask, least) in &self.differ {
            let mask = mask & varying;
            if mask.count_ones() < least {
                return None;
            }
            if mask & taken == 0 {
                taken |= mask;
                elsewhere += least;
            }
        }
        k.checked_sub(elsewhere)
    }
}

/// A part: some bits, and how many of them may differ, τ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SplitPart {
    pub(super) mask: u64,
    pub(super) most: u32,
}

/// How to join a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JoinStep {
    /// There can be no pair.
    Nothing,
    /// Compare all.
    Compare,
    /// Split by each of these parts.
    Split(Vec<SplitPart>),
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
pub(super) fn plan(scope: &Scope, k: u32, varying: u64, size: Size, prices: &Prices) -> JoinStep {
    best(scope, k, varying, size, prices).1
}

/// The predicted work of [`plan`], in nanoseconds, for uniform fingerprints.
pub(super) fn predict(scope: &Scope, k: u32, varying: u64, size: Size, prices: &Prices) -> f64 {
    best(scope, k, varying, size, prices).0
}

fn best(scope: &Scope, k: u32, varying: u64, size: Size, prices: &Prices) -> (f64, JoinStep) {
    let free = varying & !scope.equal;
    if scope.budget(k, free, 0).is_none() {
        return (0.0, JoinStep::Nothing);
    }
    let constrained = scope.differ.iter().fold(0, |all, &(mask, _)| all | mask);
    let mut best = (size.pairs * prices.pair_ns, JoinStep::Compare);
    let single = scope.differ.iter().map(|&(mask, _)| mask & free);
    for bits in [free & !constrained, free].into_iter().chain(single) {
        let Some(budget) = scope.budget(k, free, bits) else {
            return (0.0, JoinStep::Nothing);
        };
        let width = bits.count_ones();
        for parts in 1..=(budget + 1).min(width) {
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
fn cut(bits: u64, parts: u32, budget: u32, size: Size) -> Vec<SplitPart> {
    let (width, sum) = (bits.count_ones(), budget + 1);
    let mut rest = bits;
    let part = |number: u32| {
        let share = |whole: u32| whole / parts + u32::from(number < whole % parts);
        let most = share(sum) - 1;
        let mask = first_bits(rest, share(width));
        rest &= !mask;
        // Groups of some keys: smaller ones only take longer to visit.
        let enough = (size.keys.log2() as u32).saturating_sub(3).clamp(1, MAX_NEIGHBOUR_BITS);
        SplitPart { mask: if most == 0 { mask } else { first_bits(mask, enough) }, most }
    };
    (0..parts).map(part).collect()
}

/// The predicted work of one part, in nanoseconds, for fingerprints that are uniform in it.
fn part_work(part: SplitPart, size: Size, prices: &Prices) -> f64 {
    let Prices { pair_ns, pass_ns, steps } = prices;
    let bits = part.mask.count_ones();
    let groups = f64::from(bits).exp2();
    let passes = (f64::from(bits).min(size.keys.log2()) / steps.pass_bits).ceil().max(1.0);
    let sort = steps.part_ns + pass_ns * size.keys * passes;
    let neighbours: f64 = (0..=part.most).map(|flips| binomial(bits, flips)).sum();
    let compare = size.pairs * (neighbours / groups).min(1.0) * pair_ns;
    if part.most == 0 {
        return sort + compare;
    }
    let visits = groups.min(size.keys) * neighbours / if size.one_side { 2.0 } else { 1.0 };
    let near = f64::from(bits) <= steps.near_bits;
    let visit_ns = if near { steps.visit_near_ns } else { steps.visit_far_ns };
    sort + pass_ns * size.keys + compare + visits * visit_ns
}

fn binomial(n: u32, k: u32) -> f64 {
    (0..k.min(n + 1)).fold(1.0, |product, i| product * f64::from(n - i) / f64::from(i + 1))
}

/// All differences of up to `most` of `bits` bits, none first.
pub(crate) fn flips(bits: u32, most: u32) -> Vec<u32> {
    let mut flips = vec![0u32];
    let mut start = 0;
    for _ in 0..most.min(bits) {
        let end = flips.len();
        for i in start..end {
            // Each with one more flip above its highest.
            let above = 32 - flips[i].leading_zeros();
            flips.extend((above..bits).map(|bit| flips[i] | 1 << bit).collect::<Vec<_>>());
        }
        start = end;
    }
    flips
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prices of the measurements, with 0.06 ns for a pair.
    const PRICES: Prices =
        Prices { pair_ns: 0.06, pass_ns: 3.0, steps: crate::costs::Costs::shipped().join };

    fn size(keys: f64) -> Size {
        Size { keys, pairs: keys * keys / 2.0, one_side: true }
    }

    #[test]
    fn flips_are_all_differences_of_up_to_so_many_bits() {
        for (bits, most) in [(1, 1), (5, 0), (7, 3), (10, 10)] {
            let mut found = flips(bits, most);
            found.sort_unstable();
            let expected: Vec<u32> =
                (0..1 << bits).filter(|x: &u32| x.count_ones() <= most).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn parts_are_disjoint_and_their_thresholds_cover_the_budget() {
        for budget in 0..20 {
            for parts in 1..=budget + 1 {
                let cut = cut(0xFFFF_F0FF_FF0F_FFFF, parts, budget, size(1e6));
                let all = cut.iter().fold(0, |all, part| {
                    assert_eq!(all & part.mask, 0);
                    all | part.mask
                });
                assert_eq!(all & !0xFFFF_F0FF_FF0F_FFFF, 0);
                assert_eq!(cut.iter().map(|part| part.most + 1).sum::<u32>(), budget + 1);
            }
        }
    }

    #[test]
    fn the_paper_s_four_tables_are_chosen_at_three() {
        let JoinStep::Split(parts) = plan(&Scope::default(), 3, u64::MAX, size(4e6), &PRICES)
        else {
            panic!("four million are not compared one by one");
        };
        assert_eq!(parts.iter().map(|part| part.most).collect::<Vec<_>>(), [0; 4]);
        assert!(parts.iter().all(|part| part.mask.count_ones() == 16));
        // Under the last part the others differ in one bit each, and no more can differ.
        let scope = Scope::default().under(&parts, 3);
        assert_eq!(scope.budget(3, u64::MAX, 0), Some(0));
        assert_eq!(scope.budget(3, u64::MAX, parts[0].mask), Some(1));
        assert!(scope.admits(1 << 63 | 1 << 40 | 1 << 20));
        assert!(!scope.admits(1 << 63 | 1 << 40 | 1 << 3));
        assert!(!scope.admits(1 << 40 | 1 << 20));
    }

    #[test]
    fn few_fingerprints_are_compared_and_large_radii_too() {
        assert_eq!(plan(&Scope::default(), 3, u64::MAX, size(60.0), &PRICES), JoinStep::Compare);
        assert_eq!(plan(&Scope::default(), 60, u64::MAX, size(1e5), &PRICES), JoinStep::Compare);
        // More flips than fit into what varies.
        let scope = Scope { differ: vec![(0xFF, 2)], ..Scope::default() };
        assert_eq!(plan(&scope, 3, 0xFF01, size(1e5), &PRICES), JoinStep::Nothing);
    }
}
