//! What queries see of a store: the segments of one moment, shared by all that look at them.
//!
//! A [`Snapshot`] never changes. A store that is written anew gives another one, and the files of
//! this one stay readable, as mappings, until nobody holds it. How the segments make one set is
//! decided here and nowhere else: in order by the [`cursor`], for answers that come in any order by
//! [`union`](mod@union).

mod contents;
pub(crate) mod cursor;
mod hiding;
mod iter;
pub(crate) mod parts;
mod settle;
mod shards;
mod stats;
pub(crate) mod union;
mod verify;

pub use contents::Snapshot;
pub use iter::{Iter, IterWithIds};
pub use stats::{LivingStats, SegmentStats, Stats};
pub use verify::VerifyReport;
