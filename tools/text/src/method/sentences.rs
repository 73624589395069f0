//! The longest sentences of a text.
//!
//! Sentences are those of UAX #29 that have a word, cut before case is folded where the recipe says
//! so: by rule SB8 no sentence begins with a lower-case letter, so that a text in lower case has
//! none behind a full stop. Each is as long as it has words, and its value is word 0 of what the
//! hashes of its words combine to, so that punctuation and blanks do not count. Of those of equal
//! length the lesser value counts as the longer. A text has the values of its `sentences` longest,
//! each once.

use unicode_segmentation::UnicodeSegmentation;

use crate::features::cut_words;
use crate::hash::{BASE, token_hash, word};
use crate::recipe::Cut;
use crate::text::{Case, TextRules, fold};

/// The sentences of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sentences {
    // How many words, and the value.
    found: Vec<(u64, u64)>,
    values: Vec<u64>,
    folded: String,
}

impl Sentences {
    /// Takes the sentences of `text`, and keeps the longest; gives how many there were.
    pub(crate) fn take(
        &mut self,
        text: &str,
        rules: TextRules,
        cut: Cut,
        seed: u64,
        longest: u32,
    ) -> u64 {
        let longest = longest as usize;
        let mut folded = std::mem::take(&mut self.folded);
        self.found.clear();
        let mut count = 0;
        for sentence in text.split_sentence_bounds() {
            let sentence = match rules.case {
                Case::FoldSentences => {
                    folded.clear();
                    fold(sentence, rules.form, Case::Fold, &mut folded);
                    &*folded
                }
                _ => sentence,
            };
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
        self.folded = folded;
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
