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

use super::compare;
use super::mask::Mask;
use crate::costs::JoinCosts;
use crate::fingerprint::{Fingerprint, bytes_of};
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
    /// Masks, and how many of their bits differ at least.
    pub(super) differ: Vec<(Mask<F>, u32)>,
    /// What a fingerprint of the group counts for progress.
    pub(super) weight: f64,
}

impl<F: Fingerprint> Scope<F> {
    /// Whether a pair with this difference is to be found here.
    #[inline]
    pub(super) fn admits(&self, difference: Mask<F>) -> bool {
        let differs = |&(mask, least): &(Mask<F>, u32)| (difference & mask).count() >= least;
        (difference & self.equal).is_empty() && self.differ.iter().all(differs)
    }

    /// What is known of pairs under part number `number` of `parts`.
    pub(super) fn under(&self, parts: &[SplitPart<F>], number: usize) -> Self {
        let SplitPart { mask, most } = parts[number];
        let equal = if most == 0 { self.equal | mask } else { self.equal };
        let earlier = parts[..number].iter().map(|part| (part.mask, part.most + 1));
        let differ = self.differ.iter().copied().chain(earlier).collect();
        Self { equal, differ, weight: 0.0 }
    }

    /// How many bits of `bits` can differ at most, if those outside of `varying` cannot; `None` if
    /// no pair is possible.
    fn budget(&self, k: u32, varying: Mask<F>, bits: Mask<F>) -> Option<u32> {
        let (mut elsewhere, mut taken) = (0, bits);
        for &(mask, least) in &self.differ {
            let mask = mask & varying;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SplitPart<F> {
    pub(super) mask: Mask<F>,
    pub(super) most: u32,
}

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
    let constrained = scope.differ.iter().fold(Mask::default(), |all, &(mask, _)| all | mask);
    let mut best = (size.pairs * prices.pair_ns, JoinStep::Compare);
    let single = scope.differ.iter().map(|&(mask, _)| mask & free);
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
    let (width, sum) = (bits.count(), budget + 1);
    let mut rest = bits;
    let part = |number: u32| {
        let share = |whole: u32| whole / parts + u32::from(number < whole % parts);
        let most = share(sum) - 1;
        let mask = rest.first(share(width));
        rest = rest & !mask;
        // Groups of some keys: smaller ones only take longer to visit.
        let enough = (size.keys.log2() as u32).saturating_sub(3).clamp(1, MAX_NEIGHBOUR_BITS);
        SplitPart { mask: if most == 0 { mask } else { mask.first(enough) }, most }
    };
    (0..parts).map(part).collect()
}

/// The predicted work of one part, in nanoseconds, for fingerprints that are uniform in it.
fn part_work<F: Fingerprint>(part: SplitPart<F>, size: Size, prices: &Prices) -> f64 {
    let Prices { pair_ns, pass_ns, steps } = prices;
    let bits = part.mask.count();
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

    /// These bits.
    fn mask(bits: u64) -> Mask<u64> {
        Mask::difference(bits, 0)
    }

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
                let bits = mask(0xFFFF_F0FF_FF0F_FFFF);
                let cut = cut(bits, parts, budget, size(1e6));
                let all = cut.iter().fold(mask(0), |all, part| {
                    assert!((all & part.mask).is_empty());
                    all | part.mask
                });
                assert!((all & !bits).is_empty());
                assert_eq!(cut.iter().map(|part| part.most + 1).sum::<u32>(), budget + 1);
            }
        }
    }

    #[test]
    fn the_paper_s_four_tables_are_chosen_at_three() {
        let JoinStep::Split(parts) = plan(&Scope::default(), 3, Mask::all(), size(4e6), &PRICES)
        else {
            panic!("four million are not compared one by one");
        };
        assert_eq!(parts.iter().map(|part| part.most).collect::<Vec<_>>(), [0; 4]);
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
        let scope = Scope { differ: vec![(mask(0xFF), 2)], ..Scope::default() };
        assert_eq!(plan(&scope, 3, mask(0xFF01), 1e5), JoinStep::Nothing);
    }
}
