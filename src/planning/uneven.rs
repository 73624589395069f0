//! Designs of parts of uneven widths.
//!
//! With thresholds such as 1, 0, 0 the table that allows for a flip wants another width than those
//! that allow for none.

use crate::design::Design;
use crate::thresholds::descent::DescentModel;
use crate::thresholds::solver;

/// Most tables of a design.
const MAX_TABLES: u32 = 8;

/// For each number of tables the design of adjacent parts, the first of any width and the others
/// even, that touches the fewest blocks within `k`.
pub(super) fn designs(bits: u32, k: u32, model: &DescentModel) -> Vec<Design> {
    let best = |tables: u32| {
        let widths = (6..=bits * 3 / 4).map(|first| widths(bits, first, tables));
        widths
            .filter_map(|widths| Design::from_widths_for(bits, &widths).ok())
            .filter_map(|design| Some((solver::solve(&design, k, model)?.1, design)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, design)| design)
    };
    (2..=MAX_TABLES).filter_map(best).collect()
}

/// `first`, and the rest of the bits in equal parts.
fn widths(bits: u32, first: u32, tables: u32) -> Vec<u32> {
    let (others, rest) = (tables - 1, bits - first);
    let even = (0..others).map(|i| rest / others + u32::from(i < rest % others));
    [first].into_iter().chain(even).collect()
}
