//! What the numbers of ids stand for.

use std::sync::Arc;

use super::{LiveNames, NameColumn};
use crate::error::Result;
use crate::id::IdKind;

/// What the numbers of the ids of a segment, or of a log, stand for.
#[derive(Clone, Default)]
pub(crate) enum Naming {
    /// Themselves.
    #[default]
    Numbers,
    /// The names of a segment.
    Column(Arc<NameColumn>),
    /// The names of a log.
    Live(Arc<LiveNames>),
}

impl Naming {
    /// Puts the name of a number in place of `name`; of a number that stands for itself its bytes,
    /// so that the order is that of the ids.
    pub(crate) fn name(&self, number: u64, name: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Numbers => {
                name.clear();
                name.extend(number.to_be_bytes());
                Ok(())
            }
            Self::Column(names) => names.name(number, name),
            Self::Live(names) => {
                name.clear();
                names.with(number, |found| name.extend_from_slice(found));
                Ok(())
            }
        }
    }

    /// As [`Self::name`], of a name that is of this kind, or damaged. Those of logs were looked at
    /// when they were read ([LOG-6]).
    pub(crate) fn name_of_kind(&self, number: u64, name: &mut Vec<u8>, kind: IdKind) -> Result<()> {
        self.name(number, name)?;
        match self {
            Self::Column(names) => names.check_kind(number, name, kind),
            Self::Numbers | Self::Live(_) => Ok(()),
        }
    }

    /// The number of an id of which these are number and name, if it is there.
    pub(crate) fn find(&self, (number, name): (u64, &[u8])) -> Result<Option<u64>> {
        match self {
            Self::Numbers => Ok(Some(number)),
            Self::Column(names) => names.find(name),
            Self::Live(names) => Ok(names.find(name)),
        }
    }

    /// Puts numbers, which ascend, into the order of their ids.
    pub(crate) fn sort(&self, numbers: &mut [u64]) {
        if let Self::Live(names) = self {
            names.sort(numbers);
        }
    }

    /// The number that the id with this number has by another naming, if it has one.
    pub(crate) fn translate(&self, number: u64, to: &Self) -> Result<Option<u64>> {
        let is_same = match (self, to) {
            (Self::Numbers, Self::Numbers) => true,
            (Self::Column(own), Self::Column(other)) => Arc::ptr_eq(own, other),
            (Self::Live(own), Self::Live(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        if is_same {
            return Ok(Some(number));
        }
        let mut name = Vec::new();
        self.name(number, &mut name)?;
        to.find((number, &name))
    }

    /// Whether the numbers stand for themselves.
    pub(crate) fn is_numbers(&self) -> bool {
        matches!(self, Self::Numbers)
    }
}
