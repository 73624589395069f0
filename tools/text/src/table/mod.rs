//! Document frequencies, their file, and how they are counted.

mod builder;
mod counts;
mod file;

pub use builder::TableBuilder;
pub(crate) use counts::Counts;
pub use file::Table;
