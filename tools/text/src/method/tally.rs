//! How often each feature of a document is there, and what it weighs.

use std::sync::Arc;

use crate::log2::log2_256;
use crate::recipe::Weight;
use crate::table::{Counts, Table};

/// What a map of counts may hold on to between documents.
const KEPT: usize = 1 << 16;

/// Counts features, and weighs them.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    weight: Weight,
    table: Option<Arc<Table>>,
    counts: Counts,
}

impl Tally {
    pub(crate) fn new(weight: Weight, table: Option<Arc<Table>>) -> Tally {
        Tally { weight, table, counts: Counts::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        self.counts.shrink_to(KEPT);
    }

    #[inline]
    pub(crate) fn add(&mut self, feature: u64) {
        *self.counts.entry(feature).or_default() += 1;
    }

    /// Every feature, with what it weighs.
    pub(crate) fn weighed(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(feature, count)| {
            (*feature, weigh(self.weight, self.table.as_deref(), *feature, *count))
        })
    }
}

/// What a feature weighs that is there `count` times.
pub(crate) fn weigh(weight: Weight, table: Option<&Table>, feature: u64, count: u64) -> u64 {
    match weight {
        Weight::Presence => 1,
        Weight::Tf => count,
        Weight::LogTf => log2_256(count + 1),
        Weight::TfIdf { .. } => log2_256(count + 1) * table.map_or(0, |table| table.idf(feature)),
    }
}
