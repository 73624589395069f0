//! Pairs of texts whose similarity is known.

use super::change::Change;
use crate::fingerprinter::Fingerprinter;
use crate::signature::jaccard;

/// Texts, and pairs of them.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// The texts that were given, and after them the changed copies.
    pub texts: Vec<String>,
    /// The pairs.
    pub pairs: Vec<Pair>,
}

/// Two texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The one, by its place among the texts.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// How it was made of the first; `None` for two of the given texts.
    pub change: Option<Change>,
    /// The Jaccard similarity of their sets of features.
    pub jaccard: f64,
}

/// Each text with a copy for each [`Change`] that changes it, and with each of the given texts after it.
///
/// The true similarity is that of the [features](Fingerprinter::feature_set) of `truth`. Takes memory for the sets of all texts and time for all pairs of the
/// given texts: 2,000 texts of 2 KB take some seconds.
pub fn labelled<S: AsRef<str>>(given: &[S], seed: u64, truth: &mut Fingerprinter) -> Labelled {
    let mut texts: Vec<String> = given.iter().map(|text| text.as_ref().to_owned()).collect();
    let mut origins = Vec::new();
    for (origin, text) in given.iter().enumerate() {
        for change in Change::ALL {
            let changed = change.apply(text.as_ref(), seed);
            if changed != text.as_ref() {
                origins.push((origin, *change, texts.len()));
                texts.push(changed);
            }
        }
    }
    let mut set = |text: &String| {
        let mut set = Vec::new();
        truth.feature_set(text.as_bytes(), &mut set);
        set
    };
    let sets: Vec<Vec<u64>> = texts.iter().map(&mut set).collect();
    let pair =
        |a: usize, b: usize, change| Pair { a, b, change, jaccard: jaccard(&sets[a], &sets[b]) };
    let copies = origins.iter().map(|(a, change, b)| pair(*a, *b, Some(*change)));
    let others = (0..given.len()).flat_map(|a| (a + 1..given.len()).map(move |b| (a, b)));
    let pairs = copies.chain(others.map(|(a, b)| pair(a, b, None))).collect();
    Labelled { texts, pairs }
}
