//! The permutation π of a table: the bit ranges of its top first, then all other bits in their own
//! order (section 3.1 of the paper, section 6.7 of the specification).
//!
//! Hamming distance does not change under π, so a table of permuted fingerprints (*keys*) answers
//! for the fingerprints.

use crate::format::{BitRange, top_bits};

/// Moves of a table whose top is one range, at most: a loop over as many as there are takes 1% to
/// 3% more of a search of `quarters`.
const FIRST: usize = 3;

/// A bijection on 64-bit words that moves bits. Costs one rotation and one mask per group of bits
/// that move by the same distance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Permutation {
    /// The first moves, and others that move nothing.
    first: [Move; FIRST],
    others: Vec<Move>,
    top_bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Move {
    /// How far the bits are rotated to the left.
    rotation: u32,
    /// Where they end up in the key.
    mask: u64,
}

impl Permutation {
    /// The permutation that puts `top` in front. The ranges lie inside 64 bits and are disjoint,
    /// as [`is_top`](crate::format::is_top) has checked.
    pub(crate) fn new(top: &[BitRange]) -> Self {
        let mut moves: Vec<Move> = Vec::new();
        let mut to = 0;
        let mut push = |from: u32| {
            let (rotation, mask) = ((from + 64 - to) % 64, 1 << (63 - to));
            match moves.iter_mut().find(|m| m.rotation == rotation) {
                Some(known) => known.mask |= mask,
                None => moves.push(Move { rotation, mask }),
            }
            to += 1;
        };
        let is_top = |bit: u32| {
            top.iter().any(|range| range.mask().is_some_and(|mask| mask >> (63 - bit) & 1 == 1))
        };
        for range in top {
            (0..u32::from(range.bits)).for_each(|i| push(u32::from(range.start) + i));
        }
        (0..64).filter(|&bit| !is_top(bit)).for_each(&mut push);
        let top_bits = top_bits(top);
        let nothing = Move { rotation: 0, mask: 0 };
        let first = std::array::from_fn(|i| moves.get(i).copied().unwrap_or(nothing));
        Self { first, others: moves.split_off(moves.len().min(FIRST)), top_bits }
    }

    /// Number of bits of the top, p.
    pub(crate) fn top_bits(&self) -> u32 {
        self.top_bits
    }

    /// The key of a fingerprint.
    #[inline]
    pub(crate) fn key(&self, fingerprint: u64) -> u64 {
        let moves = |key, m: &Move| key | fingerprint.rotate_left(m.rotation) & m.mask;
        self.others.iter().fold(self.first.iter().fold(0, moves), moves)
    }

    /// The fingerprint of a key.
    #[inline]
    pub(crate) fn fingerprint(&self, key: u64) -> u64 {
        let moves = |fp, m: &Move| fp | (key & m.mask).rotate_right(m.rotation);
        self.others.iter().fold(self.first.iter().fold(0, moves), moves)
    }

    /// Whether keys are fingerprints.
    pub(crate) fn is_identity(&self) -> bool {
        self.first.iter().chain(&self.others).all(|m| m.rotation == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_holds() {
        let top = [BitRange { start: 32, bits: 16 }, BitRange { start: 0, bits: 8 }];
        let permutation = Permutation::new(&top);
        let bit = |i: u32| 1u64 << (63 - i);
        for (from, to) in [(32, 0), (0, 16), (8, 24), (31, 47), (48, 48)] {
            assert_eq!(permutation.key(bit(from)), bit(to), "bit {from}");
        }
        assert_eq!(permutation.top_bits(), 24);
    }

    #[test]
    fn every_bit_has_its_own_place_and_comes_back() {
        let top = [BitRange { start: 13, bits: 13 }, BitRange { start: 60, bits: 4 }];
        for top in [&top[..], &top[..1], &[BitRange { start: 0, bits: 64 }]] {
            let permutation = Permutation::new(top);
            let keys = (0..64).fold(0, |keys, i| {
                assert_eq!(permutation.fingerprint(permutation.key(1 << i)), 1 << i);
                keys | permutation.key(1 << i)
            });
            assert_eq!(keys, u64::MAX);
        }
        assert!(Permutation::new(&[BitRange { start: 0, bits: 20 }]).is_identity());
        assert!(!Permutation::new(&top).is_identity());
    }
}
