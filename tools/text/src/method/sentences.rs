//! The longest sentences of a text.
//!
//! Sentences are those of UAX #29 that have a word; each is as long as it has words, and its value is word 0 of what the hashes of its words
//! combine to, so that punctuation and blanks do not count. Of those of equal length the lesser value counts as the longer. A text has
//! the values of its `sentences` longest, each once.

use unicode_segmentation::UnicodeSegmentation;

use crate::features::cut_words;
use crate::hash::{BASE, token_hash, word};
use crate::recipe::Cut;

/// The sentences of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sentences {
    // How many words, and the value.
    found: Vec<(u64, u64)>,
    values: Vec<u64>,
}

impl Sentences {
    /// Takes the sentences of `text`, and keeps the longest; gives how many there were.
    pub(crate) fn take(&mut self, text: &str, cut: Cut, seed: u64, longest: u32) -> u64 {
        let longest = longest as usize;
        self.found.clear();
        let mut count = 0;
        for sentence in text.split_sentence_bounds() {
            let (mut words, mut sum) = (0, 0u64);
            cut_words(sentence, cut, &mut |word: &[u8], _: usize| {
                words += 1;
                sum = sum.wrapping_mul(BASE).wrapping_add(token_hash(word, seed));
            });
            if words == 0 {
                continue;
            }
            count += 1;
            let one = (words, word(sum, 0));
            if !self.found.contains(&one) {
                self.found.push(one);
                self.found
                    .sort_unstable_by_key(|(words, value)| (std::cmp::Reverse(*words), *value));
                self.found.truncate(longest);
            }
        }
        self.values.clear();
        self.values.extend(self.found.iter().map(|(_, value)| value));
        self.values.sort_unstable();
        self.values.dedup();
        count
    }

    /// The values of the longest, ascending.
    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }
}
