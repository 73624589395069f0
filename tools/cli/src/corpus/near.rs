//! Which documents are near a document.

mod bits;
mod index;
mod keys;

pub use bits::BitsIndex;
pub use index::{Index, Near};
pub use keys::KeyIndex;
