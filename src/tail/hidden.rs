//! What deletions leave of a fingerprint.

use crate::error::Result;
use crate::names::Naming;

/// What is hidden of a fingerprint where it was written before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    Nothing,
    /// All of it.
    Whole,
    /// The ids with these numbers, ascending.
    Ids(Vec<u64>),
}

impl Hidden {
    /// Some ids, each by a naming of its own, in a segment with the naming `to`.
    pub(crate) fn of_ids(ids: impl Iterator<Item = (u64, Naming)>, to: &Naming) -> Result<Self> {
        let mut numbers = Vec::new();
        for (id, naming) in ids {
            numbers.extend(naming.translate(id, to)?);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(if numbers.is_empty() { Self::Nothing } else { Self::Ids(numbers) })
    }

    /// What is hidden by both.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, hidden) | (hidden, Self::Nothing) => hidden,
            (Self::Ids(mut ids), Self::Ids(others)) => {
                ids.extend(others);
                ids.sort_unstable();
                ids.dedup();
                Self::Ids(ids)
            }
            _ => Self::Whole,
        }
    }
}
