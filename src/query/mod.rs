//! All that can be asked of stored fingerprints.

pub(crate) mod batch;
pub(crate) mod clusters;
pub(crate) mod join;
pub(crate) mod search;
