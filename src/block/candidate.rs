/// A block that can hold matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Number of the block in its table.
    pub(crate) block: u32,
    /// How many bits may differ that were not seen on the way to it.
    pub(crate) budget: u32,
}
