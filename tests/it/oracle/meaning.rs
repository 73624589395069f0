//! What the keys of a table mean (section 7), and what its histogram counts (section 4.4).

use super::block::BlockShape;

/// What the histogram must be: the classes of all keys but the first (sections 4.4 and 5.2).
pub fn count_classes(shape: &BlockShape<'_>, keys: &[u64]) -> Vec<u64> {
    let middle_bits = 64 - u32::from(shape.low_bits);
    let mut histogram = vec![0; middle_bits as usize + 1];
    for pair in keys.windows(2) {
        let (u, v) = (pair[0] >> shape.low_bits, pair[1] >> shape.low_bits);
        let delta = if shape.codec == 1 { v ^ u } else { v - u };
        // Zero bits above the most significant 1, in M bits; M if the delta is 0.
        let class = delta.leading_zeros() - u32::from(shape.low_bits);
        histogram[class as usize] += 1;
    }
    histogram
}

/// Section 7.1: the fingerprint's bit that stands at each place of the key.
pub fn bit_order(ranges: &[(u8, u8)]) -> Vec<u8> {
    let mut order: Vec<u8> = ranges.iter().flat_map(|&(first, bits)| first..first + bits).collect();
    let others: Vec<u8> = (0..64).filter(|bit| !order.contains(bit)).collect();
    order.extend(others);
    order
}

pub fn unpermute(key: u64, order: &[u8]) -> u64 {
    let bits = order.iter().enumerate();
    bits.map(|(place, &bit)| (key >> (63 - place) & 1) << (63 - bit)).sum()
}

/// Section 7.2.
pub fn set_sum(fingerprints: &[u64]) -> u128 {
    let g = 0x9E37_79B9_7F4A_7C15_u64;
    fingerprints.iter().fold(0, |sum: u128, &f| {
        let low = mix(f.wrapping_add(g));
        let high = mix(f.wrapping_add(g.wrapping_mul(2)));
        sum.wrapping_add(u128::from(low) | u128::from(high) << 64)
    })
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

#[test]
fn permutation_is_that_of_the_documents_example() {
    let order = bit_order(&[(32, 16), (0, 8)]);
    for (bit, place) in [(32, 0), (0, 16), (8, 24), (31, 47), (48, 48)] {
        assert_eq!(order[place], bit);
        assert_eq!(unpermute(1 << (63 - place), &order), 1 << (63 - bit));
    }
}
