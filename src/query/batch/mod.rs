//! Many searches at once (section 3.3 of the paper).
//!
//! Three plans, of which the one with the least predicted time is taken: *[search](single)* asks
//! one query after the other; *[probe]* brings the queries into the order of each table and reads
//! the table once, in order; *[stream](mod@stream)* lists the queries in memory and reads the identity
//! table past them, as the paper does for a batch; for large radii by the engine of joins. Of what is not in memory [`disk`]
//! tells how long reading takes.

mod answer;
mod answers;
mod disk;
mod low;
mod options;
mod parts;
mod pieces;
mod probe;
mod run;
mod single;
mod stream;
#[cfg(test)]
mod tests;

pub use answer::{Answer, BatchPlan, BatchSummary, OwnedAnswer};
pub use answers::Answers;
pub(crate) use low::instruction_ns;
pub use options::Batch;
pub(crate) use stream::vector_ns;
