//! Huffman codes of at most 11 bits over the classes of a table (section 6.6 of the specification).
//!
//! Lengths come from package-merge (Larmore, Hirschberg, *A fast algorithm for optimal
//! length-limited Huffman codes*, JACM 1990), codes are canonical.

use crate::error::Corruption;
use crate::format::MAX_CODE_BITS;

/// The optimal code lengths, in bits, for symbols that occur `histogram[symbol]` times: 0 for a
/// symbol that does not occur, 1 for a single one. Takes time O(11 s log s) for s symbols.
pub(crate) fn code_lengths(histogram: &[u64]) -> Vec<u8> {
    let mut lengths = vec![0; histogram.len()];
    let mut symbols: Vec<usize> = (0..histogram.len()).filter(|&s| histogram[s] > 0).collect();
    symbols.sort_by_key(|&s| (histogram[s], s));
    if let [only] = symbols[..] {
        lengths[only] = 1;
        return lengths;
    }
    // A package is a weight and how often each symbol (by rank) is in it.
    let leaves: Vec<(u128, Vec<u8>)> = symbols
        .iter()
        .enumerate()
        .map(|(rank, &symbol)| {
            let mut members = vec![0; symbols.len()];
            members[rank] = 1;
            (u128::from(histogram[symbol]), members)
        })
        .collect();
    let mut row = leaves.clone();
    for _ in 1..MAX_CODE_BITS {
        let pairs = row.chunks_exact(2).map(|pair| {
            let members = pair[0].1.iter().zip(&pair[1].1).map(|(a, b)| a + b).collect();
            (pair[0].0 + pair[1].0, members)
        });
        // A stable sort puts leaves before packages of the same weight.
        let mut merged: Vec<_> = leaves.iter().cloned().chain(pairs).collect();
        merged.sort_by_key(|(weight, _)| *weight);
        row = merged;
    }
    for (_, members) in row.iter().take(2 * symbols.len().saturating_sub(1)) {
        for (&symbol, &times) in symbols.iter().zip(members) {
            lengths[symbol] += times;
        }
    }
    lengths
}

/// Checks that lengths, each at most 11, are those of a complete code for a table of `count`
/// keys [COD-3].
pub(crate) fn check_complete(lengths: &[u8], count: u64) -> Result<(), Corruption> {
    let used = lengths.iter().filter(|&&length| length > 0);
    let codes = used.clone().count() as u32;
    let kraft: u32 = used.map(|&length| 1 << (MAX_CODE_BITS - u32::from(length))).sum();
    let sound = match (count, codes) {
        (0 | 1, codes) => codes == 0,
        (_, 1) => kraft == 1 << (MAX_CODE_BITS - 1),
        _ => kraft == 1 << MAX_CODE_BITS,
    };
    if sound { Ok(()) } else { Err(Corruption::IncompleteCode { codes, count }) }
}

/// A code in the order of the stream: the first bit of the code is the least significant one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) bits: u16,
    pub(crate) length: u8,
}

/// The canonical codes of all symbols.
pub(crate) fn codes(lengths: &[u8]) -> Vec<Code> {
    let mut order: Vec<usize> = (0..lengths.len()).filter(|&s| lengths[s] > 0).collect();
    order.sort_by_key(|&s| (lengths[s], s));
    let mut codes = vec![Code::default(); lengths.len()];
    let (mut next, mut length_before) = (0u32, order.first().map_or(0, |&s| lengths[s]));
    for symbol in order {
        let length = lengths[symbol];
        next <<= length - length_before;
        length_before = length;
        // Bits over the width are dropped: lengths that make no complete code do no harm.
        let bits = ((next << (32 - u32::from(length))).reverse_bits() & 0xFFFF) as u16;
        codes[symbol] = Code { bits, length };
        next = next.wrapping_add(1);
    }
    codes
}

/// Entropy of a histogram in bits per symbol; 0 if it is empty.
pub(crate) fn entropy_bits(histogram: &[u64]) -> f64 {
    let total: f64 = histogram.iter().map(|&n| n as f64).sum();
    // Of the inverse, since the logarithm of 1, negated, is -0; so is the sum of no numbers.
    let bits = |n: f64| (n / total) * (total / n).log2();
    histogram.iter().filter(|&&n| n > 0).fold(0.0, |sum, &n| sum + bits(n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_entropy_of_a_single_class_is_0_and_not_less() {
        for histogram in [&[][..], &[0, 0], &[0, 7, 0]] {
            assert_eq!(format!("{:.3}", entropy_bits(histogram)), "0.000", "{histogram:?}");
        }
        assert_eq!(entropy_bits(&[4, 2, 1, 1]), 1.75);
    }

    #[test]
    fn the_example_of_the_specification_holds() {
        let lengths = [2, 1, 0, 3, 3];
        let codes = codes(&lengths);
        let text = |code: Code| -> String {
            (0..code.length).map(|i| if code.bits >> i & 1 == 1 { '1' } else { '0' }).collect()
        };
        let texts: Vec<String> = codes.into_iter().map(text).collect();
        assert_eq!(texts, ["10", "0", "", "110", "111"]);
    }

    #[test]
    fn a_single_symbol_gets_one_bit_and_no_symbol_none() {
        assert_eq!(code_lengths(&[0, 9, 0]), [0, 1, 0]);
        assert_eq!(code_lengths(&[0, 0]), [0, 0]);
        assert!(check_complete(&[0, 1, 0], 10).is_ok());
        assert!(check_complete(&[0, 2, 0], 10).is_err());
        assert!(check_complete(&[0, 1, 0], 1).is_err());
    }

    #[test]
    fn fibonacci_weights_are_held_to_eleven_bits_at_the_least_cost() {
        let mut histogram = vec![1u64, 1];
        while histogram.len() < 30 {
            histogram.push(histogram[histogram.len() - 1] + histogram[histogram.len() - 2]);
        }
        let lengths = code_lengths(&histogram);
        assert_eq!(lengths.iter().max(), Some(&11));
        check_complete(&lengths, 100).unwrap();
        // Moving two symbols to other lengths that keep the code complete never helps.
        let cost = |lengths: &[u8]| -> u64 {
            histogram.iter().zip(lengths).map(|(n, &length)| n * u64::from(length)).sum()
        };
        for a in 0..30 {
            for b in 0..30 {
                let mut other = lengths.clone();
                other.swap(a, b);
                assert!(cost(&other) >= cost(&lengths));
            }
        }
    }

    /// Cost of an unlimited Huffman code: the sum of all inner nodes.
    fn huffman_cost(histogram: &[u64]) -> u64 {
        let mut heap: std::collections::BinaryHeap<_> =
            histogram.iter().filter(|&&n| n > 0).map(|&n| std::cmp::Reverse(n)).collect();
        let mut cost = 0;
        while heap.len() > 1 {
            let sum = heap.pop().unwrap().0 + heap.pop().unwrap().0;
            cost += sum;
            heap.push(std::cmp::Reverse(sum));
        }
        cost
    }

    proptest! {
        #[test]
        fn codes_are_complete_decodable_and_optimal(histogram in prop::collection::vec(0u64..1000, 2..66)) {
            let used = histogram.iter().filter(|&&n| n > 0).count();
            let lengths = code_lengths(&histogram);
            prop_assert_eq!(check_complete(&lengths, if used == 0 { 0 } else { 2 }), Ok(()));
            let codes = codes(&lengths);
            for (symbol, code) in codes.iter().enumerate() {
                prop_assert_eq!(code.length == 0, histogram[symbol] == 0);
                prop_assert_eq!(code.bits >> code.length, 0);
                // No code is the start of another one.
                for other in codes.iter().filter(|other| *other != code && code.length > 0) {
                    let start = other.bits & ((1 << code.length) - 1);
                    prop_assert!(other.length < code.length || start != code.bits);
                }
            }
            // Weights under 1000 over 65 symbols rarely pass 11 bits; where they do not, the cost
            // is that of Huffman's algorithm.
            let cost: u64 = histogram.iter().zip(&lengths).map(|(n, &l)| n * u64::from(l)).sum();
            if used > 1 && lengths.iter().all(|&l| l < 11) {
                prop_assert_eq!(cost, huffman_cost(&histogram));
            }
        }
    }
}
