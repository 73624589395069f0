//! Work that takes the instructions of a level.

/// Work that is compiled anew for each level that [`Level::run`](super::Level::run) does it with.
pub(crate) trait Work {
    type Output;

    /// Does the work. Where this is always inlined, and so on down, what it does has the
    /// instructions of the level.
    fn work(self) -> Self::Output;
}
