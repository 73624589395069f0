//! I-Match: Chowdhury, Frieder, Grossman, McCabe, *Collection statistics for fast duplicate
//! document detection*, TOIS 2002; with several lexicons: Kołcz, Chowdhury, Alspector, KDD 2004.
//!
//! The features whose idf lies in a band make up lexicon 0. Lexicon i leaves those out whose word
//! i, without its lower 32 bits, is less than `drop * 2^32 / 100`. The key of lexicon i is word i
//! of what the document's features in it, ascending and each once, combine to; if there is none,
//! word i of the lower half of the document's exact hash.

use std::sync::Arc;

use crate::hash::{combine, word};
use crate::table::Table;

/// The keys of a document.
#[derive(Clone, Debug)]
pub(crate) struct IMatch {
    table: Arc<Table>,
    band: std::ops::RangeInclusive<u64>,
    lexicons: u32,
    drop: u32,
    found: Vec<u64>,
    keys: Vec<u64>,
}

impl IMatch {
    pub(crate) fn new(
        table: Arc<Table>,
        band: std::ops::RangeInclusive<u64>,
        lexicons: u32,
        drop: u32,
    ) -> IMatch {
        IMatch { table, band, lexicons, drop, found: Vec::new(), keys: Vec::new() }
    }

    /// How many different features of the document are in the band.
    pub(crate) fn count(&mut self) -> usize {
        self.found.sort_unstable();
        self.found.dedup();
        self.found.retain(|feature| self.band.contains(&self.table.idf(*feature)));
        self.found.len()
    }

    /// The keys of the features that were counted.
    pub(crate) fn finish(&mut self, exact: u128) -> &[u64] {
        let limit = u64::from(self.drop) * (1 << 32) / 100;
        self.keys.clear();
        for lexicon in 0..u64::from(self.lexicons) {
            let mut known = self
                .found
                .iter()
                .copied()
                .filter(|one| lexicon == 0 || word(*one, lexicon) >> 32 >= limit)
                .peekable();
            let sum = if known.peek().is_some() { combine(known) } else { exact as u64 };
            self.keys.push(word(sum, lexicon));
        }
        &self.keys
    }
}

impl super::Sketch for IMatch {
    fn clear(&mut self) {
        self.found.clear();
        self.found.shrink_to(1 << 20);
    }

    #[inline]
    fn add(&mut self, feature: u64) {
        self.found.push(feature);
    }
}
