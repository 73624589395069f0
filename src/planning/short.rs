//! How many bits the keys of short tables keep.

use crate::design::Design;
use crate::format::{BitRange, low_widths, top_bits};
use crate::permute::Permutation;

/// Bits that a key has at least.
const LEAST_BITS: u32 = 32;
/// Bits behind the top beside those that tell the keys with the same top apart. Of 2^14 keys some
/// 2,300 are within a radius of 3 of the query by chance, so that one run of keys in seven leads to
/// a block in vain.
const BEHIND: u32 = 14;
/// As many keys of the identity table, as a power of two, may begin with the bits that a key knows
/// of them: they stand in a block, or in two.
const LED_TO: u32 = 5;

/// Bits of a key of a short table with this top, of so many fingerprints of `bits` bits: all of
/// these where fewer would not do, or where keys are fingerprints, which lead nowhere else.
pub(crate) fn key_bits(bits: u32, count: u64, top: &[BitRange]) -> u32 {
    let permutation = Permutation::new(top);
    if permutation.is_identity() {
        return bits;
    }
    let count_bits = u64::BITS - count.saturating_sub(1).leading_zeros();
    let top_bits = permutation.top_bits();
    // Columns are made of bytes.
    let behind = (count_bits.saturating_sub(top_bits) + BEHIND).next_multiple_of(8);
    let least = (top_bits + behind).max(LEAST_BITS).next_multiple_of(8);
    let leads = |key_bits: &u32| {
        let known = permutation.fingerprint(!u64::MAX.checked_shr(*key_bits).unwrap_or(0));
        known.leading_ones() + LED_TO >= count_bits
    };
    (least..bits).step_by(8).find(leads).unwrap_or(bits)
}

/// The design that gains most by a short table, for fingerprints of 64 bits. The top of its second
/// table has about as many bits as it takes to tell fingerprints apart. In blocks of 512 bytes 10^8
/// take 8.3 bytes each, where `halves` take 10.1 and searches within 3 take about as long
/// (`benches/record`).
pub(super) fn small(bits: u32) -> Option<Design> {
    (bits == u64::BITS).then(|| Design::from_widths(&[32, 24]).ok())?
}

/// The designs to choose among where tables are short: of those given, the ones with a table behind
/// the first, and the [`small`] one.
pub(super) fn designs(bits: u32, given: Vec<Design>) -> Vec<Design> {
    if bits < u64::BITS {
        return given;
    }
    let several = given.into_iter().filter(|design| design.table_count() > 1);
    several.chain(small(bits)).collect()
}

/// Width of the low column of a short table with keys of so many bits: all that stands behind the
/// top, so that a search need not decode what it leaves out; or `given`, as far as keys have room
/// for it.
pub(crate) fn low_bits(key_bits: u32, top: &[BitRange], given: Option<u32>) -> u32 {
    let most = given.unwrap_or(key_bits - top_bits(top));
    low_widths(key_bits).filter(|width| *width <= most).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of the keys of each table, and of their columns.
    fn shape(design: &str, count: u64) -> Vec<(u32, u32)> {
        let design: Design = design.parse().unwrap();
        let of_top = |top: &Vec<BitRange>| {
            let key_bits = key_bits(64, count, top);
            (key_bits, low_bits(key_bits, top, None))
        };
        design.tops().iter().map(of_top).collect()
    }

    #[test]
    fn keys_tell_those_with_the_same_top_apart_and_lead_to_a_block_or_two() {
        // What is in front already is whole.
        assert_eq!(shape("quarters", 1 << 16)[..2], [(64, 48), (32, 16)]);
        assert_eq!(shape("quarters", (1 << 18) + 1)[1..], [(40, 24); 3]);
        assert_eq!(shape("quarters", 1 << 26)[1..], [(40, 24); 3]);
        assert_eq!(shape("quarters", 1 << 33)[1..], [(48, 32); 3]);
        // Of its 40 bits only 16 would be of the identity table.
        assert_eq!(shape("32,24", 1 << 26)[1], (48, 24));
        assert_eq!(shape("halves", 1 << 26)[1], (56, 24));
        assert_eq!(shape("2of3+1of2", 1 << 24)[1..3], [(48, 24); 2]);
        // No number of whole bytes below 64 does.
        assert_eq!(shape("halves", 1 << 40)[1], (64, 32));
        assert_eq!(shape("0..16,0..8", 1 << 20)[1].0, 64);
        for count in [0, 1, 2] {
            assert_eq!(shape("quarters", count)[1], (32, 16));
        }
    }

    #[test]
    fn a_given_column_is_as_wide_as_there_is_room() {
        let top = [BitRange { start: 16, bits: 16 }];
        let widths = [0, 16, 24, 48].map(|given| low_bits(40, &top, Some(given)));
        assert_eq!(widths, [0, 16, 24, 32]);
    }
}
