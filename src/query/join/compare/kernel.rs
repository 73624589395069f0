//! What a level of instructions does for the comparisons.

use super::fold::Group;
use crate::fingerprint::Fingerprint;

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
