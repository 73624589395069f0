//! What an index of documents gives.

use crate::error::Error;

/// A document near another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    pub document: u32,
    /// By how much their signatures differ.
    pub difference: u16,
    /// The Jaccard similarity of their features, where that is checked.
    pub jaccard: f32,
}

/// Finds the documents near one.
pub trait Index: Sync {
    /// Appends those that are near `document` by the rule of the recipe, in any order, each once,
    /// itself left out.
    fn near(&self, document: u32, found: &mut Vec<Near>) -> Result<(), Error>;
}
