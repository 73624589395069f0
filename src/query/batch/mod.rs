//! Many searches at once (section 3.3 of the paper).
//!
//! Two plans, of which the one with the least predicted time is taken: *[search](single)* asks one
//! query after the other; *[sweep](mod@sweep)* lists the queries in memory and reads the store past
//! them, as the paper does for a batch; for large radii by the engine of joins. Of what is not in
//! memory [`disk`] tells how long reading takes.

mod disk;
mod nearest;
mod options;
mod pieces;
mod run;
mod single;
mod sweep;
#[cfg(test)]
mod tests;

pub use options::{Answer, Batch, BatchPlan, BatchSummary, OwnedAnswer};
pub use run::Answers;
#[cfg(feature = "internals")]
pub(crate) use sweep::vector_ns;
