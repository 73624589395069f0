//! All that can be asked of stored fingerprints. Every query owns the snapshot that it looks at.

mod ask;
mod background;
pub(crate) mod batch;
pub(crate) mod clusters;
mod flow;
pub(crate) mod join;
pub(crate) mod search;

pub use flow::Flow;
