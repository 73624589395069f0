//! Near duplicates, made of real texts.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::script;
use crate::hash::{Stream, token_hash};

/// A way in which copies of a text come to differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// So many percent of the words become other words of the text.
    Words {
        /// How many.
        percent: u32,
    },
    /// The sentences stand in another order.
    Sentences,
    /// So many percent of the sentences are missing at the start.
    Head {
        /// How many.
        percent: u32,
    },
    /// So many percent of the sentences are missing at the end.
    Tail {
        /// How many.
        percent: u32,
    },
    /// Navigation before the text, and a notice after it.
    Boilerplate,
    /// So many percent of the words have a mistake such as those of character recognition.
    Ocr {
        /// How many.
        percent: u32,
    },
    /// All in NFD.
    Decomposed,
    /// All in NFC.
    Composed,
    /// All in capitals.
    Capitals,
    /// Simplified characters become traditional ones.
    Traditional,
    /// Traditional characters become simplified ones.
    Simplified,
    /// Numbers up to twelve become words, or those of Chinese in Chinese.
    Numbers,
    /// `2024-05-01` becomes `1 May 2024`, or `2024年5月1日` in Chinese.
    Dates,
}

impl Change {
    /// Those that an evaluation uses, from small to large.
    pub const ALL: &[Change] = &[
        Change::Words { percent: 1 },
        Change::Words { percent: 2 },
        Change::Words { percent: 4 },
        Change::Words { percent: 8 },
        Change::Words { percent: 15 },
        Change::Words { percent: 30 },
        Change::Sentences,
        Change::Head { percent: 5 },
        Change::Head { percent: 20 },
        Change::Tail { percent: 5 },
        Change::Tail { percent: 20 },
        Change::Tail { percent: 50 },
        Change::Boilerplate,
        Change::Ocr { percent: 2 },
        Change::Ocr { percent: 8 },
        Change::Decomposed,
        Change::Composed,
        Change::Capitals,
        Change::Traditional,
        Change::Simplified,
        Change::Numbers,
        Change::Dates,
    ];

    /// A changed copy of `text`; always the same one for a seed.
    #[must_use]
    pub fn apply(&self, text: &str, seed: u64) -> String {
        let mut random = Random(Stream::new(token_hash(text.as_bytes(), seed)));
        match *self {
            Change::Words { percent } => words(text, percent, &mut random),
            Change::Sentences => {
                let mut sentences: Vec<&str> = text.split_sentence_bounds().collect();
                for end in (1..sentences.len()).rev() {
                    sentences.swap(end, random.below(end + 1));
                }
                sentences.concat()
            }
            Change::Head { percent } => {
                let sentences: Vec<&str> = text.split_sentence_bounds().collect();
                sentences[share(sentences.len(), percent)..].concat()
            }
            Change::Tail { percent } => {
                let sentences: Vec<&str> = text.split_sentence_bounds().collect();
                sentences[..sentences.len() - share(sentences.len(), percent)].concat()
            }
            Change::Boilerplate if script::is_chinese(text) => {
                format!(
                    "首页 > 新闻 > 正文\n字号：大 中 小　打印本页\n\n{text}\n\n版权所有，未经许可不得转载。责任编辑：佚名\n上一篇　下一篇\n"
                )
            }
            Change::Boilerplate => {
                format!(
                    "Home | News | About us | Contact\nSkip to content\n\n{text}\n\nAll rights reserved. Terms of use. Share this page with your friends.\n"
                )
            }
            Change::Ocr { percent } => ocr(text, percent, &mut random),
            Change::Decomposed => text.nfd().collect(),
            Change::Composed => text.nfc().collect(),
            Change::Capitals => text.to_uppercase(),
            Change::Traditional => script::traditional(text),
            Change::Simplified => script::simplified(text),
            Change::Numbers => numbers(text),
            Change::Dates => script::dates(text),
        }
    }
}

struct Random(Stream);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next()) * end as u128) >> 64) as usize
    }
}

fn share(count: usize, percent: u32) -> usize {
    (count * percent as usize).div_ceil(100).min(count)
}

fn is_word(piece: &str) -> bool {
    piece.chars().any(char::is_alphanumeric)
}

fn words(text: &str, percent: u32, random: &mut Random) -> String {
    let vocabulary: Vec<&str> = text.unicode_words().collect();
    let pieces = text.split_word_bounds().map(|piece| {
        match is_word(piece) && random.below(100) < percent as usize {
            true => vocabulary[random.below(vocabulary.len())],
            false => piece,
        }
    });
    pieces.collect()
}

fn ocr(text: &str, percent: u32, random: &mut Random) -> String {
    const CONFUSED: &[(&str, &str)] = &[
        ("rn", "m"),
        ("m", "rn"),
        ("cl", "d"),
        ("l", "1"),
        ("O", "0"),
        ("o", "c"),
        ("e", "c"),
        ("h", "b"),
        ("i", "j"),
        ("u", "v"),
        ("t", "f"),
        ("a", "s"),
        ("已", "己"),
        ("未", "末"),
        ("土", "士"),
        ("日", "曰"),
        ("人", "入"),
        ("大", "太"),
        ("的", "旳"),
        ("白", "自"),
        ("天", "夫"),
        ("口", "囗"),
    ];
    let wrong = |word: &str, random: &mut Random| {
        let possible: Vec<_> = CONFUSED.iter().filter(|(right, _)| word.contains(right)).collect();
        match possible.len() {
            // A character that is lost.
            0 => word.chars().skip(1).collect(),
            count => {
                let (right, wrong) = possible[random.below(count)];
                word.replacen(right, wrong, 1)
            }
        }
    };
    let pieces = text.split_word_bounds().map(|piece| {
        match is_word(piece) && random.below(100) < percent as usize {
            true => wrong(piece, random),
            false => piece.to_owned(),
        }
    });
    pieces.collect()
}

fn numbers(text: &str) -> String {
    let (english, chinese) = (script::ENGLISH_NUMBERS, script::CHINESE_NUMBERS);
    let names = if script::is_chinese(text) { chinese } else { english };
    let pieces = text.split_word_bounds().map(|piece| match piece.parse::<usize>() {
        Ok(number) if number < names.len() => names[number],
        _ => piece,
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_what_their_names_say_and_always_the_same() {
        let text = "On 2024-05-01 the 3 boats came in. Nobody knew their names. They left the modern harbour at dawn!";
        for change in Change::ALL {
            assert_eq!(change.apply(text, 1), change.apply(text, 1), "{change:?}");
            assert!(change.apply("", 1).len() < 400);
            assert!(!change.apply("中\n", 1).contains("boat"));
        }
        assert_eq!(Change::Numbers.apply(text, 1).split(' ').nth(3), Some("three"));
        assert!(Change::Dates.apply(text, 1).starts_with("On 1 May 2024 the"));
        assert_eq!(
            Change::Dates.apply("于2024-05-01，三艘船进港。", 1),
            "于2024年5月1日，三艘船进港。"
        );
        assert_eq!(
            Change::Traditional.apply("三艘船进港，没有人认识它们。", 1),
            "三艘船進港，沒有人認識它們。"
        );
        assert_eq!(
            Change::Simplified.apply("三艘船進港，沒有人認識它們。", 1),
            "三艘船进港，没有人认识它们。"
        );
        assert_eq!(
            Change::Tail { percent: 50 }.apply(text, 1),
            "On 2024-05-01 the 3 boats came in. "
        );
        assert_eq!(
            Change::Head { percent: 50 }.apply(text, 1),
            "They left the modern harbour at dawn!"
        );
        let replaced = Change::Words { percent: 30 }.apply(&text.repeat(20), 1);
        let same = replaced
            .unicode_words()
            .zip(text.repeat(20).unicode_words())
            .filter(|(a, b)| a == b)
            .count();
        assert!((200..340).contains(&same), "{same} of {}", replaced.unicode_words().count());
    }
}
