//! What recipes are made of.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::fingerprint::Width;
use crate::text::TextRules;

/// What every line begins with.
pub(super) const START: &str = "text/1";

/// All that decides which fingerprint a document gets.
///
/// It is written as one line, its *canonical line*, which [`grammar`](crate::grammar) explains word
/// by word. The same line gives the same fingerprints on every machine, in every version of this
/// crate: a recipe is never changed, only superseded by one with another line.
///
/// ```
/// use fpstore_text::Recipe;
///
/// let recipe: Recipe = "simhash-64 n=5 seed=7".parse()?;
/// assert_eq!(
///     recipe.to_string(),
///     "text/1 simhash bits=64 weight=tf markup=keep unicode=16.0.0 norm=nfkc case=fold \
///      space=keep features=words cut=uax29 n=5 hash=xxh3 seed=7 few=4",
/// );
/// assert_eq!(Recipe::from_line(&recipe.to_string())?, recipe);
/// # Ok::<(), fpstore_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    pub(crate) method: Method,
    pub(crate) text: TextRules,
    pub(crate) features: Features,
    pub(crate) seed: u64,
    pub(crate) few: u32,
}

/// How features become fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Charikar's random hyperplanes over weighted features.
    Simhash {
        /// Bits of the fingerprint.
        width: Width,
        /// What a feature counts.
        weight: Weight,
    },
    /// Random projection of the vector of weights.
    Projection {
        /// Bits of the fingerprint.
        width: Width,
        /// What a feature counts.
        weight: Weight,
    },
    /// Minima of hash functions over the set of features, some bits of each.
    MinHash {
        /// The number of minima.
        slots: u32,
        /// How they are taken.
        scheme: Scheme,
        /// How many bits of each are kept.
        keep_bits: u32,
    },
    /// One bit of each of as many minima as the fingerprint has bits.
    OneBit {
        /// Bits of the fingerprint.
        width: Width,
        /// How the minima are taken.
        scheme: Scheme,
    },
    /// Bands of minima, each hashed to one key.
    Bands {
        /// The number of bands.
        bands: u32,
        /// The minima in each.
        rows: u32,
        /// How they are taken.
        scheme: Scheme,
    },
    /// Broder's super-shingles: bands of which several must agree.
    SuperShingles {
        /// The number of super-shingles.
        bands: u32,
        /// The minima in each.
        rows: u32,
        /// How they are taken.
        scheme: Scheme,
        /// How many super-shingles must agree.
        agree: u32,
    },
    /// A hash of the words whose idf lies in a band, for several lexicons of which some words are
    /// left out at random.
    IMatch {
        /// The document frequencies.
        table: TableId,
        /// The least idf, in 1/256 bit.
        low: u32,
        /// The greatest idf, in 1/256 bit.
        high: u32,
        /// The number of lexicons; the first has all words.
        lexicons: u32,
        /// How many percent of the words each further lexicon leaves out.
        drop: u32,
    },
    /// Chains of words that follow frequent words.
    SpotSigs {
        /// Which frequent words.
        antecedents: Antecedents,
        /// The distance between the words of a chain.
        distance: u32,
        /// The words of a chain.
        chain: u32,
        /// The Jaccard similarity from which documents agree, in percent.
        percent: u32,
    },
    /// The longest sentences.
    LongestSentences {
        /// How many.
        sentences: u32,
        /// How many must agree.
        agree: u32,
    },
    /// The whole text.
    Exact {
        /// Bits of the fingerprint.
        width: Width,
        /// The hash function.
        hash: TextHash,
    },
    /// What the Python package `simhash` 2.1.2 gives with its defaults.
    PythonSimhash,
}

/// How minima are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// A hash function for each.
    Independent,
    /// One hash function, whose values are dealt out to the minima; those that got none copy others
    /// (optimal densification).
    OnePermutation,
    /// Rounds of dealing out, each with its hash function, until every minimum has got a value
    /// (fast similarity sketching).
    Rounds,
}

/// What a feature counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weight {
    /// One.
    Presence,
    /// As often as it is there.
    Tf,
    /// The logarithm of how often it is there.
    LogTf,
    /// That, times the logarithm of how rare it is elsewhere.
    TfIdf {
        /// The document frequencies.
        table: TableId,
    },
}

/// The hash function of the method `exact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextHash {
    /// XXH3, of 64 or 128 bits.
    Xxh3,
    /// The first bits of SHA-256.
    Sha256,
}

/// Lists of frequent words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Antecedents {
    /// Of English.
    English,
    /// Of Chinese.
    Chinese,
    /// Of both.
    Both,
}

/// What features are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Features {
    /// Words or characters.
    pub tokens: Tokens,
    /// How many of them make a feature.
    pub n: u32,
}

/// Words or characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tokens {
    /// Words.
    Words(Cut),
    /// Characters.
    Chars(Keep),
}

/// Where words begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// At the boundaries of Unicode, which make each ideograph a word.
    Uax29,
    /// The same, and runs of ideographs are cut by jieba and its dictionary.
    Jieba,
}

/// Which characters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// All.
    All,
    /// Letters, marks and numbers.
    Letters,
}

/// The name of a table: the first 128 bits of the SHA-256 of its file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub [u8; 16]);

/// The name of a recipe: the first 128 bits of the SHA-256 of its canonical line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecipeId(pub [u8; 16]);

macro_rules! shown_as_hex {
    ($type:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

shown_as_hex!(TableId);
shown_as_hex!(RecipeId);

/// When two documents count as near duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Their fingerprints differ in at most `k` bits. `k` is a proposal: any other can be used with
    /// the same fingerprints.
    Within {
        /// The number of bits.
        k: u32,
    },
    /// At least `least` of `of` slots are equal, each compared with the one at the same place.
    Equal {
        /// How many.
        least: u32,
        /// Of how many.
        of: u32,
    },
    /// At least `least` values are in both sets.
    Common {
        /// How many.
        least: u32,
    },
    /// The sets have a Jaccard similarity of at least `threshold`.
    Jaccard {
        /// From 0 to 1.
        threshold: f64,
    },
}

impl RecipeId {
    /// The id of a line: the first 128 bits of its SHA-256.
    #[must_use]
    pub fn of_line(line: &str) -> RecipeId {
        let digest: [u8; 32] = Sha256::digest(line.as_bytes()).into();
        RecipeId(std::array::from_fn(|index| digest[index]))
    }
}

impl Recipe {
    /// How features become fingerprints.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// How the text is prepared.
    #[must_use]
    pub fn text(&self) -> TextRules {
        self.text
    }

    /// What features are made of; `None` for methods that take none.
    #[must_use]
    pub fn features(&self) -> Option<Features> {
        self.method.takes_features().then_some(self.features)
    }

    /// The seed of the hash function.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Documents with fewer features than this get no fingerprint.
    #[must_use]
    pub fn few(&self) -> u32 {
        self.few
    }

    /// The bits of a fingerprint; of methods that give several values, 64, those of each.
    #[must_use]
    pub fn bits(&self) -> u32 {
        match self.method {
            Method::Simhash { width, .. }
            | Method::Projection { width, .. }
            | Method::OneBit { width, .. }
            | Method::Exact { width, .. } => width.bits(),
            _ => u64::BITS,
        }
    }

    /// The table that it needs.
    #[must_use]
    pub fn table(&self) -> Option<TableId> {
        match self.method {
            Method::Simhash { weight: Weight::TfIdf { table }, .. }
            | Method::Projection { weight: Weight::TfIdf { table }, .. }
            | Method::IMatch { table, .. } => Some(table),
            _ => None,
        }
    }

    /// When two documents count as near duplicates.
    #[must_use]
    pub fn rule(&self) -> Rule {
        match self.method {
            Method::Simhash { width, .. } | Method::Projection { width, .. } => {
                Rule::Within { k: 3 * width.bits() / 64 }
            }
            // 40 of 256: half the bits of slots with other minima differ, so at a Jaccard
            // similarity of 0.8 some 26 of 256.
            Method::OneBit { width, .. } => Rule::Within { k: width.bits() * 10 / 64 },
            Method::Exact { .. } => Rule::Within { k: 0 },
            Method::PythonSimhash => Rule::Within { k: 3 },
            // A Jaccard similarity of 0.8; slots with other minima are equal with a probability of
            // 2^-keep_bits.
            Method::MinHash { slots, keep_bits, .. } => {
                let chance = 2f64.powi(keep_bits as i32).recip();
                Rule::Equal {
                    least: (f64::from(slots) * (0.8 + 0.2 * chance)).round() as u32,
                    of: slots,
                }
            }
            Method::Bands { bands, .. } => Rule::Equal { least: 1, of: bands },
            Method::SuperShingles { bands, agree, .. } => Rule::Equal { least: agree, of: bands },
            Method::IMatch { lexicons, .. } => Rule::Equal { least: 1, of: lexicons },
            Method::SpotSigs { percent, .. } => {
                Rule::Jaccard { threshold: f64::from(percent) / 100.0 }
            }
            Method::LongestSentences { agree, .. } => Rule::Common { least: agree },
        }
    }
}

impl Method {
    /// Whether n-grams of tokens are what it hashes.
    pub(crate) fn takes_features(&self) -> bool {
        !matches!(
            self,
            Method::LongestSentences { .. }
                | Method::SpotSigs { .. }
                | Method::Exact { .. }
                | Method::PythonSimhash
        )
    }

    /// The word for it in a line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Method::Simhash { .. } => "simhash",
            Method::Projection { .. } => "projection",
            Method::MinHash { .. } => "minhash",
            Method::OneBit { .. } => "onebit",
            Method::Bands { .. } => "bands",
            Method::SuperShingles { .. } => "supershingles",
            Method::IMatch { .. } => "imatch",
            Method::SpotSigs { .. } => "spotsigs",
            Method::LongestSentences { .. } => "longest-sentences",
            Method::Exact { .. } => "exact",
            Method::PythonSimhash => "python-simhash",
        }
    }
}
