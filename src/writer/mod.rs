//! Writes stores while they are read: log, tail, segments, merges.

mod core;
#[cfg(test)]
mod crash;
mod create;
mod flush;
mod front;
mod handle;
mod merging;
mod options;
mod outlook;
mod settings;
mod signals;
mod slowing;
mod staged;
#[cfg(test)]
mod tests;
mod timed;

pub use handle::{Verdict, Writer};
pub use options::{Durability, StoreOptions, WriterOptions};
pub use outlook::FullMerge;
pub use slowing::Slowing;
pub(crate) use staged::StagedStore;
