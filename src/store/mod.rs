//! Stores: a directory with a manifest and segments.

mod append;
mod backup;
mod budget;
pub(crate) mod commit;
#[cfg(test)]
mod crash;
pub(crate) mod edit;
mod estimate;
mod intake;
mod open;
mod options;
mod pack;
mod records;
mod session;
#[cfg(test)]
pub(crate) mod simulated;
pub(crate) mod standing;
pub(crate) mod target;
#[cfg(test)]
mod tests;

pub use backup::{Backup, BackupSummary};
pub use estimate::PackEstimate;
pub use open::{OpenOptions, Store, recipe_of, width_of};
pub use options::{PackSummary, Packer};
pub(crate) use pack::Packing;
pub use session::PackSession;
