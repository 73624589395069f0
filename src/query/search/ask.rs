//! The question of a search.

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Ask<F = u64> {
    pub(super) fingerprint: F,
    pub(super) k: u32,
    /// Matches, as often as they are found, after which the search gives up.
    pub(super) most: usize,
}
