//! Runs of ideographs, cut by a dictionary.

use std::sync::OnceLock;

use jieba_rs::Jieba;

use super::kinds::is_ideograph;
use super::sink::Sink;
use super::unicode::words;

/// Gives `sink` the words of `text`, runs of ideographs cut by jieba without its hidden Markov
/// model.
pub(crate) fn words_by_dictionary<S: Sink>(text: &str, sink: &mut S) {
    static JIEBA: OnceLock<Jieba> = OnceLock::new();
    let jieba = JIEBA.get_or_init(Jieba::new);
    let mut runs = Runs { text, jieba, start: 0, end: 0, sink };
    words(text, &mut runs);
    runs.flush();
}

/// Joins ideographs that stand beside each other.
struct Runs<'a, S> {
    text: &'a str,
    jieba: &'a Jieba,
    start: usize,
    end: usize,
    sink: &'a mut S,
}

impl<S: Sink> Runs<'_, S> {
    fn flush(&mut self) {
        let mut start = self.start;
        if self.start < self.end {
            for piece in self.jieba.cut(&self.text[self.start..self.end], false) {
                let word: &str = piece;
                self.sink.word(word.as_bytes(), start);
                start += word.len();
            }
        }
        self.start = self.end;
    }
}

impl<S: Sink> Sink for Runs<'_, S> {
    fn word(&mut self, word: &[u8], start: usize) {
        let ideograph = is_ideograph(word);
        if !ideograph || start != self.end {
            self.flush();
        }
        if ideograph {
            if self.start == self.end {
                self.start = start;
            }
            self.end = start + word.len();
        } else {
            self.sink.word(word, start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_by_the_dictionary_and_the_rest_is_not() {
        let mut found = Vec::new();
        words_by_dictionary(
            "我们在北京大学 study 自然语言处理。かな",
            &mut |word: &[u8], start: usize| {
                found.push((start, String::from_utf8(word.to_vec()).unwrap()));
            },
        );
        let words: Vec<&str> = found.iter().map(|(_, word)| word.as_str()).collect();
        assert_eq!(words, ["我们", "在", "北京大学", "study", "自然语言", "处理", "か", "な"]);
        assert_eq!(found[2].0, 9);
    }
}
