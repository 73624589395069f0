//! The words of a text: the pieces between the word boundaries of UAX #29 that have a letter or a
//! digit.
//!
//! Ideographs, Hiragana, and the letters of Thai, Lao, Khmer and Burmese are words by themselves by
//! that rule, so that n-grams of words are n-grams of characters there, and texts in several
//! languages need nothing special.
//!
//! What the crate `unicode-segmentation` says is the definition. Two kinds of text are cut without
//! it, to the same pieces: ASCII ([`ascii`]), and ideographs, Hiragana and the punctuation between
//! them. All else goes to the crate in *stretches* that begin and end at *cuts*: boundaries which
//! nothing before or after them can change. A cut stands between a character of the first kind and
//! one of the second:
//!
//! | before the cut | after the cut |
//! |---|---|
//! | white space of ASCII, an ideograph, punctuation of the kind that is cut here | any character that joins nothing to its left ([`is_fresh`]), not a blank |

use unicode_segmentation::UnicodeSegmentation;

use super::ascii;
use super::kinds::{Kind, is_fresh, kind};
use super::sink::Sink;

/// Gives `sink` the words of `text`, in order.
pub(crate) fn words<S: Sink>(text: &str, sink: &mut S) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let other = at + crate::ascii::prefix(&bytes[at..]);
        let Some(character) = text[other..].chars().next() else {
            ascii::words(&bytes[at..], at, sink);
            return;
        };
        let cut = cut_before(bytes, at, other, character);
        ascii::words(&bytes[at..cut], at, sink);
        at = if cut == other && kind(character) != Kind::Other {
            alone(text, other, sink)
        } else {
            let end = stretch_end(text, other);
            for (start, word) in text[cut..end].unicode_word_indices() {
                sink.word(word.as_bytes(), cut + start);
            }
            end
        };
    }
}

/// The words of `text` as the definition has them.
#[cfg(test)]
fn words_by_definition<S: Sink>(text: &str, sink: &mut S) {
    for (start, word) in text.unicode_word_indices() {
        sink.word(word.as_bytes(), start);
    }
}

/// The last cut at or before `other`, where the first character that is not ASCII stands; `at` is
/// one.
fn cut_before(bytes: &[u8], at: usize, other: usize, character: char) -> usize {
    if other == at || bytes[other - 1].is_ascii_whitespace() && is_fresh(character) {
        return other;
    }
    let cuts = |pair: &[u8]| pair[0].is_ascii_whitespace() && !pair[1].is_ascii_whitespace();
    bytes[at..other].windows(2).rposition(cuts).map_or(at, |blank| at + blank + 1)
}

/// The first cut after `from`.
fn stretch_end(text: &str, from: usize) -> usize {
    let mut cuts_after = false;
    for (index, character) in text[from..].char_indices() {
        if cuts_after && is_fresh(character) {
            return from + index;
        }
        cuts_after = character.is_ascii_whitespace() || kind(character) != Kind::Other;
    }
    text.len()
}

/// Goes through characters that are words by themselves, or none, from `from` on, where there is
/// one. Gives the cut at the end.
fn alone<S: Sink>(text: &str, from: usize, sink: &mut S) -> usize {
    let mut characters = text[from..].char_indices();
    let Some((_, mut character)) = characters.next() else { return from };
    let mut start = from;
    for (index, next) in characters {
        if !next.is_ascii() && kind(next) == Kind::Other && !is_fresh(next) {
            // It belongs to the character before it.
            return stretch(text, start, sink);
        }
        if kind(character) == Kind::Word {
            sink.word(&text.as_bytes()[start..from + index], start);
        }
        (character, start) = (next, from + index);
        if kind(next) == Kind::Other {
            return start;
        }
    }
    if kind(character) == Kind::Word {
        sink.word(&text.as_bytes()[start..], start);
    }
    text.len()
}

fn stretch<S: Sink>(text: &str, from: usize, sink: &mut S) -> usize {
    let end = stretch_end(text, from);
    for (start, word) in text[from..end].unicode_word_indices() {
        sink.word(word.as_bytes(), from + start);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collected(
        cut: impl Fn(&str, &mut Vec<(usize, String)>),
        text: &str,
    ) -> Vec<(usize, String)> {
        let mut words = Vec::new();
        cut(text, &mut words);
        words
    }

    impl Sink for Vec<(usize, String)> {
        fn word(&mut self, word: &[u8], start: usize) {
            self.push((start, String::from_utf8(word.to_vec()).unwrap()));
        }
    }

    fn agree(text: &str) {
        assert_eq!(collected(words, text), collected(words_by_definition, text), "{text:?}");
    }

    fn all_characters() -> impl Iterator<Item = char> {
        (0..=0x10_ffff).filter_map(char::from_u32)
    }

    #[test]
    fn every_character_is_cut_as_the_definition_says_next_to_every_kind() {
        for character in all_characters() {
            for around in ["a", " ", "1", "中", "。", "\r", "ä", "\u{200d}", "'", "か"] {
                agree(&format!("{around}{character}"));
                agree(&format!("{character}{around}"));
            }
        }
    }

    #[test]
    fn cuts_are_boundaries_whatever_follows() {
        let befores = [" ", "\t", "\n", "\x0c", "\r", "中", "か", "。", "…", "）"];
        for character in all_characters().filter(|character| is_fresh(*character)) {
            for before in befores {
                let text = format!("{before}{character}");
                assert_eq!(text.split_word_bounds().next(), Some(before), "{text:?}");
            }
        }
    }

    /// Text in which rules meet: joiners, marks, blanks, and letters of many scripts, close
    /// together.
    fn tricky() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            "[ -~]{1,80}",
            "[a-c0-2_.,:;' \n\r]{1,70}",
            "[中文字かな。、“”…]{1,6}",
            proptest::sample::select(vec![
                "\u{301}",
                "\u{93e}",
                "\u{200d}",
                "\u{ad}",
                "\u{fe0f}",
                "\u{e0100}",
                "é",
                "ß",
                "カ",
                "ー",
                "〱",
                "々",
                "한",
                "\u{1100}",
                "ไ",
                "ท",
                "\u{e34}",
                "א",
                "״",
                "\"",
                "'",
                "’",
                "·",
                "：",
                "．",
                "🇩",
                "🇪",
                "👩",
                "🏽",
                "\u{3000}",
                "\u{2028}",
                "\u{85}",
                "\u{a0}",
                "İ",
                "ǆ",
                "٣",
                "१",
                "\u{fffd}",
                "𠀀",
                "㐀",
                "𐐀",
                "ﬁ",
                "½",
                "²",
                " ",
                "  ",
                " \n",
            ])
            .prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_text_is_cut_as_the_definition_says(text in tricky()) {
            agree(&text);
        }

        #[test]
        fn ascii_is_cut_as_the_definition_says(text in "[a-dX-Z0-3_.,:;'\"! \t\r\n-]{0,300}") {
            agree(&text);
        }
    }
}
