//! From text to near-duplicate fingerprints.
//!
//! * A [`Recipe`] is one line of text that fixes all that decides a fingerprint; [`grammar`]
//!   explains its words.
//! * A [`Fingerprinter`] gives documents their [`Signature`]s by a recipe: a [`Fingerprint`] of 64,
//!   128 or 256 bits, or several values.
//! * The recipe's [`Rule`] says when two signatures agree.
//! * A [`JaccardIndex`] finds sets by their Jaccard similarity, exactly: those of `spotsigs`, or
//!   the features of documents.
//! * [`image`] has the perceptual hash of the Python package ImageHash, for pictures.
//! * [`Fingerprinter::compare`] explains how two documents compare, feature by feature and bit by
//!   bit.
//! * A [`Table`] holds in how many documents of a corpus each feature is, for recipes that weigh by
//!   that.
//!
//! ```
//! use fpstore_text::{Fingerprinter, Found, Recipe};
//!
//! let recipe: Recipe = "simhash-64-chars".parse()?;
//! let mut fingerprinter = Fingerprinter::new(&recipe)?;
//! let outcome = fingerprinter.fingerprint("港务长每天黎明数一次船，黄昏再数一次。".as_bytes());
//! assert!(matches!(outcome.found, Found::Signature(_)));
//! # Ok::<(), fpstore_text::Error>(())
//! ```
//!
//! # How a document travels
//!
//! ```text
//! bytes -> text (UTF-8, markup, normal form, case, white space) -> tokens (words, characters)
//!       -> token hashes -> features (n-grams, one number each) -> words of a feature
//!       -> counters, minima, keys -> signature
//! ```
//!
//! A feature is never written down as text, and where it weighs as often as it is there it is not
//! stored either: it goes from the window over the token hashes straight into the counters of the
//! method.

mod ascii;
mod count;
mod error;
pub mod evaluate;
mod explain;
mod features;
mod fingerprint;
mod fingerprinter;
mod hash;
pub mod image;
mod join;
mod log2;
mod method;
mod overlap;
mod recipe;
mod signature;
mod table;
mod text;
mod words;

#[doc = include_str!("../GRAMMAR.md")]
pub mod grammar {}

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;

pub use error::Error;
pub use explain::{Comparison, DifferentBit, FeatureShare, FeatureUse};
pub use fingerprint::{Fingerprint, Width};
pub use fingerprinter::Fingerprinter;
pub use join::JaccardIndex;
pub use recipe::{
    Antecedents, Cut, Features, Keep, Method, Recipe, RecipeId, Rule, Scheme, TableId, TextHash,
    Tokens, Weight,
};
pub use signature::{Found, Outcome, Signature, containment, jaccard};
pub use table::{Table, TableBuilder};
pub use text::{Case, Form, Ignorable, Markup, Space, TextRules};
