//! Every method again, as slow and plain as can be, from the page on the grammar: whole strings,
//! whole lists, one counter for each bit. It reads canonical lines by itself and takes nothing from
//! the crate.

use std::collections::{BTreeMap, BTreeSet};

use caseless::Caseless;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed, xxh3_128};

/// The lines of `DerivedCoreProperties.txt` for Default_Ignorable_Code_Point, Unicode 16.0.0.
const IGNORABLE: &[std::ops::RangeInclusive<u32>] = &[
    0xAD..=0xAD,
    0x34F..=0x34F,
    0x61C..=0x61C,
    0x115F..=0x1160,
    0x17B4..=0x17B5,
    0x180B..=0x180D,
    0x180E..=0x180E,
    0x180F..=0x180F,
    0x200B..=0x200F,
    0x202A..=0x202E,
    0x2060..=0x2064,
    0x2065..=0x2065,
    0x2066..=0x206F,
    0x3164..=0x3164,
    0xFE00..=0xFE0F,
    0xFEFF..=0xFEFF,
    0xFFA0..=0xFFA0,
    0xFFF0..=0xFFF8,
    0x1BCA0..=0x1BCA3,
    0x1D173..=0x1D17A,
    0xE0000..=0xE0FFF,
];

/// What a document gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    TooFew(u128),
    Bits(String),
    Slots(Vec<u64>),
    Set(Vec<u64>),
}

/// In how many documents each feature is.
#[derive(Clone, Debug, Default)]
pub struct Frequencies {
    pub documents: u64,
    pub counts: BTreeMap<u64, u64>,
}

/// A canonical line, its words by their keys.
pub struct Line<'a> {
    method: &'a str,
    words: BTreeMap<&'a str, &'a str>,
    frequencies: Frequencies,
}

impl<'a> Line<'a> {
    pub fn new(line: &'a str, frequencies: Frequencies) -> Line<'a> {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("text/1"));
        let method = words.next().unwrap();
        Line {
            method,
            words: words.map(|word| word.split_once('=').unwrap()).collect(),
            frequencies,
        }
    }

    fn number(&self, key: &str) -> u64 {
        self.words[key].parse().unwrap()
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.words.get(key) == Some(&value)
    }

    /// What `document` gets.
    pub fn answer(&self, document: &[u8]) -> Answer {
        let text = self.text(document);
        let whole = if std::str::from_utf8(document).is_ok() { text.as_bytes() } else { document };
        self.signature(&text, whole).unwrap_or_else(|| Answer::TooFew(xxh3_128(whole)))
    }

    fn signature(&self, text: &str, whole: &[u8]) -> Option<Answer> {
        let few = self.words.get("few").map_or(1, |few| few.parse().unwrap());
        match self.method {
            "exact" => return (!text.is_empty()).then(|| self.exact(whole)),
            "python-simhash" => return python(text),
            "longest-sentences" => {
                return Some(self.sentences(text))
                    .filter(|values| values.len() >= few)
                    .map(Answer::Set);
            }
            "spotsigs" => {
                return Some(self.spots(text))
                    .filter(|values| values.len() >= few)
                    .map(Answer::Set);
            }
            _ => {}
        }
        let features = self.features(text);
        let different: BTreeSet<u64> = features.iter().copied().collect();
        if self.method == "imatch" {
            return self.imatch(different, few, xxh3_128(whole) as u64);
        }
        (different.len() >= few).then(|| match self.method {
            "simhash" | "projection" => self.hyperplanes(&features),
            "onebit" => bits(
                self.slots(&different, self.number("bits")).into_iter().map(|slot| slot & 1 == 1),
            ),
            "minhash" => {
                let kept = u64::MAX >> (64 - self.number("keep-bits"));
                Answer::Slots(
                    self.slots(&different, self.number("slots"))
                        .iter()
                        .map(|slot| slot & kept)
                        .collect(),
                )
            }
            "bands" | "supershingles" => {
                let (bands, rows) = (self.number("bands"), self.number("rows"));
                let slots = self.slots(&different, bands * rows);
                let key = |band: u64| {
                    word(
                        combine(&slots[(band * rows) as usize..((band + 1) * rows) as usize]),
                        band,
                    )
                };
                Answer::Slots((0..bands).map(key).collect())
            }
            method => panic!("{method}"),
        })
    }

    pub fn text(&self, document: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(document).into_owned();
        if self.method == "python-simhash" {
            return text;
        }
        if self.is("markup", "html") {
            text = without_markup(&text);
        }
        if self.is("norm", "nfkc-visible") {
            let is_seen = |one: char| !IGNORABLE.iter().any(|range| range.contains(&(one as u32)));
            text.retain(is_seen);
        }
        let normal = |text: String| match self.words["norm"] {
            "none" => text,
            "nfc" => text.nfc().collect(),
            "nfkc" | "nfkc-visible" => text.nfkc().collect(),
            norm => panic!("{norm}"),
        };
        text = normal(text);
        if self.is("case", "fold") {
            text = normal(text.chars().default_case_fold().collect());
        }
        match self.words["space"] {
            "keep" => text,
            "collapse" => text.split_whitespace().collect::<Vec<_>>().join(" "),
            "remove" => text.split_whitespace().collect(),
            space => panic!("{space}"),
        }
    }

    fn hash(&self, token: &str) -> u64 {
        xxh3_64_with_seed(token.as_bytes(), self.number("seed"))
    }

    fn cut(&self, text: &str) -> Vec<String> {
        if self.words.get("cut").is_some_and(|cut| cut.contains("jieba")) {
            return by_dictionary(text);
        }
        text.unicode_words().map(str::to_owned).collect()
    }

    pub fn features(&self, text: &str) -> Vec<u64> {
        let tokens: Vec<String> = match self.words["features"] {
            "words" => self.cut(text),
            "chars" => {
                use GeneralCategoryGroup::{Letter, Mark, Number};
                let letter =
                    |one: &char| matches!(one.general_category_group(), Letter | Mark | Number);
                text.chars()
                    .filter(|one| self.is("keep", "all") || letter(one))
                    .map(String::from)
                    .collect()
            }
            features => panic!("{features}"),
        };
        let hashes: Vec<u64> = tokens.iter().map(|token| self.hash(token)).collect();
        hashes.windows(self.number("n") as usize).map(combine).collect()
    }

    fn idf(&self, feature: u64) -> u64 {
        let count = self.frequencies.counts.get(&feature).copied().unwrap_or(0);
        log2(self.frequencies.documents + 1).saturating_sub(log2(count + 1))
    }

    fn hyperplanes(&self, features: &[u64]) -> Answer {
        let mut counts = BTreeMap::new();
        features.iter().for_each(|feature| *counts.entry(*feature).or_insert(0u64) += 1);
        let weights: Vec<(u64, i128)> = counts
            .into_iter()
            .map(|(feature, count)| {
                let weight = match self.words["weight"] {
                    "presence" => 1,
                    "tf" => count,
                    "logtf" => log2(count + 1),
                    "tfidf" => log2(count + 1) * self.idf(feature),
                    weight => panic!("{weight}"),
                };
                (feature, i128::from(weight))
            })
            .collect();
        let side = |bit: u64| {
            let coordinate = |feature: u64| match self.method {
                "simhash" => i128::from(word(feature, bit / 64) >> (bit % 64) & 1) * 2 - 1,
                _ => i128::from(word(feature, bit).count_ones()) - 32,
            };
            weights.iter().map(|(feature, weight)| weight * coordinate(*feature)).sum::<i128>()
        };
        // More than half of the weight, the half rounded down, is what a positive sum says.
        bits((0..self.number("bits")).map(|bit| side(bit) > 0))
    }

    fn slots(&self, features: &BTreeSet<u64>, count: u64) -> Vec<u64> {
        let place = |word: u64| (u128::from(word) * u128::from(count) / (1 << 64)) as u64;
        let dealt = |round: u64, slot: u64| {
            let mine = |word: &u64| {
                if round < count { place(*word) == slot } else { round - count == slot }
            };
            features.iter().map(|feature| word(*feature, round)).filter(mine).min()
        };
        match self.words["scheme"] {
            "independent" => (0..count)
                .map(|slot| features.iter().map(|feature| word(*feature, slot)).min().unwrap())
                .collect(),
            "rounds" => (0..count)
                .map(|slot| (0..2 * count).find_map(|round| dealt(round, slot)).unwrap())
                .collect(),
            "one-permutation" => {
                let first: Vec<Option<u64>> = (0..count).map(|slot| dealt(0, slot)).collect();
                let copied = |slot: u64| {
                    (1..).find_map(|step| first[place(word(slot, step)) as usize]).unwrap()
                };
                (0..count)
                    .map(|slot| first[slot as usize].unwrap_or_else(|| copied(slot)))
                    .collect()
            }
            scheme => panic!("{scheme}"),
        }
    }

    fn imatch(&self, features: BTreeSet<u64>, few: usize, exact: u64) -> Option<Answer> {
        let band = self.number("low")..=self.number("high");
        let known: Vec<u64> =
            features.into_iter().filter(|feature| band.contains(&self.idf(*feature))).collect();
        let key = |lexicon: u64| {
            let dropped = |one: u64| {
                lexicon > 0 && word(one, lexicon) >> 32 < self.number("drop") * (1 << 32) / 100
            };
            let kept: Vec<u64> = known.iter().copied().filter(|one| !dropped(*one)).collect();
            word(if kept.is_empty() { exact } else { combine(&kept) }, lexicon)
        };
        (known.len() >= few).then(|| Answer::Slots((0..self.number("lexicons")).map(key).collect()))
    }

    fn folded(&self, text: &str) -> String {
        let folded = text.chars().default_case_fold();
        match self.words["norm"] {
            "none" => folded.collect(),
            "nfc" => folded.nfc().collect(),
            _ => folded.nfkc().collect(),
        }
    }

    fn sentences(&self, text: &str) -> Vec<u64> {
        let mut found = BTreeSet::new();
        for sentence in text.split_sentence_bounds() {
            let folded = match self.is("case", "fold-sentences") {
                true => self.folded(sentence),
                false => sentence.to_owned(),
            };
            let hashes: Vec<u64> = self.cut(&folded).iter().map(|word| self.hash(word)).collect();
            if !hashes.is_empty() {
                found.insert((std::cmp::Reverse(hashes.len()), word(combine(&hashes), 0)));
            }
        }
        let longest = found.into_iter().take(self.number("sentences") as usize);
        longest.map(|(_, value)| value).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn spots(&self, text: &str) -> Vec<u64> {
        let english = "a an the is was are were be been has have had do does did can could will would that this there it he she they said to of \
                       in on for with as by at from and or not";
        let chinese = "的 了 是 在 和 有 不 也 就 都 而 及 与 或 被 把 这 那 之 以 為 为";
        let list = match self.words["antecedents"] {
            "en" => english.to_owned(),
            "zh" => chinese.to_owned(),
            _ => format!("{english} {chinese}"),
        };
        let antecedents: BTreeSet<&str> = list.split_whitespace().collect();
        let words = self.cut(text);
        let spot = |start: usize| {
            let mut at = start;
            let mut chain = vec![self.hash(&words[start])];
            for _ in 0..self.number("chain") {
                at += self.number("distance") as usize;
                while antecedents.contains(words.get(at)?.as_str()) {
                    at += 1;
                }
                chain.push(self.hash(&words[at]));
            }
            Some(word(combine(&chain), 0))
        };
        let starts = (0..words.len()).filter(|start| antecedents.contains(words[*start].as_str()));
        starts.filter_map(spot).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn exact(&self, bytes: &[u8]) -> Answer {
        let digits = self.number("bits") as usize / 4;
        Answer::Bits(match (self.words["hash"], digits) {
            ("xxh3", 16) => format!("{:016x}", xxh3_64(bytes)),
            ("xxh3", _) => format!("{:032x}", xxh3_128(bytes)),
            _ => Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
                [..digits]
                .to_owned(),
        })
    }
}

/// A number of which the first bit is the least significant.
fn bits(bits: impl Iterator<Item = bool>) -> Answer {
    let bits: Vec<bool> = bits.collect();
    let digit = |four: &[bool]| four.iter().rev().fold(0, |digit, bit| 2 * digit + u32::from(*bit));
    Answer::Bits(
        bits.chunks(4).rev().map(|four| char::from_digit(digit(four), 16).unwrap()).collect(),
    )
}

fn combine(values: &[u64]) -> u64 {
    let base = 0xd6e8_feb8_6659_fd93u128;
    values.iter().fold(0u128, |sum, value| (sum * base + u128::from(*value)) % (1 << 64)) as u64
}

fn word(feature: u64, index: u64) -> u64 {
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % (1 << 64)) as u64;
    let mut z = feature;
    for _ in 0..=index % 7 {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    z = z.wrapping_add(times(index / 7 * 7, 0x9e37_79b9_7f4a_7c15));
    z = times(z ^ (z >> 30), 0xbf58_476d_1ce4_e5b9);
    z = times(z ^ (z >> 27), 0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// floor(256 log2 n). Only powers of two are near a 256th, and exact.
fn log2(n: u64) -> u64 {
    ((n as f64).log2() * 256.0).floor() as u64
}

fn without_markup(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let from = |at: usize, what: &str| {
        let what: Vec<char> = what.chars().collect();
        (at..characters.len())
            .find(|start| characters[*start..].starts_with(&what))
            .map(|start| start + what.len())
    };
    let lower = |at: usize, count: usize| {
        characters[at..].iter().take(count).collect::<String>().to_ascii_lowercase()
    };
    let mut out = String::new();
    let mut at = 0;
    while at < characters.len() {
        let next = characters.get(at + 1).copied().unwrap_or(' ');
        let tag = characters[at] == '<' && (next.is_ascii_alphabetic() || "/!?".contains(next));
        let end = match tag {
            true if lower(at, 4) == "<!--" => from(at + 4, "-->"),
            true => from(at + 1, ">"),
            false => None,
        };
        if let Some(end) = end {
            out.push(' ');
            let raw = ["script", "style"].into_iter().find(|name| {
                lower(at + 1, name.len()) == *name
                    && !characters[at + 1 + name.len()].is_ascii_alphanumeric()
            });
            at = match raw {
                None => end,
                Some(name) => (end..characters.len())
                    .find(|at| lower(*at, name.len() + 2) == format!("</{name}"))
                    .unwrap_or(characters.len()),
            };
            continue;
        }
        let rest: String = characters[at..].iter().take(12).collect();
        if let Some((character, count)) = reference(&rest) {
            out.push(character);
            at += count;
        } else {
            out.push(characters[at]);
            at += 1;
        }
    }
    out
}

fn reference(text: &str) -> Option<(char, usize)> {
    let inner = text.strip_prefix('&')?.split_once(';')?.0;
    let count = inner.chars().count() + 2;
    let named =
        [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", '\u{a0}')];
    if let Some((_, character)) = named.into_iter().find(|(name, _)| *name == inner) {
        return Some((character, count));
    }
    let number = inner.strip_prefix('#')?;
    let (digits, radix) =
        number.strip_prefix(['x', 'X']).map_or((number, 10), |digits| (digits, 16));
    let right =
        (1..=8).contains(&digits.len()) && digits.chars().all(|digit| digit.is_digit(radix));
    let value = right.then(|| u32::from_str_radix(digits, radix).unwrap())?;
    Some((char::from_u32(value).unwrap_or('\u{fffd}'), count))
}

fn python(text: &str) -> Option<Answer> {
    use GeneralCategoryGroup::{Letter, Number};
    let letter =
        |one: &char| *one == '_' || matches!(one.general_category_group(), Letter | Number);
    let letters: Vec<char> = text.to_lowercase().chars().filter(letter).collect();
    if letters.is_empty() {
        return None;
    }
    let grams: Vec<String> = match letters.len() {
        0..4 => vec![letters.iter().collect()],
        _ => letters.windows(4).map(|four| four.iter().collect()).collect(),
    };
    let hashes: Vec<u128> = grams
        .iter()
        .map(|gram| u128::from_be_bytes(md5::Md5::digest(gram.as_bytes()).into()))
        .collect();
    Some(bits(
        (0..64).map(|bit| {
            2 * hashes.iter().filter(|hash| **hash >> bit & 1 == 1).count() > hashes.len()
        }),
    ))
}

#[cfg(not(feature = "jieba"))]
fn by_dictionary(_: &str) -> Vec<String> {
    panic!("built without")
}

#[cfg(feature = "jieba")]
fn by_dictionary(text: &str) -> Vec<String> {
    static JIEBA: std::sync::OnceLock<jieba_rs::Jieba> = std::sync::OnceLock::new();
    let jieba = JIEBA.get_or_init(jieba_rs::Jieba::new);
    let ideograph = |word: &str| {
        let mut characters = word.chars();
        let first = characters.next().unwrap();
        let range = matches!(first, '\u{3400}'..='\u{4db5}' | '\u{4e00}'..='\u{9fcb}' | '\u{20000}'..='\u{2a6d6}');
        range && characters.next().is_none()
    };
    let mut words: Vec<String> = Vec::new();
    let mut run = (0, String::new());
    let flush = |run: &mut (usize, String), words: &mut Vec<String>| {
        let cut = jieba.cut(&run.1, false);
        words.extend(cut.into_iter().map(|piece| AsRef::<str>::as_ref(&piece).to_owned()));
        run.1.clear();
    };
    for (start, word) in text.unicode_word_indices() {
        if !ideograph(word) || start != run.0 {
            flush(&mut run, &mut words);
        }
        if ideograph(word) {
            run = (start + word.len(), run.1 + word);
        } else {
            words.push(word.to_owned());
        }
    }
    flush(&mut run, &mut words);
    words
}
