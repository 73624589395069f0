/// A key that may be near a query, by what was compared of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    /// Number of its block among the candidates that were looked at.
    pub(crate) candidate: u32,
    /// Its number in the block.
    pub(crate) number: u32,
}
