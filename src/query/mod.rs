//! What batches, joins and clusters give. The queries themselves are [`Batch`](crate::Batch),
//! [`Join`](crate::Join), [`Clustering`](crate::Clustering) and [`Searcher`](crate::Searcher); each
//! owns the snapshot that it looks at.

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
