//! The write-ahead log (section 11 of the specification): what was written and stands in no segment
//! yet.

mod append;
mod follow;

pub(crate) use append::{LogWriter, Pending, keep_log};
pub(crate) use follow::{FollowedLog, Follower, GatheredLogs, Sequences};
