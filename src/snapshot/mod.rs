//! What queries see of a store.

mod iter;
mod iter_ids;

pub use iter::Iter;
pub use iter_ids::IterWithIds;
