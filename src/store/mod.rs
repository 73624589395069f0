//! Stores: a directory with a manifest and segments.

pub(crate) mod apart;
mod append;
mod backup;
mod budget;
pub(crate) mod commit;
#[cfg(test)]
mod crash;
pub(crate) mod edit;
mod estimate;
mod intake;
mod look;
mod open;
mod options;
mod pack;
mod packing;
mod prepared;
mod records;
mod session;
#[cfg(test)]
pub(crate) mod simulated;
pub(crate) mod standing;
mod summary;
pub(crate) mod target;
#[cfg(test)]
mod tests;

pub use backup::{Backup, BackupSummary};
pub use estimate::PackEstimate;
pub use look::{recipe_of, width_of};
pub use open::{OpenOptions, Store};
pub use options::Packer;
pub(crate) use packing::Packing;
pub use session::PackSession;
pub use summary::PackSummary;
