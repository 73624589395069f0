//! The planner: predicts size and latency of every design, and recommends one.
//!
//! A design trades space for time, and which one is best depends on the number of fingerprints, on
//! the radius, and a little on the machine. The planner predicts for each design and size of blocks
//! what a pack will write (from the cost of uniform keys under the codecs, or from a sample), what
//! a search will touch (from the expected descents of the router), and what that takes (from the
//! [costs](crate::costs::Costs) of a machine).
//!
//! It does not look at a store, and it does not know the queries: it takes them to be distributed
//! like the set, and without matches unless it is told how many there are. [`search_touches`]
//! predicts the same way for a store that is open.

mod layout;
mod planner;
mod predict;
mod prefer;
mod sample;
mod short;
#[cfg(test)]
mod tests;
mod uneven;

pub use layout::Layout;
pub(crate) use layout::{IndexLayout, TableLayout};
pub use planner::Planner;
pub use predict::{Plan, TablePlan};
pub(crate) use predict::{Touched, search_touches};
pub use prefer::Prefer;
