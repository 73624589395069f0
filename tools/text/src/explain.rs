//! What a fingerprint comes from, and why two differ.

use std::collections::BTreeMap;

use crate::features::{features, tokens};
use crate::fingerprinter::Fingerprinter;
use crate::hash::{combine, word};
use crate::method::python;
use crate::method::tally::weigh;
use crate::recipe::{Method, Tokens, Weight};
use crate::signature::{Found, Signature, jaccard};

/// A feature of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureUse {
    /// Its tokens, as they are in the prepared text; words with one blank between them.
    pub text: String,
    /// Its value.
    pub value: u64,
    /// How often it is there.
    pub count: u64,
    /// What it weighs by the recipe; 1 for methods that take sets.
    pub weight: u64,
}

/// A feature of one of two documents, or of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureShare {
    /// Its tokens.
    pub text: String,
    /// What it weighs in each document; 0 where it is not.
    pub weights: [u64; 2],
}

/// A bit in which two fingerprints differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferentBit {
    /// The bit of value 2^bit.
    pub bit: u32,
    /// For `simhash` and `projection`: the sum that decided on it in each document. Sums near zero
    /// say that little was needed to turn the bit.
    pub sums: Option<[i128; 2]>,
}

/// How two documents compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The Jaccard similarity of their sets of features.
    pub jaccard: f64,
    /// Their features, those first that weigh most in both together.
    pub features: Vec<FeatureShare>,
    /// The bits in which their fingerprints differ; `None` where one has no fingerprint, or the
    /// method gives several values.
    pub bits: Option<Vec<DifferentBit>>,
    /// How many values they have in common, for methods that give several.
    pub common: Option<usize>,
    /// What the signatures tell of the Jaccard similarity, for `minhash` and `onebit`; `None` for
    /// methods that tell nothing of it, and where one document has too few features.
    pub estimate: Option<f64>,
    /// Whether they agree by the recipe's rule; `None` where one has too few features.
    pub agree: Option<bool>,
}

impl Fingerprinter {
    /// The different features of a document, in the order in which they come first; the pieces that
    /// are hashed for `python-simhash`, and none for methods whose features are no n-grams.
    ///
    /// For people: it takes about a microsecond per feature.
    pub fn features(&mut self, document: &[u8]) -> Vec<FeatureUse> {
        let text = self.text.prepare(document).text;
        let mut found: Vec<(String, u64)> = Vec::new();
        if self.recipe.method == Method::PythonSimhash {
            python::pieces(text, |piece, value| found.push((piece.iter().collect(), value)));
        } else if let Some(of) = self.recipe.features() {
            let mut spans = Vec::new();
            tokens(text, of.tokens, self.recipe.seed, |span, hash| spans.push((&text[span], hash)));
            let join = if matches!(of.tokens, Tokens::Words(_)) { " " } else { "" };
            found.extend(spans.windows(of.n as usize).map(|window| {
                let words: Vec<&str> = window.iter().map(|(word, _)| *word).collect();
                (words.join(join), combine(window.iter().map(|(_, hash)| *hash)))
            }));
        }
        let mut first: BTreeMap<u64, usize> = BTreeMap::new();
        let mut uses: Vec<FeatureUse> = Vec::new();
        for (text, value) in found {
            let index = *first.entry(value).or_insert(uses.len());
            match uses.get_mut(index) {
                Some(known) => known.count += 1,
                None => uses.push(FeatureUse { text, value, count: 1, weight: 0 }),
            }
        }
        let weight = self.weight();
        for one in &mut uses {
            one.weight = weigh(weight, self.table.as_deref(), one.value, one.count);
        }
        uses
    }

    /// Replaces `set` by the different features of a document, ascending, for their exact
    /// [`jaccard`] similarity. For methods whose features are no n-grams it is what the signature
    /// is made of: spots, the longest sentences, pieces, or one hash of the text.
    pub fn feature_set(&mut self, document: &[u8], set: &mut Vec<u64>) {
        set.clear();
        if let Some(of) = self.recipe.features() {
            features(self.text.prepare(document).text, of, self.recipe.seed, |feature| {
                set.push(feature)
            });
        } else if self.recipe.method == Method::PythonSimhash {
            python::pieces(self.text.prepare(document).text, |_, hash| set.push(hash));
        } else {
            match self.fingerprint(document).found {
                Found::Signature(Signature::Set(values) | Signature::Slots(values)) => {
                    set.extend_from_slice(&values)
                }
                Found::Signature(Signature::Bits(fingerprint)) => set.push(fingerprint.limbs()[0]),
                Found::TooFew { exact } => set.push(exact as u64),
            }
        }
        set.sort_unstable();
        set.dedup();
    }

    /// Explains how two documents compare.
    pub fn compare(&mut self, a: &[u8], b: &[u8]) -> Comparison {
        let [uses_a, uses_b] = [a, b].map(|document| self.features(document));
        let [set_a, set_b] = [a, b].map(|document| {
            let mut set = Vec::new();
            self.feature_set(document, &mut set);
            set
        });
        let [found_a, found_b] = [a, b].map(|document| match self.fingerprint(document).found {
            Found::Signature(signature) => Some(signature.into_owned()),
            Found::TooFew { .. } => None,
        });
        let both = found_a.as_ref().zip(found_b.as_ref());
        let bits = both.and_then(|pair| match pair {
            (Signature::Bits(a), Signature::Bits(b)) => {
                let different = (0..a.width().bits()).filter(|bit| a.bit(*bit) != b.bit(*bit));
                let sums = |bit| Some([self.sum(&uses_a, bit)?, self.sum(&uses_b, bit)?]);
                Some(different.map(|bit| DifferentBit { bit, sums: sums(bit) }).collect())
            }
            _ => None,
        });
        let common = both.and_then(|pair| match pair {
            (Signature::Slots(a), Signature::Slots(b)) => {
                Some(a.iter().zip(&b[..]).filter(|(a, b)| a == b).count())
            }
            (Signature::Set(a), Signature::Set(b)) => Some(crate::overlap::overlap(a, b)),
            _ => None,
        });
        let estimate = both.and_then(|(a, b)| estimate(self.recipe.method, a, b));
        let agree = both.map(|(a, b)| self.recipe.rule().agree(a, b));
        Comparison {
            jaccard: jaccard(&set_a, &set_b),
            features: shares(uses_a, uses_b),
            bits,
            common,
            estimate,
            agree,
        }
    }

    fn weight(&self) -> Weight {
        match self.recipe.method {
            Method::Simhash { weight, .. } | Method::Projection { weight, .. } => weight,
            Method::PythonSimhash => Weight::Tf,
            _ => Weight::Presence,
        }
    }

    /// What decided on a bit: the weight of the features on its one side, less that of those on the
    /// other.
    fn sum(&self, uses: &[FeatureUse], bit: u32) -> Option<i128> {
        let side = |value: u64| match self.recipe.method {
            Method::Simhash { .. } => {
                Some(2 * i128::from(word(value, u64::from(bit) / 64) >> (bit % 64) & 1) - 1)
            }
            Method::Projection { .. } => {
                Some(i128::from(word(value, u64::from(bit)).count_ones()) - 32)
            }
            Method::PythonSimhash => Some(2 * i128::from(value >> bit & 1) - 1),
            _ => None,
        };
        uses.iter().map(|one| Some(i128::from(one.weight) * side(one.value)?)).sum()
    }
}

/// The Jaccard similarity at which as many slots would be equal, on average. Of two slots with
/// other minima, b bits each, one in 2^b is equal by chance.
fn estimate(method: Method, a: &Signature<'_>, b: &Signature<'_>) -> Option<f64> {
    let different = f64::from(a.difference(b)?);
    let (slots, bits) = match method {
        Method::OneBit { width, .. } => (width.bits(), 1),
        Method::MinHash { slots, keep_bits, .. } => (slots, keep_bits),
        _ => return None,
    };
    let chance = 0.5f64.powi(bits as i32);
    Some((1.0 - different / f64::from(slots) / (1.0 - chance)).max(0.0))
}

/// The features of both, the heaviest first.
fn shares(a: Vec<FeatureUse>, b: Vec<FeatureUse>) -> Vec<FeatureShare> {
    let mut all: BTreeMap<u64, FeatureShare> = BTreeMap::new();
    for (document, uses) in [a, b].into_iter().enumerate() {
        for one in uses {
            all.entry(one.value)
                .or_insert(FeatureShare { text: one.text, weights: [0; 2] })
                .weights[document] = one.weight;
        }
    }
    let mut shares: Vec<FeatureShare> = all.into_values().collect();
    shares.sort_by(|a, b| {
        let sum = |share: &FeatureShare| {
            std::cmp::Reverse(u128::from(share.weights[0]) + u128::from(share.weights[1]))
        };
        (sum(a), &a.text).cmp(&(sum(b), &b.text))
    });
    shares
}

#[cfg(test)]
mod tests {
    use crate::{Fingerprinter, Recipe};

    fn fingerprinter(recipe: &str) -> Fingerprinter {
        Fingerprinter::new(&recipe.parse::<Recipe>().unwrap()).unwrap()
    }

    #[test]
    fn features_are_counted_and_weighed() {
        let uses = fingerprinter("simhash-64 n=2").features(b"To be, or not to be");
        let shown: Vec<(&str, u64)> =
            uses.iter().map(|one| (one.text.as_str(), one.weight)).collect();
        assert_eq!(shown, [("to be", 2), ("be or", 1), ("or not", 1), ("not to", 1)]);
    }

    #[test]
    fn sums_explain_the_bits() {
        let (a, b) = (b"one two three four five six seven", b"one two three four five six eight");
        for recipe in [
            "simhash-64 n=1",
            "simhash-256 n=2 weight=logtf",
            "projection-64 weight=tf",
            "python-simhash",
        ] {
            let mut fingerprinter = fingerprinter(recipe);
            let comparison = fingerprinter.compare(a, b);
            let bits = comparison.bits.unwrap();
            assert!(!bits.is_empty(), "{recipe}");
            for bit in bits {
                let [a, b] = bit.sums.unwrap();
                assert!((a > 0) != (b > 0), "{recipe} {bit:?}");
            }
            assert!(comparison.jaccard > 0.5 && comparison.jaccard < 1.0);
        }
    }

    #[test]
    fn what_is_common_is_counted() {
        let comparison = fingerprinter("minhash-128 n=1")
            .compare(b"one two three four five", b"one two three four six");
        let common = comparison.common.unwrap();
        assert!((60..110).contains(&common), "{common}");
        assert_eq!(comparison.jaccard, 4.0 / 6.0);
        assert_eq!(comparison.features.iter().filter(|share| share.weights == [1, 1]).count(), 4);
        assert_eq!(comparison.agree, Some(false));
        assert_eq!(comparison.estimate, Some(common as f64 / 128.0));
    }

    #[test]
    fn signatures_of_minima_estimate_the_similarity() {
        let words: Vec<String> = (0..400).map(|word| format!("w{word}")).collect();
        let (a, b) = (words[..300].join(" "), words[100..].join(" "));
        for recipe in ["minhash-128 n=1 slots=4096", "minhash-128 n=1 slots=4096 keep-bits=2"] {
            let comparison = fingerprinter(recipe).compare(a.as_bytes(), b.as_bytes());
            assert_eq!(comparison.jaccard, 0.5);
            let estimate = comparison.estimate.unwrap();
            assert!((0.45..0.55).contains(&estimate), "{recipe}: {estimate}");
        }
        let mut onebit = fingerprinter("onebit-256 n=1");
        let estimate = onebit.compare(a.as_bytes(), b.as_bytes()).estimate.unwrap();
        assert!((0.3..0.7).contains(&estimate), "{estimate}");
        assert_eq!(onebit.compare(a.as_bytes(), a.as_bytes()).estimate, Some(1.0));
        assert_eq!(onebit.compare(a.as_bytes(), b"two words").estimate, None);
        assert_eq!(fingerprinter("simhash-64").compare(a.as_bytes(), a.as_bytes()).estimate, None);
    }
}
