//! What the keys of a table mean (section 6.7), and what its histogram counts (section 6.3).

use super::block::BlockShape;
use super::mutation::{Wrong, is, or};

/// What the histogram must be: the classes of all keys but the first (sections 6.3 and 6.5).
/// `firsts` are the first keys of blocks.
pub fn count_classes(shape: &BlockShape<'_>, keys: &[u64], firsts: &[u64]) -> Vec<u64> {
    let middle_bits = u32::from(shape.bits) - u32::from(shape.low_bits);
    let mut histogram = vec![0; shape.code_lengths.len()];
    for pair in keys.windows(2) {
        if is(Wrong::HistogramWithoutFirst) && firsts.contains(&pair[1]) {
            continue;
        }
        let (u, v) = (pair[0] >> shape.low_bits, pair[1] >> shape.low_bits);
        let delta = match shape.codec {
            1 => v ^ u,
            2 => v - u,
            other => panic!("codec {other}"),
        };
        // Zero bits above the most significant 1, in M bits; M if the delta is 0.
        let class = delta.leading_zeros() - (64 - middle_bits);
        histogram[class as usize] += 1;
    }
    histogram
}

/// Section 6.7: the fingerprint's bit that stands at each place of the key.
pub fn bit_order(bits: u8, ranges: &[(u8, u8)]) -> Vec<u8> {
    let mut ranges = or(ranges, Wrong::FirstRangeOnly, &ranges[..ranges.len().min(1)]).to_vec();
    if is(Wrong::RangesSorted) {
        ranges.sort_unstable();
    }
    let mut order: Vec<u8> = ranges.iter().flat_map(|&(first, bits)| first..first + bits).collect();
    let bits = or(bits, Wrong::RestOf64Bits, 64);
    let mut others: Vec<u8> = (0..bits).filter(|bit| !order.contains(bit)).collect();
    if is(Wrong::RestDescending) {
        others.reverse();
    }
    if is(Wrong::RestFirst) {
        std::mem::swap(&mut order, &mut others);
    }
    order.extend(others);
    order
}

pub fn unpermute(key: u64, order: &[u8]) -> u64 {
    let (bits, last) = (order.iter().enumerate(), order.len() - 1);
    bits.map(|(place, &bit)| (key >> (last - place) & 1) << (last as u8 - bit)).sum()
}

pub fn permute(fingerprint: u64, order: &[u8]) -> u64 {
    let (bits, last) = (order.iter().enumerate(), order.len() - 1);
    bits.map(|(place, &bit)| (fingerprint >> (last as u8 - bit) & 1) << (last - place)).sum()
}

/// Section 6.8.
pub fn set_sum(fingerprints: &[u64]) -> u128 {
    fingerprints.iter().fold(0, |sum: u128, &f| sum.wrapping_add(term(&f.to_be_bytes())))
}

/// What a fingerprint contributes, of which these are the bytes, the most significant first.
pub fn term(fingerprint: &[u8]) -> u128 {
    let g = 0x9E37_79B9_7F4A_7C15_u64;
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    let mut words: Vec<u64> = fingerprint.chunks(8).map(word).collect();
    if is(Wrong::SumOfLeastWordsFirst) {
        words.reverse();
    }
    let (mut low, mut high) = (0u64, 0u64);
    for word in words {
        low = mix(low.wrapping_add(word).wrapping_add(g));
        let from = or(high, Wrong::SumOfLowerHalf, 0);
        let second = g.wrapping_mul(or(2, Wrong::SumWithoutSecond, 1));
        high = mix(from.wrapping_add(word).wrapping_add(second));
    }
    u128::from(low) | u128::from(high) << 64
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

#[test]
fn sums_are_those_of_the_documents_examples() {
    let document = include_str!("../../../format-spec/FORMAT.md");
    // Lines of paragraphs wrap anywhere.
    let document = document.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(document.contains(
        &format!("mix(0) = {} and mix(1) = {:#018X}", mix(0), mix(1)).replace("0X", "0x")
    ));
    let sum = set_sum(&[1_234_567]);
    assert!(document.contains(&format!("fingerprint 1234567 has the sum 0x{sum:032X}")));
    assert_eq!(term(&1_234_567u32.to_be_bytes()), sum);
    let sum = term(&1_234_567u128.to_be_bytes());
    assert!(document.contains(&format!("0x{sum:032X} with W = 128")));
}

#[test]
fn permutation_is_that_of_the_documents_example() {
    let order = bit_order(64, &[(32, 16), (0, 8)]);
    for (bit, place) in [(32, 0), (0, 16), (8, 24), (31, 47), (48, 48)] {
        assert_eq!(order[place], bit);
        assert_eq!(unpermute(1 << (63 - place), &order), 1 << (63 - bit));
    }
}
