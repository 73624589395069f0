//! How far signatures are apart, by how similar the texts are.

use super::pairs::Labelled;
use super::signatures::Signatures;
use crate::fingerprinter::Fingerprinter;

/// Into how many bins of equal width Jaccard similarities from 0 to 1 are sorted; 1 itself is in
/// the last.
pub const BINS: usize = 20;

/// How many pairs of each similarity have signatures that differ by how much
/// ([`Signature::difference`](crate::Signature::difference)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    // By bin and difference.
    counts: Vec<Vec<u64>>,
    // Pairs that no k finds, since one text has a signature and the other too few features, or both
    // are too few and differ.
    never: [u64; BINS],
}

/// How well pairs are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Pairs that are similar enough.
    pub relevant: u64,
    /// Pairs that were found.
    pub found: u64,
    /// Pairs that are both.
    pub both: u64,
}

impl Score {
    /// Which part of the found pairs is similar enough; 1 if none was found.
    #[must_use]
    pub fn precision(&self) -> f64 {
        part(self.both, self.found)
    }

    /// Which part of the similar pairs was found; 1 if there are none.
    #[must_use]
    pub fn recall(&self) -> f64 {
        part(self.both, self.relevant)
    }

    /// The harmonic mean of precision and recall.
    #[must_use]
    pub fn f1(&self) -> f64 {
        part(2 * self.both, self.found + self.relevant)
    }
}

fn part(of: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { of as f64 / all as f64 }
}

impl Default for Curve {
    fn default() -> Curve {
        Curve { counts: vec![Vec::new(); BINS], never: [0; BINS] }
    }
}

impl Curve {
    /// The curve of the recipe of `fingerprinter` over labelled pairs.
    #[must_use]
    pub fn of(set: &Labelled, fingerprinter: &mut Fingerprinter) -> Curve {
        let signatures = Signatures::of(&set.texts, fingerprinter);
        let mut curve = Curve::default();
        for pair in &set.pairs {
            curve.add(pair.jaccard, signatures.difference(pair.a, pair.b));
        }
        curve
    }

    /// Counts a pair of texts, and by how much their signatures differ; `None` if no k can find it.
    pub fn add(&mut self, jaccard: f64, difference: Option<u32>) {
        let bin = ((jaccard * BINS as f64) as usize).min(BINS - 1);
        match difference {
            None => self.never[bin] += 1,
            Some(difference) => {
                let counts = &mut self.counts[bin];
                counts.resize(counts.len().max(difference as usize + 1), 0);
                counts[difference as usize] += 1;
            }
        }
    }

    /// How many pairs there are in a bin, and how many of them have signatures that differ by at
    /// most `k`.
    #[must_use]
    pub fn bin(&self, bin: usize, k: u32) -> (u64, u64) {
        let counts = &self.counts[bin];
        let found = counts.iter().take(k as usize + 1).sum();
        (counts.iter().sum::<u64>() + self.never[bin], found)
    }

    /// How well pairs are found that lie in bin `relevant_from` and above (16: a Jaccard similarity
    /// of 0.8), if those are taken that differ by at most `k`.
    #[must_use]
    pub fn score(&self, k: u32, relevant_from: usize) -> Score {
        (0..BINS).fold(Score::default(), |score, bin| {
            let (all, found) = self.bin(bin, k);
            let relevant = bin >= relevant_from;
            let counted = |count: u64| if relevant { count } else { 0 };
            Score {
                relevant: score.relevant + counted(all),
                found: score.found + found,
                both: score.both + counted(found),
            }
        })
    }

    /// The greatest difference of any pair.
    #[must_use]
    pub fn greatest(&self) -> u32 {
        self.counts.iter().map(|counts| counts.len().saturating_sub(1) as u32).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_by_similarity_and_difference() {
        let mut curve = Curve::default();
        curve.add(1.0, Some(0));
        curve.add(0.95, Some(7));
        curve.add(0.8, None);
        curve.add(0.79, Some(3));
        curve.add(0.0, Some(60));
        assert_eq!(
            (curve.bin(19, 6), curve.bin(19, 7), curve.bin(16, 64), curve.bin(15, 3)),
            ((2, 1), (2, 2), (1, 0), (1, 1))
        );
        assert_eq!(curve.score(5, 16), Score { relevant: 3, found: 2, both: 1 });
        assert_eq!(
            (curve.score(5, 16).precision(), curve.score(7, 16).f1(), curve.greatest()),
            (0.5, 4.0 / 6.0, 60)
        );
    }
}
