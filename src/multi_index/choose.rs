//! Chooses which bits make the keys of part tables, by a sample of the set.
//!
//! Bits of real fingerprints lean to one side, and go with others. A key of bits that go together
//! is shared by many rows, and a search compares all of these. So each bit goes, the most telling
//! ones first, to the part whose keys it sets apart best (Norouzi et al., section 4, propose to
//! keep correlated bits apart). Where that is no better than adjacent bits, as with uniform
//! fingerprints, parts stay ranges.

use std::iter;

use super::thresholds;
use super::writer::{PartBits, ranges};
use crate::fingerprint::{Fingerprint, file_bytes, words};
use crate::format::KeyBits;

/// Fingerprints of a sample, and pairs of them that are looked at.
const SAMPLE: u64 = 1 << 12;
const PAIRS: usize = 1 << 12;
/// Fingerprints without which nothing is known of a set.
const LEAST_SAMPLE: usize = 1 << 6;
/// The weight of a pair whose keys agree.
const WEIGHT: u32 = 1 << 18;
/// How much more pairs weigh in ranges than those of uniform fingerprints, and in ranges than in
/// masks, at least, where masks are taken.
const UNEVEN: f64 = 1.1;
const GAIN: f64 = 1.02;
/// What is left of the weight of a pair for each bit of uniform fingerprints: a bit differs in
/// every second pair, and takes half.
const AGREEING: f64 = 0.75;
/// How often a bit differs at least, as far as plans go.
const LEAST_DIFFERING: f64 = 0.05;

/// The part tables of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartLayout {
    /// How many there are: as given, or as planned for uniform fingerprints.
    pub(crate) count: u16,
    /// The radius that they are planned for, by what the set is like; `None` where their number is
    /// given.
    pub(crate) radius: Option<u32>,
}

impl PartLayout {
    /// For searches within a radius.
    pub(crate) fn planned(bits: u32, count: u64, radius: u32) -> Self {
        Self { count: thresholds::plan_uniform(bits, count, radius), radius: Some(radius) }
    }
}

/// Takes a sample of a set as that goes by: fingerprints at even distances.
pub(crate) struct Sampler<F> {
    count: u64,
    seen: u64,
    sample: Vec<F>,
}

impl<F: Fingerprint> Sampler<F> {
    /// Of a set of so many fingerprints.
    pub(crate) fn new(count: u64) -> Self {
        Self { count, seen: 0, sample: Vec::new() }
    }

    /// Goes past the next fingerprints.
    pub(crate) fn pass(&mut self, fingerprints: &[F]) {
        let end = self.seen + fingerprints.len() as u64;
        let size = SAMPLE.min(self.count);
        while (self.sample.len() as u64) < size {
            // Up to 2^32 fingerprints times the sample.
            let next = self.sample.len() as u64 * self.count / size;
            let Some(&one) =
                next.checked_sub(self.seen).and_then(|at| fingerprints.get(at as usize))
            else {
                break;
            };
            self.sample.push(one);
        }
        self.seen = end;
    }

    /// The bits of the keys of parts.
    pub(crate) fn choose(&self, layout: PartLayout) -> Vec<PartBits> {
        let ranges = |parts| -> Vec<PartBits> { ranges(F::BITS, parts, self.count).collect() };
        let adjacent = ranges(layout.count);
        if self.sample.len() < LEAST_SAMPLE || adjacent.is_empty() {
            return adjacent;
        }
        let pairs = Pairs::new(&self.sample, 1);
        let masks = assign(&pairs, F::BITS, &adjacent);
        // Others than those that the bits were assigned by.
        let others = Pairs::new(&self.sample, 2);
        let of_ranges: f64 = adjacent.iter().map(|part| others.weight_of(part.range())).sum();
        let of_masks: f64 = masks.iter().map(|bits| others.weight_of(bits.iter().copied())).sum();
        let uniform = |part: &PartBits| AGREEING.powi(part.key_bits as i32);
        let of_uniform = adjacent.iter().map(uniform).sum::<f64>();
        if of_ranges < UNEVEN * of_uniform || of_ranges < GAIN * of_masks {
            return adjacent;
        }
        // What a bit takes of the weight of a pair, on average, tells how often it differs.
        let key_bits = adjacent.iter().map(|part| part.key_bits).sum::<u32>() as f64;
        let parts = adjacent.len() as f64;
        let left = (of_masks / parts).powf(parts / key_bits);
        let differing = (2.0 * (1.0 - left)).clamp(LEAST_DIFFERING, 0.5);
        let planned = layout.radius.map(|k| thresholds::plan(F::BITS, self.count, k, differing));
        match planned.filter(|parts| ![0, layout.count].contains(parts)).map(ranges) {
            Some(others) => masked::<F>(&assign(&pairs, F::BITS, &others), &others),
            None => masked::<F>(&masks, &adjacent),
        }
    }
}

/// Parts of these bits, in place of ranges.
fn masked<F: Fingerprint>(masks: &[Vec<usize>], ranges: &[PartBits]) -> Vec<PartBits> {
    let parts = masks.iter().zip(ranges);
    parts.map(|(bits, part)| PartBits { keys: mask::<F>(bits), ..*part }).collect()
}

/// The mask of some bits, as a header has it.
fn mask<F: Fingerprint>(bits: &[usize]) -> KeyBits {
    let mut bytes = F::Bytes::default();
    bits.iter().for_each(|bit| bytes.as_mut()[bit / 8] |= 0x80 >> (bit % 8));
    let mut mask = [0; 32];
    let row = file_bytes(F::from_be_bytes(bytes));
    mask.iter_mut().zip(row.as_ref()).for_each(|(byte, of_row)| *byte = *of_row);
    KeyBits::Mask(mask)
}

/// Pairs of different fingerprints.
struct Pairs {
    /// For each bit, and each pair, all ones if the bit differs.
    differ: Vec<Vec<u32>>,
}

impl Pairs {
    fn new<F: Fingerprint>(sample: &[F], seed: u64) -> Self {
        let mut state = seed;
        let mut random = iter::repeat_with(|| {
            // SplitMix64: the same for every machine.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) as usize
        });
        let mut differ = vec![Vec::with_capacity(PAIRS); F::BITS as usize];
        for _ in 0..PAIRS {
            let (Some(one), Some(step)) = (random.next(), random.next()) else { break };
            let one = one % sample.len();
            let other = (one + 1 + step % (sample.len() - 1)) % sample.len();
            let width = F::BITS.min(64) as usize;
            let bits = words(sample[one]).zip(words(sample[other]));
            for ((one, other), differ) in bits.zip(differ.chunks_mut(width)) {
                for (bit, differ) in (0..width).rev().zip(differ) {
                    differ.push(0u32.wrapping_sub(((one ^ other) >> bit) as u32 & 1));
                }
            }
        }
        Self { differ }
    }

    /// What pairs weigh in a part of these bits, on average.
    fn weight_of(&self, bits: impl Iterator<Item = usize>) -> f64 {
        let mut weights = vec![WEIGHT; PAIRS];
        bits.for_each(|bit| lighten(&mut weights, &self.differ[bit]));
        let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        sum as f64 / (f64::from(WEIGHT) * PAIRS as f64)
    }
}

/// Has those pairs weigh less in a part that differ in one more bit of it.
fn lighten(weights: &mut [u32], differ: &[u32]) {
    for (weight, differ) in weights.iter_mut().zip(differ) {
        // Keys that differ in few bits meet as well: each bit takes half.
        *weight -= (*weight >> 1) & differ;
    }
}

/// What pairs that differ in a bit weigh in a part: what the bit is worth there.
fn worth(weights: &[u32], differ: &[u32]) -> u32 {
    // Up to 2^12 times 2^18.
    weights.iter().zip(differ).map(|(weight, differ)| weight & differ).sum()
}

/// Gives each part as many bits as its key has, the first bits of the fingerprint first.
fn assign(pairs: &Pairs, bits: u32, parts: &[PartBits]) -> Vec<Vec<usize>> {
    struct Filled {
        weights: Vec<u32>,
        bits: Vec<usize>,
        room: usize,
    }
    let part = |part: &PartBits| Filled {
        weights: vec![WEIGHT; PAIRS],
        bits: Vec::new(),
        room: part.key_bits as usize,
    };
    let mut filled: Vec<Filled> = parts.iter().map(part).collect();
    let telling = |bit: &usize| worth(&[1; PAIRS], &pairs.differ[*bit]);
    let mut order: Vec<usize> = (0..bits as usize).collect();
    order.sort_by_cached_key(|bit| std::cmp::Reverse(telling(bit)));
    for bit in order {
        let differ = &pairs.differ[bit];
        // All parts have about as many bits at any time.
        let open = filled.iter().filter(|part| part.room > 0);
        let Some(least) = open.map(|part| part.bits.len()).min() else { break };
        let open = filled.iter_mut().filter(|part| part.room > 0 && part.bits.len() == least);
        // The first of the best.
        let best = open
            .map(|part| (worth(&part.weights, differ), part))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        if let Some((_, part)) = best {
            lighten(&mut part.weights, differ);
            part.bits.push(bit);
            part.room -= 1;
        }
    }
    let bits = filled.into_iter().map(|mut part| {
        part.bits.sort_unstable();
        part.bits
    });
    bits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_sum;

    fn random(seed: u64) -> u64 {
        set_sum::term(seed) as u64
    }

    /// What a sampler takes that sees a set in pieces of `piece`.
    fn sampled(set: &[u128], piece: usize) -> Sampler<u128> {
        let mut sampler = Sampler::new(set.len() as u64);
        set.chunks(piece).for_each(|piece| sampler.pass(piece));
        sampler
    }

    fn chosen(set: &[u128], parts: u16) -> Vec<PartBits> {
        let chosen = sampled(set, 1000).choose(PartLayout { count: parts, radius: None });
        assert_eq!(chosen.len(), usize::from(parts));
        chosen
    }

    fn uniform(seed: u64) -> u128 {
        u128::from(random(2 * seed)) << 64 | u128::from(random(2 * seed + 1))
    }

    #[test]
    fn uniform_fingerprints_keep_ranges() {
        for count in [100, 5_000, 50_000] {
            let set: Vec<u128> = (0..count).map(uniform).collect();
            let chosen = chosen(&set, 8);
            assert!(chosen.iter().all(|part| matches!(part.keys, KeyBits::Range { .. })));
        }
    }

    #[test]
    fn bits_that_go_together_come_apart() {
        // Eight bits behind each other are the same, of which all parts but two have one.
        let wide = |seed| {
            let bits = random(seed) as u16;
            (0..16).fold(0u128, |all, bit| all << 8 | (u128::from(bits >> bit & 1) * 0xFF))
        };
        let set: Vec<u128> = (0..50_000).map(wide).collect();
        let parts = chosen(&set, 8);
        for part in &parts {
            let KeyBits::Mask(mask) = part.keys else { panic!("{part:?}") };
            let most = mask.iter().map(|byte| byte.count_ones()).max();
            assert!(most <= Some(2), "{part:?}");
            assert_eq!(mask.iter().map(|byte| byte.count_ones()).sum::<u32>(), part.key_bits);
        }
        // No bit is in two.
        let mut all = [0u8; 32];
        for part in &parts {
            let KeyBits::Mask(mask) = part.keys else { panic!("{part:?}") };
            assert!(all.iter().zip(mask).all(|(all, own)| all & own == 0));
            all.iter_mut().zip(mask).for_each(|(all, own)| *all |= own);
        }
    }

    #[test]
    fn bits_that_tell_nothing_are_left_out() {
        // Half of the bits are always the same.
        let set: Vec<u128> = (0..50_000).map(|seed| uniform(seed) | u128::from(u64::MAX)).collect();
        for part in chosen(&set, 4) {
            let KeyBits::Mask(mask) = part.keys else { panic!("{part:?}") };
            assert!(mask[..8].iter().all(|&byte| byte == 0), "{part:?}");
        }
    }

    #[test]
    fn a_sample_does_not_depend_on_pieces() {
        for count in [1, 63, 4095, 4096, 4097, 30_000] {
            let set: Vec<u128> = (0..count).map(uniform).collect();
            let whole = sampled(&set, set.len());
            assert_eq!(whole.sample.len(), set.len().min(4096));
            assert_eq!(whole.sample[0], set[0]);
            for piece in [1, 7, 1000] {
                assert_eq!(sampled(&set, piece).sample, whole.sample);
            }
        }
    }
}
