//! All that can be asked of stored fingerprints. Every query owns the snapshot that it looks at.

mod ask;
mod background;
pub(crate) mod batch;
pub(crate) mod clusters;
mod flow;
pub(crate) mod join;
pub(crate) mod search;

pub use batch::{Answer, Answers, BatchPlan, BatchSummary, OwnedAnswer};
pub use clusters::{ClusterSummary, Clustered, Clusters, Keep};
pub use flow::Flow;
pub use join::{JoinEvent, JoinSummary, ListJoin, Pair, Pairs};
