//! What deletions leave of a fingerprint.

/// What is hidden of a fingerprint where it was written before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    Nothing,
    /// All of it.
    Whole,
    /// These ids, ascending.
    Ids(Vec<u64>),
}

impl Hidden {
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
