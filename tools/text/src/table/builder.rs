//! Counting the documents that have each feature.

use super::counts::Counts;
use super::file::{Table, id, kind};
use crate::error::Error;
use crate::features::features;
use crate::recipe::{Features, Recipe};
use crate::text::Normaliser;

/// Counts the documents that have each feature. Its memory grows with the number of different
/// features of the corpus.
///
/// ```
/// use fpstore_text::{Fingerprinter, Recipe, TableBuilder};
///
/// let words: Recipe = "simhash-64 n=1".parse()?;
/// let mut builder = TableBuilder::new(&words)?;
/// for document in ["the cat", "the dog", "the cat and the dog"] {
///     builder.add(document.as_bytes());
/// }
/// let table = builder.finish(1);
/// let recipe: Recipe = format!("imatch table={} low=0 high=512", table.id()).parse()?;
/// Fingerprinter::with_table(&recipe, table.into())?;
/// # Ok::<(), fpstore_text::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableBuilder {
    kind: [u8; 16],
    features: Features,
    seed: u64,
    text: Normaliser,
    found: Vec<u64>,
    documents: u64,
    counts: Counts,
}

impl TableBuilder {
    /// A builder for the features of `recipe`; its method does not matter.
    ///
    /// # Errors
    ///
    /// [`Error::Contradiction`] if the method takes no features, [`Error::NotBuilt`] as in
    /// [`Fingerprinter::new`](crate::Fingerprinter::new).
    pub fn new(recipe: &Recipe) -> Result<TableBuilder, Error> {
        recipe.check_built()?;
        let Some(features) = recipe.features() else {
            return Err(Error::Contradiction {
                problem: "a table counts features, and the method of this recipe takes none",
            });
        };
        Ok(TableBuilder {
            kind: kind(recipe),
            features,
            seed: recipe.seed,
            text: Normaliser::new(recipe.text),
            found: Vec::new(),
            documents: 0,
            counts: Counts::default(),
        })
    }

    /// Counts the features of a document.
    pub fn add(&mut self, document: &[u8]) {
        self.documents += 1;
        self.found.clear();
        features(self.text.prepare(document).text, self.features, self.seed, |feature| {
            self.found.push(feature)
        });
        self.found.sort_unstable();
        self.found.dedup();
        for feature in &self.found {
            *self.counts.entry(*feature).or_default() += 1;
        }
    }

    /// Adds what another builder for the same recipe has counted, in another thread for instance.
    ///
    /// # Errors
    ///
    /// [`Error::Contradiction`] if it counts other features.
    pub fn merge(&mut self, other: TableBuilder) -> Result<(), Error> {
        if self.kind != other.kind {
            return Err(Error::Contradiction {
                problem: "the builders count features of different recipes",
            });
        }
        self.documents += other.documents;
        for (feature, count) in other.counts {
            *self.counts.entry(feature).or_default() += count;
        }
        Ok(())
    }

    /// The table, of the features that are in at least `least` documents; others count as being in
    /// none.
    #[must_use]
    pub fn finish(mut self, least: u64) -> Table {
        self.counts.retain(|_, count| *count >= least);
        let mut table = Table {
            id: crate::recipe::TableId([0; 16]),
            kind: self.kind,
            documents: self.documents,
            counts: self.counts,
        };
        table.id = id(&table.to_bytes());
        table
    }
}
