//! Pairs of texts whose similarity is known.

use super::change::Change;
use crate::fingerprinter::Fingerprinter;
use crate::signature::jaccard;

/// Texts, and pairs of them.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// The texts that were given, and after them the changed copies.
    pub texts: Vec<String>,
    /// How many were given.
    pub given: usize,
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

/// Each text with a copy for each [`Change`] that changes it, and with each of the given texts
/// after it.
///
/// The true similarity is that of the [features](Fingerprinter::feature_set) of `truth`. Takes
/// memory for the sets of all texts and time for all pairs of the given texts: 2,000 texts of 2 KB
/// take some seconds.
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
    let sets = sets(&texts, truth);
    let pair =
        |a: usize, b: usize, change| Pair { a, b, change, jaccard: jaccard(&sets[a], &sets[b]) };
    let copies = origins.iter().map(|(a, change, b)| pair(*a, *b, Some(*change)));
    let others = (0..given.len()).flat_map(|a| (a + 1..given.len()).map(move |b| (a, b)));
    let pairs = copies.chain(others.map(|(a, b)| pair(a, b, None))).collect();
    Labelled { texts, given: given.len(), pairs }
}

impl Labelled {
    /// These pairs of texts, by their places, with the true similarity of each. Pairs of places
    /// that there are not are left out.
    #[must_use]
    pub fn of_pairs(
        texts: Vec<String>,
        pairs: &[(usize, usize)],
        truth: &mut Fingerprinter,
    ) -> Labelled {
        let sets = sets(&texts, truth);
        let pair = |&(a, b): &(usize, usize)| {
            let jaccard = jaccard(sets.get(a)?, sets.get(b)?);
            Some(Pair { a, b, change: None, jaccard })
        };
        Labelled { given: texts.len(), pairs: pairs.iter().filter_map(pair).collect(), texts }
    }
}

/// The sets of features of texts.
fn sets(texts: &[String], truth: &mut Fingerprinter) -> Vec<Vec<u64>> {
    let mut set = |text: &String| {
        let mut set = Vec::new();
        truth.feature_set(text.as_bytes(), &mut set);
        set
    };
    texts.iter().map(&mut set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_given_texts_get_their_similarity() {
        let mut truth = Fingerprinter::new(&"simhash-64 n=1".parse().unwrap()).unwrap();
        let texts = ["one two three", "one two four", "five"].map(str::to_string).to_vec();
        let set = Labelled::of_pairs(texts, &[(0, 1), (2, 0), (0, 3)], &mut truth);
        let similarities: Vec<f64> = set.pairs.iter().map(|pair| pair.jaccard).collect();
        assert_eq!((similarities, set.given), (vec![0.5, 0.0], 3));
    }
}
