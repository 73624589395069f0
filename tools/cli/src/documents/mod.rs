//! Documents: texts with ids, as inputs hold them. `fpstore-corpus` reads them; here are the
//! options.

mod args;

pub use args::DocumentArgs;
pub use fpstore_corpus::{Documents, Inputs, Piece, Wanted};

#[cfg(test)]
mod arbitrary;
