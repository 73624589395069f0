//! From documents to signatures.

use std::sync::Arc;

use crate::error::Error;
use crate::features::features;
use crate::fingerprint::Width;
use crate::method::hyperplanes::Hyperplanes;
use crate::method::imatch::IMatch;
use crate::method::projection::Projection;
use crate::method::sentences::Sentences;
use crate::method::slots::Slots;
use crate::method::spots::Spots;
use crate::method::{Sketch, exact, python};
use crate::recipe::{Cut, Method, Recipe, TextHash, Tokens};
use crate::signature::{Found, Outcome, Signature};
use crate::table::Table;
use crate::text::{Case, Form, Ignorable, Markup, Normaliser, Prepared, Space, TextRules};

/// Gives documents their signatures.
///
/// It keeps its buffers from one document to the next, some 16 MiB at most for each. One serves one
/// thread; its clones share the table.
///
/// ```
/// use fpstore_text::{Fingerprinter, Found, Recipe, Signature};
///
/// let recipe: Recipe = "simhash-64".parse()?;
/// let mut fingerprinter = Fingerprinter::new(&recipe)?;
/// let outcome = fingerprinter.fingerprint("To be, or not to be, that is the question".as_bytes());
/// let Found::Signature(Signature::Bits(fingerprint)) = outcome.found else { unreachable!() };
/// assert_eq!(fingerprint.to_string(), "112a560ff02fa055");
///
/// // Too little to say what is near.
/// assert!(matches!(fingerprinter.fingerprint(b"To be").found, Found::TooFew { .. }));
/// # Ok::<(), fpstore_text::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    pub(crate) recipe: Recipe,
    pub(crate) table: Option<Arc<Table>>,
    pub(crate) text: Normaliser,
    engine: Engine,
    few: Few,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
enum Engine {
    Simhash64(Hyperplanes<1>),
    Simhash128(Hyperplanes<2>),
    Simhash256(Hyperplanes<4>),
    Projection(Projection),
    Lowest(Slots, u32),
    OneBit(Slots),
    Bands(Slots, u32),
    IMatch(IMatch),
    Spots(Spots),
    Sentences(Sentences, u32),
    Exact(Width, TextHash),
    Python,
}

impl Fingerprinter {
    /// A fingerprinter for a recipe that needs no table.
    ///
    /// # Errors
    ///
    /// [`Error::NotBuilt`] if the recipe needs a feature of this crate that is off,
    /// [`Error::TableNeeded`] if it needs a table.
    pub fn new(recipe: &Recipe) -> Result<Fingerprinter, Error> {
        Fingerprinter::build(recipe, None)
    }

    /// A fingerprinter for a recipe that names `table`.
    ///
    /// # Errors
    ///
    /// [`Error::NotBuilt`] if the recipe needs a feature of this crate that is off,
    /// [`Error::TableMismatch`] if it names another table or none, [`Error::Contradiction`] if the
    /// table counts other features than the recipe has.
    pub fn with_table(recipe: &Recipe, table: Arc<Table>) -> Result<Fingerprinter, Error> {
        Fingerprinter::build(recipe, Some(table))
    }

    fn build(recipe: &Recipe, table: Option<Arc<Table>>) -> Result<Fingerprinter, Error> {
        recipe.check_built()?;
        check_table(recipe, table.as_deref())?;
        let engine = engine(recipe, table.clone())?;
        let rules = match recipe.method {
            Method::PythonSimhash => TextRules {
                markup: Markup::Keep,
                ignorable: Ignorable::Keep,
                form: Form::None,
                case: Case::Keep,
                space: Space::Keep,
            },
            _ => recipe.text,
        };
        let few = Few { limit: recipe.few as usize, seen: Vec::with_capacity(recipe.few as usize) };
        Ok(Fingerprinter {
            recipe: recipe.clone(),
            table,
            text: Normaliser::new(rules),
            engine,
            few,
        })
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The signature of a document, which should be UTF-8; what is not is replaced and counted.
    ///
    /// Takes time linear in the document, up to a logarithm, and memory linear in it.
    pub fn fingerprint<'a>(&'a mut self, document: &'a [u8]) -> Outcome<'a> {
        self.look(document, None)
    }

    /// As [`Self::fingerprint`], and what documents are compared exactly by: the hash of the class
    /// *too few*, whether the document is of it or not. Equal prepared texts have equal hashes.
    pub fn fingerprint_with_exact<'a>(&'a mut self, document: &'a [u8]) -> (Outcome<'a>, u128) {
        let mut exact = 0;
        (self.look(document, Some(&mut exact)), exact)
    }

    fn look<'a>(&'a mut self, document: &'a [u8], exact: Option<&mut u128>) -> Outcome<'a> {
        let Fingerprinter { recipe, text, engine, few, .. } = self;
        let Prepared { text, invalid } = text.prepare(document);
        let hashed = exact::hashed(document, text, invalid);
        if let Some(exact) = exact {
            *exact = exact::hash(hashed);
        }
        few.seen.clear();
        let mut grams = Grams { text, recipe, few, count: 0 };
        let signature = match engine {
            Engine::Simhash64(planes) => grams.give(planes).then(|| planes.finish()).flatten(),
            Engine::Simhash128(planes) => grams.give(planes).then(|| planes.finish()).flatten(),
            Engine::Simhash256(planes) => grams.give(planes).then(|| planes.finish()).flatten(),
            Engine::Projection(projection) => {
                grams.give(projection).then(|| projection.finish()).flatten()
            }
            Engine::Lowest(slots, bits) => {
                grams.give(slots).then(|| Signature::Slots(slots.finish_lowest(*bits).into()))
            }
            Engine::OneBit(slots) => {
                grams.give(slots).then(|| slots.finish_bits().map(Signature::Bits)).flatten()
            }
            Engine::Bands(slots, rows) => {
                grams.give(slots).then(|| Signature::Slots(slots.finish_bands(*rows).into()))
            }
            Engine::IMatch(imatch) => {
                grams.give(imatch);
                let enough = imatch.count() >= recipe.few as usize;
                enough.then(|| Signature::Slots(imatch.finish(exact::hash(hashed)).into()))
            }
            Engine::Spots(spots) => {
                grams.count = spots.take(text, cut(recipe), recipe.seed);
                set(spots.values(), recipe.few)
            }
            Engine::Sentences(sentences, longest) => {
                let (rules, cut) = (recipe.text, cut(recipe));
                grams.count = sentences.take(text, rules, cut, recipe.seed, *longest);
                set(sentences.values(), recipe.few)
            }
            Engine::Exact(width, hash) => {
                grams.count = text.len() as u64;
                let enough = !text.is_empty();
                enough
                    .then(|| exact::fingerprint(hashed, *width, *hash).map(Signature::Bits))
                    .flatten()
            }
            Engine::Python => {
                let mut counts = python::Counts::new();
                python::pieces(text, |_, hash| grams.see(hash, &mut counts));
                grams.enough().then(|| Signature::Bits(counts.finish()))
            }
        };
        let features = grams.count;
        let found = signature
            .map_or_else(|| Found::TooFew { exact: exact::hash(hashed) }, Found::Signature);
        Outcome { found, features, invalid }
    }
}

/// The features of a document on their way into a sketch.
struct Grams<'a> {
    text: &'a str,
    recipe: &'a Recipe,
    few: &'a mut Few,
    count: u64,
}

impl Grams<'_> {
    /// Gives all features to `sketch`; whether enough of them are different.
    fn give<S: Sketch>(&mut self, sketch: &mut S) -> bool {
        sketch.clear();
        let (mut count, few) = (0, &mut *self.few);
        features(self.text, self.recipe.features, self.recipe.seed, |feature| {
            count += 1;
            few.see(feature);
            sketch.add(feature);
        });
        self.count = count;
        self.enough()
    }

    fn see<S: Sketch>(&mut self, feature: u64, sketch: &mut S) {
        self.count += 1;
        self.few.see(feature);
        sketch.add(feature);
    }

    fn enough(&self) -> bool {
        self.few.seen.len() >= self.few.limit
    }
}

/// The first different features of a document, up to the number that it must have.
#[derive(Clone, Debug)]
struct Few {
    limit: usize,
    seen: Vec<u64>,
}

impl Few {
    #[inline]
    fn see(&mut self, feature: u64) {
        if self.seen.len() < self.limit && !self.seen.contains(&feature) {
            self.seen.push(feature);
        }
    }
}

fn set(values: &[u64], few: u32) -> Option<Signature<'_>> {
    (values.len() >= few as usize).then(|| Signature::Set(values.into()))
}

/// How a method that takes words, and no n-grams of them, finds them.
fn cut(recipe: &Recipe) -> Cut {
    match recipe.features.tokens {
        Tokens::Words(cut) => cut,
        Tokens::Chars(_) => Cut::Uax29,
    }
}

fn check_table(recipe: &Recipe, table: Option<&Table>) -> Result<(), Error> {
    let (needed, found) = (recipe.table(), table.map(Table::id));
    match (needed, found) {
        (Some(needed), None) => return Err(Error::TableNeeded { needed: needed.to_string() }),
        (needed, Some(found)) if needed != Some(found) => {
            let needed = needed.map_or_else(|| "none".to_owned(), |needed| needed.to_string());
            return Err(Error::TableMismatch { found: found.to_string(), needed });
        }
        _ => {}
    }
    match table {
        Some(table) if !table.fits(recipe) => Err(Error::Contradiction {
            problem: "the table counts features of another kind than those of the recipe",
        }),
        _ => Ok(()),
    }
}

fn engine(recipe: &Recipe, table: Option<Arc<Table>>) -> Result<Engine, Error> {
    Ok(match recipe.method {
        Method::Simhash { width: Width::W64, weight } => {
            Engine::Simhash64(Hyperplanes::new(weight, table))
        }
        Method::Simhash { width: Width::W128, weight } => {
            Engine::Simhash128(Hyperplanes::new(weight, table))
        }
        Method::Simhash { width: Width::W256, weight } => {
            Engine::Simhash256(Hyperplanes::new(weight, table))
        }
        Method::Projection { width, weight } => {
            Engine::Projection(Projection::new(width, weight, table))
        }
        Method::MinHash { slots, scheme, keep_bits } => {
            Engine::Lowest(Slots::new(scheme, slots), keep_bits)
        }
        Method::OneBit { width, scheme } => Engine::OneBit(Slots::new(scheme, width.bits())),
        Method::Bands { bands, rows, scheme }
        | Method::SuperShingles { bands, rows, scheme, .. } => {
            Engine::Bands(Slots::new(scheme, bands * rows), rows)
        }
        Method::IMatch { table: id, low, high, lexicons, drop } => {
            let table = table.ok_or_else(|| Error::TableNeeded { needed: id.to_string() })?;
            Engine::IMatch(IMatch::new(table, u64::from(low)..=u64::from(high), lexicons, drop))
        }
        Method::SpotSigs { antecedents, distance, chain, .. } => {
            Engine::Spots(Spots::new(antecedents, distance, chain, recipe.seed))
        }
        Method::LongestSentences { sentences, .. } => {
            Engine::Sentences(Sentences::default(), sentences)
        }
        Method::Exact { width, hash } => Engine::Exact(width, hash),
        Method::PythonSimhash => Engine::Python,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_hash_is_that_of_documents_with_too_few_features() {
        let mut few = Fingerprinter::new(&"simhash-64 few=64".parse().unwrap()).unwrap();
        let mut enough = Fingerprinter::new(&"simhash-64 few=1".parse().unwrap()).unwrap();
        for document in [&b"One two  three four"[..], b"One\xfftwo three four"] {
            let (outcome, exact) = enough.fingerprint_with_exact(document);
            assert!(matches!(outcome.found, Found::Signature(_)));
            assert_eq!(few.fingerprint(document).found, Found::TooFew { exact });
        }
    }

    #[test]
    fn threads_can_have_one_each_and_agree() {
        let recipe: Recipe = "simhash-128".parse().unwrap();
        let fingerprinter = Fingerprinter::new(&recipe).unwrap();
        let document =
            "one fingerprinter serves one thread, and its clones give the same as it does";
        let answers: Vec<_> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..4)
                .map(|_| {
                    let mut mine = fingerprinter.clone();
                    scope.spawn(move || match mine.fingerprint(document.as_bytes()).found {
                        Found::Signature(signature) => signature.into_owned(),
                        Found::TooFew { .. } => panic!("few"),
                    })
                })
                .collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
