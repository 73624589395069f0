//! What a document gets: a fingerprint, or several values, or the reason why it gets none.

use std::borrow::Cow;

use crate::fingerprint::Fingerprint;
use crate::overlap::overlap;
use crate::recipe::Rule;

/// What a document got.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<'a> {
    /// Its signature, or that it has too few features for one.
    pub found: Found<'a>,
    /// How many features it has, each as often as it is there: n-grams, spots, sentences, or for
    /// whole texts bytes.
    pub features: u64,
    /// How many sequences of its bytes were no UTF-8.
    pub invalid: u64,
}

/// A signature, or none.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'a> {
    /// What the document is compared by.
    Signature(Signature<'a>),
    /// The document has fewer different features than the recipe asks for, so that a signature
    /// would say nothing, or make near duplicates of documents that have nothing in common. Such
    /// documents are to be compared exactly.
    TooFew {
        /// XXH3-128 of the prepared text; of the bytes of the document if some were no UTF-8, since
        /// these are lost in the text.
        exact: u128,
    },
}

/// What documents of a recipe are compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature<'a> {
    /// A fingerprint, compared by the number of bits that differ.
    Bits(Fingerprint),
    /// Values that are compared one by one, each with that at the same place.
    ///
    /// Those of bands, super-shingles and I-Match depend on their place, so that they can stand in
    /// one store: values of different places are different.
    Slots(Cow<'a, [u64]>),
    /// Values of which it counts how many are common; ascending, each once.
    Set(Cow<'a, [u64]>),
}

impl Signature<'_> {
    /// The signature with its own memory.
    #[must_use]
    pub fn into_owned(self) -> Signature<'static> {
        match self {
            Signature::Bits(fingerprint) => Signature::Bits(fingerprint),
            Signature::Slots(slots) => Signature::Slots(Cow::Owned(slots.into_owned())),
            Signature::Set(set) => Signature::Set(Cow::Owned(set.into_owned())),
        }
    }

    /// All values of 64 bits, as a store of 64-bit fingerprints takes them; none for wider
    /// fingerprints.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        let (bits, values) = match self {
            Signature::Bits(fingerprint) => (fingerprint.as_u64(), &[][..]),
            Signature::Slots(values) | Signature::Set(values) => (None, &values[..]),
        };
        bits.into_iter().chain(values.iter().copied())
    }

    /// How many bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Signature::Bits(fingerprint) => fingerprint.limbs().len() * 8,
            Signature::Slots(values) | Signature::Set(values) => values.len() * 8,
        }
    }
}

impl Signature<'_> {
    /// By how much two signatures differ: the bits that differ; the slots that differ; for sets the
    /// Jaccard similarity that they lack, in percent, rounded up. `None` for signatures of
    /// different kinds or widths.
    #[must_use]
    pub fn difference(&self, other: &Signature<'_>) -> Option<u32> {
        match (self, other) {
            (Signature::Bits(a), Signature::Bits(b)) => a.distance(b),
            (Signature::Slots(a), Signature::Slots(b)) if a.len() == b.len() => {
                Some(a.iter().zip(&b[..]).filter(|(a, b)| a != b).count() as u32)
            }
            (Signature::Set(a), Signature::Set(b)) => {
                let common = overlap(a, b);
                let all = (a.len() + b.len() - common).max(1);
                Some(100 - (100 * common / all) as u32)
            }
            _ => None,
        }
    }
}

impl Rule {
    /// Whether two documents are near duplicates by this rule. False for signatures of different
    /// kinds or widths.
    #[must_use]
    pub fn agree(&self, a: &Signature<'_>, b: &Signature<'_>) -> bool {
        match (self, a, b) {
            (Rule::Within { k }, Signature::Bits(a), Signature::Bits(b)) => {
                a.distance(b).is_some_and(|distance| distance <= *k)
            }
            (Rule::Equal { least, .. }, Signature::Slots(a), Signature::Slots(b)) => {
                a.len() == b.len()
                    && a.iter().zip(&b[..]).filter(|(a, b)| a == b).count() >= *least as usize
            }
            (Rule::Common { least }, Signature::Set(a), Signature::Set(b)) => {
                overlap(a, b) >= *least as usize
            }
            (Rule::Jaccard { threshold }, Signature::Set(a), Signature::Set(b)) => {
                jaccard(a, b) >= *threshold
            }
            _ => false,
        }
    }
}

/// The Jaccard similarity of two sets: what they have in common, by what they have together. Both
/// are ascending and hold each value once; two empty sets have 0, since they say nothing.
#[must_use]
pub fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let common = overlap(a, b);
    let all = a.len() + b.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

/// The containment of two sets: which share of the smaller one is in the other. Both are ascending
/// and hold each value once; an empty set has 0, since it says nothing.
#[must_use]
pub fn containment(a: &[u64], b: &[u64]) -> f64 {
    let smaller = a.len().min(b.len());
    if smaller == 0 { 0.0 } else { overlap(a, b) as f64 / smaller as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_compare_what_they_are_for() {
        let slots = |values: &[u64]| Signature::Slots(values.to_vec().into());
        let set = |values: &[u64]| Signature::Set(values.to_vec().into());
        assert!(Rule::Equal { least: 2, of: 3 }.agree(&slots(&[1, 2, 3]), &slots(&[1, 3, 3])));
        assert!(!Rule::Equal { least: 2, of: 3 }.agree(&slots(&[1, 2, 3]), &slots(&[3, 1, 2])));
        assert!(Rule::Common { least: 2 }.agree(&set(&[1, 2, 3]), &set(&[2, 3, 9])));
        assert!(Rule::Jaccard { threshold: 0.5 }.agree(&set(&[1, 2, 3]), &set(&[2, 3, 9])));
        assert!(!Rule::Jaccard { threshold: 0.51 }.agree(&set(&[1, 2, 3]), &set(&[2, 3, 9])));
        assert!(!Rule::Within { k: 64 }.agree(&set(&[1]), &set(&[1])));
        assert_eq!(jaccard(&[], &[]), 0.0);
        assert_eq!(containment(&[2, 3, 9, 11], &[1, 2, 3]), 2.0 / 3.0);
        assert_eq!((containment(&[2], &[1, 2]), containment(&[], &[1])), (1.0, 0.0));
    }
}
