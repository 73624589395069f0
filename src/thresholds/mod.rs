//! Thresholds: how many bits may differ inside the top of each table of a design, so that together
//! the tables find everything within k ([`solver`]), with as few blocks touched as the expected
//! descents of the router allow ([`descent`]), once for all stores ([`shared`]).

pub(crate) mod descent;
pub(crate) mod shared;
pub(crate) mod solver;

use descent::DescentModel;

use crate::design::Design;

impl Design {
    /// The thresholds with the least predicted work that make a search within `k` exact over
    /// tables of `blocks` blocks: for each table the number of bits that may differ inside its top,
    /// or `None` where it is not needed. `None` for all of them means that reading every column
    /// of one table is less work.
    ///
    /// Takes a millisecond for disjoint tops, and up to some tens for overlapping ones.
    pub fn thresholds(&self, k: u32, blocks: u64) -> Option<Vec<Option<u32>>> {
        solver::solve(self, k, &DescentModel::new(blocks)).map(|(thresholds, _)| thresholds)
    }
}
