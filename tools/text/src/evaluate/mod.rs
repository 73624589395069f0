//! How well recipes find near duplicates, over real texts and anyone's.
//!
//! * [`Change`] makes a near duplicate of a text, the same one every time.
//! * [`labelled`] pairs texts with their changed copies and with each other, with the true Jaccard
//!   similarity of each pair, by comparing whole sets.
//! * [`Signatures`] are those of all texts, with what they take.
//! * [`Curve`] holds for every similarity how far the signatures of a recipe were apart, and gives
//!   precision and recall for every k.
//!
//! ```
//! use fpstore_text::evaluate::{Curve, labelled};
//! use fpstore_text::{Fingerprinter, Recipe};
//!
//! let texts = [
//!     "Forty-one boats lay in the harbour at dawn, and one of them had not been there yesterday.",
//!     "The tide tables of 1998 lay open on his desk, and the page for May was missing. Nobody \
//!      had asked him to look for it again.",
//! ];
//! let recipe: Recipe = "onebit-256 n=2".parse()?;
//! let mut fingerprinter = Fingerprinter::new(&recipe)?;
//! let set = labelled(&texts, 1, &mut fingerprinter);
//! let curve = Curve::of(&set, &mut fingerprinter);
//! let score = curve.score(40, 16);
//! assert!(score.recall() > 0.9, "of the pairs with a Jaccard similarity of 0.8 and more");
//! # Ok::<(), fpstore_text::Error>(())
//! ```

mod change;
mod curve;
mod pairs;
mod script;
mod signatures;

pub use change::Change;
pub use curve::{BINS, Curve, Score};
pub use pairs::{Labelled, Pair, labelled};
pub use signatures::Signatures;
