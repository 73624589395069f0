//! Merges segments: which ones, and how what they hold becomes the source of a new one.

pub(crate) mod policy;
mod source;

pub(crate) use source::{MergeIds, MergeSource, Merging, sample};
