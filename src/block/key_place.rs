/// The place of a key in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyPlace {
    pub(crate) block: u32,
    /// Its number in the block.
    pub(crate) number: u32,
}
