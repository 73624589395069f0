//! Document frequencies: in how many documents of a corpus each feature is.

use sha2::{Digest, Sha256};

use super::counts::Counts;
use crate::error::Error;
use crate::log2::log2_256;
use crate::recipe::{Recipe, TableId};

const MAGIC: &[u8; 8] = b"fpstordf";
const VERSION: u64 = 1;
const HEADER_BYTES: usize = 48;

/// In how many documents of a corpus each feature is.
///
/// # The file
///
/// All numbers are little-endian.
///
/// | bytes | what |
/// |---|---|
/// | 8 | `fpstordf` |
/// | 8 | version: 1 |
/// | 16 | which features: the first 128 bits of the SHA-256 of the words of the recipe from `markup=` to `seed=` |
/// | 8 | documents in the corpus |
/// | 8 | features, n |
/// | 8 n | the features, ascending, each once |
/// | 8 n | in how many documents each is, in the same order; at least 1, at most all |
///
/// The id of a table is the first 128 bits of the SHA-256 of the file.
#[derive(Clone, Debug)]
pub struct Table {
    pub(super) id: TableId,
    pub(super) kind: [u8; 16],
    pub(super) documents: u64,
    pub(super) counts: Counts,
}

impl Table {
    /// Its name: the first 128 bits of the SHA-256 of its bytes.
    #[must_use]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The documents of the corpus.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The features that it knows.
    #[must_use]
    pub fn features(&self) -> usize {
        self.counts.len()
    }

    /// Whether features made by `recipe` are those that it counts.
    #[must_use]
    pub fn fits(&self, recipe: &Recipe) -> bool {
        self.kind == kind(recipe)
    }

    /// The table of a file.
    ///
    /// # Errors
    ///
    /// [`Error::Table`] if the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Table, Error> {
        let wrong = |problem| Err(Error::Table { problem });
        let number = |at: usize| {
            bytes.get(at..at + 8).and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)))
        };
        if bytes.get(..8) != Some(MAGIC) {
            return wrong("it does not begin with `fpstordf`");
        }
        if number(8) != Some(VERSION) {
            return wrong("its version is not 1");
        }
        let (Some(documents), Some(features), Some(kind)) =
            (number(32), number(40), bytes.get(16..32))
        else {
            return wrong("it is cut off in its header");
        };
        let body = &bytes[HEADER_BYTES..];
        if features.checked_mul(16) != Some(body.len() as u64) {
            return wrong("it is not as long as its header says");
        }
        let (values, _) = body.as_chunks::<8>();
        let (values, counts) = values.split_at(features as usize);
        if !values.iter().map(|value| u64::from_le_bytes(*value)).is_sorted_by(|a, b| a < b) {
            return wrong("its features are not in ascending order");
        }
        let counted = values
            .iter()
            .zip(counts)
            .map(|(value, count)| (u64::from_le_bytes(*value), u64::from_le_bytes(*count)));
        let counts: Counts = counted.collect();
        if !counts.values().all(|count| (1..=documents).contains(count)) {
            return wrong("a feature is in no document, or in more than there are");
        }
        let mut kept = [0; 16];
        kept.copy_from_slice(kind);
        Ok(Table { id: id(bytes), kind: kept, documents, counts })
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sorted: Vec<(u64, u64)> =
            self.counts.iter().map(|(feature, count)| (*feature, *count)).collect();
        sorted.sort_unstable();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + 16 * sorted.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.kind);
        bytes.extend_from_slice(&self.documents.to_le_bytes());
        bytes.extend_from_slice(&(sorted.len() as u64).to_le_bytes());
        sorted.iter().for_each(|(feature, _)| bytes.extend_from_slice(&feature.to_le_bytes()));
        sorted.iter().for_each(|(_, count)| bytes.extend_from_slice(&count.to_le_bytes()));
        bytes
    }

    /// How rare a feature is, in 1/256 bit: log2 (documents + 1) - log2 (those that have it + 1).
    pub(crate) fn idf(&self, feature: u64) -> u64 {
        let count = self.counts.get(&feature).copied().unwrap_or(0);
        log2_256(self.documents.saturating_add(1)).saturating_sub(log2_256(count.saturating_add(1)))
    }
}

pub(super) fn id(bytes: &[u8]) -> TableId {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    TableId(std::array::from_fn(|index| digest[index]))
}

/// What features are made of, as a hash of the words that say so.
pub(super) fn kind(recipe: &Recipe) -> [u8; 16] {
    let line = recipe.to_string();
    let words = line.split(' ').skip_while(|word| !word.starts_with("markup="));
    let words: Vec<&str> = words.take_while(|word| !word.starts_with("few=")).collect();
    id(words.join(" ").as_bytes()).0
}
