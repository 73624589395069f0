//! Stores: a directory with a manifest and segments.

mod budget;
mod commit;
#[cfg(test)]
mod crash;
mod edit;
mod estimate;
mod intake;
mod open;
mod options;
mod pack;
mod prepared;
mod records;
mod session;
mod standing;
mod summary;
mod target;
#[cfg(test)]
mod tests;

pub(crate) use commit::with_unfinished_id_map;
pub use estimate::PackEstimate;
pub use open::{OpenOptions, Store};
pub use options::Packer;
pub use prepared::PreparedPack;
pub use session::PackSession;
pub use summary::PackSummary;
