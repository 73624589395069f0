//! What a sorted list of keys would cost under each codec and column width, and the choice.
//!
//! The classes of all keys are counted once, for both codecs and every width L; the size of every
//! choice follows exactly (section 6.5 of the specification gives the classes).

use crate::codec::huffman;
use crate::error::{Error, Result};
use crate::format::{Codec, LOW_BITS, low_widths};
use crate::tasks;

/// The first widths, at which few steps differ in their classes: those are counted once for all of
/// these.
const ALIKE: usize = 5;
/// The payload with an open width of the column, in thousandths of that without a column, at most.
const WIDER: u128 = 1010;
/// Tasks per thread at most, unless these are so few keys that each task counts the least number of
/// them.
const CHUNKS: usize = 16;
/// The least number of keys that a task counts, but for the last one.
const CHUNK_KEYS: usize = 1 << 16;

/// The class of the step from the middle `u` to `v`, of `64 - below` bits each, which stand in the
/// low end of their words.
#[inline(always)]
pub(crate) fn class(codec: Codec, below: u32, u: u64, v: u64) -> u32 {
    let delta = match codec {
        Codec::Xor => u ^ v,
        Codec::Gap => v - u,
    };
    delta.leading_zeros() - below
}

/// Histograms of the classes of all keys but the first.
#[derive(Clone)]
pub(crate) struct Profile {
    /// Bits of a key, which are the highest of its word.
    bits: u32,
    steps: u64,
    /// Class of the xor of whole keys; a wider column only merges the last classes.
    xor: [u64; 65],
    /// Class of the gap, for each width in [`LOW_BITS`]; for the first of them, of the steps that
    /// are not in `alike`.
    gap: [[u64; 65]; LOW_BITS.len()],
    /// Class of the gap of whole keys, of the steps whose class at each of the first widths is the
    /// same, or the last one.
    alike: [u64; 65],
    /// The last key counted, where keys come in pieces.
    last: Option<u64>,
}

/// How a table is coded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coding {
    /// Bits of a key.
    pub(crate) bits: u32,
    pub(crate) codec: Codec,
    pub(crate) low_bits: u32,
    pub(crate) histogram: Vec<u64>,
    pub(crate) code_lengths: Vec<u8>,
    /// Bits of the codes, their raw bits and the column of all keys but the first.
    pub(crate) payload_bits: u64,
}

impl Profile {
    /// Counts the classes of `keys` of so many bits, which ascend. Takes one pass, shared by the
    /// threads of the current pool.
    pub(crate) fn new(bits: u32, keys: &[u64]) -> Self {
        let steps = keys.len().saturating_sub(1);
        let chunk = steps.div_ceil(CHUNKS * tasks::threads()).max(CHUNK_KEYS);
        let profiles = tasks::map((0..steps).step_by(chunk), |start| {
            let mut profile = Self::empty(bits);
            profile.count(&keys[start..keys.len().min(start + chunk + 1)]);
            profile
        });
        profiles.into_iter().fold(Self::empty(bits), Self::merge)
    }

    /// Counts the classes of the next piece of a table. Takes one pass, shared by the threads of
    /// the current pool.
    pub(crate) fn extend(&mut self, keys: &[u64]) {
        let Some((first, last)) = keys.first().zip(keys.last()) else {
            return;
        };
        if let Some(before) = self.last {
            self.count(&[before, *first]);
        }
        let counted = std::mem::replace(self, Self::empty(self.bits));
        *self = counted.merge(Self::new(self.bits, keys));
        self.last = Some(*last);
    }

    /// The expected histograms of `count` uniform keys of so many bits, scaled to 2^32 steps. The
    /// same on every machine: it adds, multiplies and divides, and takes the exponential from a
    /// series.
    pub(crate) fn uniform(bits: u32, count: u64) -> Self {
        let count = count.max(1) as f64;
        let power = |exponent: usize| 2f64.powi(exponent as i32);
        let scaled = |share: f64| (share.max(0.0) * power(32)).round() as u64;
        let mut profile = Self::empty(bits);
        profile.steps = 1 << 32;
        // As many neighbours first differ in bit c as there are more prefixes of c + 1 bits than of
        // c: of c bits there are 2^c (1 - exp(-count / 2^c)).
        let prefixes = |bits: usize| mean_decay(count / power(bits));
        for (class, n) in profile.xor[..bits as usize].iter_mut().enumerate() {
            *n = scaled(prefixes(class + 1) - prefixes(class));
        }
        for (histogram, low_bits) in profile.gap.iter_mut().zip(low_widths(bits)) {
            // Gaps are exponential. The gap of middles that begin anywhere in their unit is j or
            // more with this probability.
            let middle_bits = (bits - low_bits) as usize;
            let rate = count / power(middle_bits);
            let at_least = |j: f64| mean_decay(rate) * decay((j - 1.0) * rate);
            for (class, n) in histogram[..middle_bits].iter_mut().enumerate() {
                let least = power(middle_bits - 1 - class);
                *n = scaled(at_least(least) - at_least(2.0 * least));
            }
            histogram[middle_bits] = scaled(1.0 - at_least(1.0));
        }
        profile
    }

    /// The profile of no keys, of so many bits.
    pub(crate) fn empty(bits: u32) -> Self {
        let gap = [[0; 65]; LOW_BITS.len()];
        Self { bits, steps: 0, xor: [0; 65], gap, alike: [0; 65], last: None }
    }

    fn count(&mut self, keys: &[u64]) {
        self.steps += keys.len().saturating_sub(1) as u64;
        let pad = u64::BITS - self.bits;
        let widths = low_widths(self.bits);
        let first = || widths.clone().take(ALIKE);
        let has_others = widths.clone().nth(ALIKE).is_some();
        let widest = pad + first().last().unwrap_or(0);
        for pair in keys.windows(2) {
            let (u, v) = (pair[0], pair[1]);
            self.xor[class(Codec::Xor, 0, u, v) as usize] += 1;
            // The gap of middles of W - L bits has the leading zeros of v - (u with its low L bits
            // cleared), which grows with L.
            let whole = (v - u).leading_zeros();
            let cleared = (v - (u >> widest << widest)).leading_zeros();
            if whole == cleared {
                self.alike[whole as usize] += 1;
            } else {
                count_gap(&mut self.gap, first().map(|width| pad + width), (u, v));
            }
            if has_others {
                let others = widths.clone().skip(ALIKE).map(|width| pad + width);
                count_gap(&mut self.gap[ALIKE..], others, (u, v));
            }
        }
    }

    /// Steps that were counted.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// The counts of both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.steps += other.steps;
        let add = |a: &mut [u64; 65], b: &[u64; 65]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.xor, &other.xor);
        self.gap.iter_mut().zip(&other.gap).for_each(|(a, b)| add(a, b));
        add(&mut self.alike, &other.alike);
        self
    }

    /// The coding with this codec and column, which is one of [`LOW_BITS`] and narrower than a key.
    pub(crate) fn coding(&self, codec: Codec, low_bits: u32) -> Coding {
        let bits = self.bits;
        let middle_bits = (bits - low_bits) as usize;
        let histogram = match codec {
            Codec::Xor => {
                let mut merged = self.xor[..=middle_bits].to_vec();
                merged[middle_bits] = self.xor[middle_bits..].iter().sum();
                merged
            }
            Codec::Gap => {
                let width = LOW_BITS.iter().position(|&width| width == low_bits).unwrap_or(0);
                let mut histogram = self.gap[width][..=middle_bits].to_vec();
                if width < ALIKE {
                    for (class, n) in self.alike.iter().enumerate() {
                        histogram[class.min(middle_bits)] += n;
                    }
                }
                histogram
            }
        };
        let code_lengths = huffman::code_lengths(&histogram);
        let bits_of =
            |class: usize| u64::from(code_lengths[class]) + raw_bits(class, bits - low_bits);
        let stream: u64 = histogram.iter().enumerate().map(|(class, &n)| n * bits_of(class)).sum();
        let payload_bits = stream + self.steps * u64::from(low_bits);
        Coding { bits, codec, low_bits, histogram, code_lengths, payload_bits }
    }

    /// The coding with the given codec and width. An open width is the largest whose payload is at
    /// most 1% above that of L = 0; an open codec the one with the smaller payload (`xor` if they
    /// are equal).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for a width that the format does not know.
    pub(crate) fn choose(&self, codec: Option<Codec>, low_bits: Option<u32>) -> Result<Coding> {
        let widths = low_widths(self.bits);
        if let Some(width) = low_bits.filter(|width| !widths.clone().any(|known| known == *width)) {
            let expected = match self.bits {
                32 => "they are 0, 8, 16 or 24",
                _ => "they are 0, 8, 16, 24, 32, 40 or 48",
            };
            return Err(Error::invalid_option("low bits", width, expected));
        }
        let with_codec = |codec: Codec| match low_bits {
            Some(width) => self.coding(codec, width),
            None => {
                let plain = self.coding(codec, 0);
                let payload = u128::from(plain.payload_bits);
                let fits =
                    |coding: &Coding| u128::from(coding.payload_bits) * 1000 <= payload * WIDER;
                let wider = widths.clone().skip(1).map(|width| self.coding(codec, width));
                wider.filter(fits).last().unwrap_or(plain)
            }
        };
        Ok(match codec {
            Some(codec) => with_codec(codec),
            None => {
                let [first, others @ ..] = Codec::ALL;
                let smaller = |best: Coding, one: Coding| {
                    if one.payload_bits < best.payload_bits { one } else { best }
                };
                others.into_iter().map(with_codec).fold(with_codec(first), smaller)
            }
        })
    }
}

impl Coding {
    /// Bits of a key that is not the first of its block: code, raw bits and column; 0 for no keys.
    pub(crate) fn bits_per_key(&self) -> f64 {
        let steps: u64 = self.histogram.iter().sum();
        if steps == 0 { 0.0 } else { self.payload_bits as f64 / steps as f64 }
    }
}

/// Counts the class of the gap of middles above each of some bits.
#[inline(always)]
fn count_gap(gap: &mut [[u64; 65]], below: impl Iterator<Item = u32>, (u, v): (u64, u64)) {
    for (histogram, below) in gap.iter_mut().zip(below) {
        histogram[class(Codec::Gap, below, u >> below, v >> below) as usize] += 1;
    }
}

/// exp(-x) for x of 0 or more.
fn decay(x: f64) -> f64 {
    if x > 800.0 {
        return 0.0;
    }
    // exp(-x) = exp(-x / 2^10)^(2^10), whose Taylor series converges at once.
    let x = x / 1024.0;
    let series = (1..12).rev().fold(1.0, |sum, i| 1.0 - x / f64::from(i) * sum);
    (0..10).fold(series, |power, _| power * power)
}

/// (1 - exp(-x)) / x, the mean of exp(-t) for t from 0 to x.
fn mean_decay(x: f64) -> f64 {
    if x < 1e-4 { 1.0 - x / 2.0 * (1.0 - x / 3.0) } else { (1.0 - decay(x)) / x }
}

/// Bits that follow the code of a class, of middles of so many bits.
pub(crate) fn raw_bits(class: usize, middle_bits: u32) -> u64 {
    u64::from(middle_bits).saturating_sub(1 + class as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(n: u64) -> Vec<u64> {
        let mut keys: Vec<u64> = (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn every_step_is_counted_once_across_chunks() {
        let keys = spread(3 * CHUNK_KEYS as u64 + 17);
        every_step_is_counted_in(&keys, &Profile::new(64, &keys));
        let dense: Vec<u64> = keys.iter().map(|key| key >> 16).collect();
        every_step_is_counted_in(&dense, &Profile::new(64, &dense));
        for piece in [1, 1000, CHUNK_KEYS + 1] {
            let keys = &keys[..keys.len().min(10 * piece.max(100))];
            let mut profile = Profile::empty(64);
            keys.chunks(piece).for_each(|piece| profile.extend(piece));
            every_step_is_counted_in(keys, &profile);
        }
    }

    fn every_step_is_counted_in(keys: &[u64], profile: &Profile) {
        for codec in Codec::ALL {
            for low_bits in LOW_BITS {
                let coding = profile.coding(codec, low_bits);
                let mut expected = vec![0; 65 - low_bits as usize];
                for pair in keys.windows(2) {
                    let (u, v) = (pair[0] >> low_bits, pair[1] >> low_bits);
                    expected[class(codec, low_bits, u, v) as usize] += 1;
                }
                assert_eq!(coding.histogram, expected, "{codec} L={low_bits}");
            }
        }
    }

    #[test]
    fn the_open_width_is_the_largest_within_one_percent() {
        let profile = Profile::new(64, &spread(100_000));
        for codec in Codec::ALL {
            let chosen = profile.choose(Some(codec), None).unwrap();
            let plain = profile.coding(codec, 0).payload_bits;
            let fits = |width: u32| profile.coding(codec, width).payload_bits * 100 <= plain * 101;
            let expected = LOW_BITS.into_iter().rev().find(|&width| fits(width)).unwrap();
            assert_eq!(chosen.low_bits, expected);
            assert!(expected > 0, "uniform keys have incompressible low bits");
        }
    }

    #[test]
    fn the_open_codec_is_the_smaller_one() {
        for keys in [spread(50_000), (0..5000).collect(), vec![]] {
            let profile = Profile::new(64, &keys);
            let size = |codec| profile.choose(codec, None).unwrap().payload_bits;
            assert_eq!(size(None), size(Some(Codec::Xor)).min(size(Some(Codec::Gap))));
        }
    }

    #[test]
    fn the_expected_payload_of_uniform_keys_is_that_of_random_ones() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let x = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            x ^ (x >> 31)
        };
        for shift in [0, 12] {
            // Shifted keys are as dense as 2^12 times as many.
            let mut keys: Vec<u64> = (0..1 << 16).map(|_| random() >> shift).collect();
            keys.sort_unstable();
            keys.dedup();
            let profile = Profile::new(64, &keys);
            let uniform = Profile::uniform(64, (keys.len() as u64) << shift);
            for codec in Codec::ALL {
                for low_bits in LOW_BITS {
                    let found = profile.coding(codec, low_bits).bits_per_key();
                    let expected = uniform.coding(codec, low_bits).bits_per_key();
                    // A class that is expected once in a million takes a bit from another where
                    // there are two.
                    let most = if low_bits <= 32 { 0.03 } else { 0.07 };
                    assert!(
                        (found - expected).abs() < most,
                        "{codec} {low_bits}: {found} {expected}"
                    );
                }
                let low_bits =
                    |profile: &Profile| profile.choose(Some(codec), None).unwrap().low_bits;
                assert_eq!(low_bits(&profile), low_bits(&uniform));
            }
        }
    }

    #[test]
    fn a_gap_costs_a_tenth_of_a_bit_over_the_bound_and_an_xor_two() {
        for count in [1 << 16, 1 << 24, 1 << 34] {
            let bound = 64.0 - (count as f64).log2() + std::f64::consts::LOG2_E;
            let over = |codec| Profile::uniform(64, count).coding(codec, 0).bits_per_key() - bound;
            assert!((over(Codec::Gap) - 0.09).abs() < 0.015, "{}", over(Codec::Gap));
            assert!((over(Codec::Xor) - 1.97).abs() < 0.02, "{}", over(Codec::Xor));
        }
    }

    #[test]
    fn an_unknown_width_is_refused() {
        assert!(Profile::new(64, &[]).choose(None, Some(12)).is_err());
    }
}
