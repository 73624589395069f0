//! What a level of instructions does for the comparisons.
//! Fingerprints are folded to few words, side by side.
//!
//! ```text
//! fingerprint  | a | b | c | d |                words, of 256 bits
//! folded to 2  | a ^ c | b ^ d |
//! a group      | 8 first words | 8 second words |  of 8 fingerprints: 512 bits each
//! ```
//!
//! Two folded fingerprints differ in no more bits than the fingerprints do, since folding the
//! difference can only cancel bits.

use crate::fingerprint::{Fingerprint, word_count};

/// Fingerprints of a list that are compared with all of another before the next are: they stay in
/// the first cache.
pub(super) const TILE: usize = 1024;

/// Compares up to [`TILE`] fingerprints at a time; longer lists are right but slow.
pub(super) trait Kernel: Copy {
    /// Calls `found` with each pair of `tile`, in either order, that differs in at most `k` bits.
    fn within(self, tile: &[u64], k: u32, found: &mut impl FnMut(u64, u64));

    /// Calls `found` with each fingerprint of `left` and each of the tile `right` that differ in at
    /// most `k` bits.
    fn between(self, left: &[u64], right: &[u64], k: u32, found: &mut impl FnMut(u64, u64));

    /// Calls `near` with the numbers of each fingerprint of `left` and each of some folded ones
    /// that differ in at most `k` bits, folded. If they are `the_same`, those are left out that are
    /// more than a group before; others may come in both orders.
    fn folded<F: Fingerprint, const WORDS: usize>(
        self,
        left: &[F],
        groups: &[Group<WORDS>],
        k: u32,
        the_same: bool,
        near: &mut impl FnMut(usize, usize),
    );
}

/// Fingerprints of a group.
pub(super) const LANES: usize = 8;

/// What fingerprints are folded to: the first words of all, then the second ones, and so on.
pub(super) type Group<const WORDS: usize> = [[u64; LANES]; WORDS];

/// Groups that are folded together.
const GROUPS: usize = 8;

/// Some fingerprints, folded.
pub(super) struct Folded<const WORDS: usize>([Group<WORDS>; GROUPS]);

impl<const WORDS: usize> Folded<WORDS> {
    /// As many as are folded together.
    pub(super) const MOST: usize = GROUPS * LANES;

    /// Folds up to [`Self::MOST`] fingerprints.
    #[inline(always)]
    pub(super) fn new<F: Fingerprint>(few: &[F]) -> Self {
        let mut groups = [[[0; LANES]; WORDS]; GROUPS];
        for (group, few) in groups.iter_mut().zip(few.chunks(LANES)) {
            for (lane, &fingerprint) in few.iter().enumerate() {
                for (words, word) in group.iter_mut().zip(fold::<F, WORDS>(fingerprint)) {
                    words[lane] = word;
                }
            }
        }
        Self(groups)
    }

    /// The groups of the first so many.
    #[inline(always)]
    pub(super) fn groups(&self, count: usize) -> &[Group<WORDS>] {
        &self.0[..count.div_ceil(LANES).min(GROUPS)]
    }
}

/// The words of a fingerprint, laid over each other by exclusive or.
#[inline(always)]
pub(super) fn fold<F: Fingerprint, const WORDS: usize>(fingerprint: F) -> [u64; WORDS] {
    let mut folded = [0; WORDS];
    for number in 0..word_count::<F>() {
        folded[number % WORDS] ^= fingerprint.word(number);
    }
    folded
}

/// A few rows of a list, folded. The last one stands for those that are missing.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[inline(always)]
pub(super) fn fold_rows<F: Fingerprint, const WORDS: usize, const ROWS: usize>(
    rows: &[F],
) -> [[u64; WORDS]; ROWS] {
    let last = rows.len().saturating_sub(1);
    std::array::from_fn(|row| rows.get(row.min(last)).map_or([0; WORDS], |&row| fold(row)))
}
