//! The question of a search.

use crate::snapshot::union::Match;

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Ask<F = u64> {
    pub(super) fingerprint: F,
    pub(super) k: u32,
    /// Matches, as often as they are found, after which the search gives up.
    pub(super) most: usize,
}

impl Ask {
    /// Adds a match; one too many tells that there are.
    #[inline]
    pub(super) fn tell(self, matches: &mut Vec<Match>, fingerprint: u64, distance: u32) {
        if matches.len() <= self.most {
            matches.push(Match { fingerprint, distance });
        }
    }
}
