//! Which documents are near a document.

mod bits;
mod index;
mod keys;
mod pairs;

pub use bits::{BitsIndex, pack};
pub use index::{Index, Near};
pub use keys::{KeyIndex, agree, difference, least_common, mixed, numbers};
pub use pairs::PairIndex;
