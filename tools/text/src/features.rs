//! Features: n-grams of tokens.
//!
//! Each token is hashed, and a feature is the polynomial over the hashes of its n tokens
//! ([`combine`](crate::hash::combine)). Going on by one token takes two multiplications, whatever n
//! is.

use crate::hash::{BASE, char_hash, token_hash};
use crate::recipe::{Cut, Features, Keep, Tokens};
use crate::text::is_letter;
use crate::words::{self, Sink};

/// The last n tokens, as one number.
pub(crate) struct Window<F> {
    // Hashes of the last n tokens; the oldest stands at `oldest`.
    ring: [u64; Window::<()>::LONGEST],
    n: usize,
    oldest: usize,
    // How many tokens are missing until there are n.
    missing: usize,
    sum: u64,
    // What a token contributes when it leaves: BASE^n.
    leaving: u64,
    give: F,
}

impl Window<()> {
    const LONGEST: usize = 64;
}

impl<F: FnMut(u64)> Window<F> {
    /// Windows of `n` tokens, each given to `give`.
    pub(crate) fn new(n: u32, give: F) -> Window<F> {
        let n = (n as usize).clamp(1, Window::LONGEST);
        let leaving = (0..n).fold(1u64, |power, _| power.wrapping_mul(BASE));
        Window { ring: [0; Window::LONGEST], n, oldest: 0, missing: n, sum: 0, leaving, give }
    }

    /// Goes on by a token.
    #[inline]
    pub(crate) fn push(&mut self, token: u64) {
        let slot = &mut self.ring[self.oldest % Window::LONGEST];
        let left = std::mem::replace(slot, token);
        self.oldest = if self.oldest + 1 == self.n { 0 } else { self.oldest + 1 };
        self.sum = self
            .sum
            .wrapping_mul(BASE)
            .wrapping_add(token.wrapping_sub(left.wrapping_mul(self.leaving)));
        if self.missing > 1 {
            self.missing -= 1;
        } else {
            (self.give)(self.sum);
        }
    }
}

struct Hashed<'a, F> {
    window: &'a mut Window<F>,
    seed: u64,
}

impl<F: FnMut(u64)> Sink for Hashed<'_, F> {
    #[inline]
    fn word(&mut self, word: &[u8], _: usize) {
        self.window.push(token_hash(word, self.seed));
    }
}

/// Gives `give` each feature of `text`, in order.
pub(crate) fn features(text: &str, features: Features, seed: u64, give: impl FnMut(u64)) {
    let mut window = Window::new(features.n, give);
    match features.tokens {
        Tokens::Words(cut) => cut_words(text, cut, &mut Hashed { window: &mut window, seed }),
        Tokens::Chars(Keep::All) => {
            text.chars().for_each(|character| window.push(char_hash(character, seed)))
        }
        Tokens::Chars(Keep::Letters) => {
            let mut rest = text;
            while !rest.is_empty() {
                let (plain, other) = rest.split_at(crate::ascii::prefix(rest.as_bytes()));
                words::ascii::letters(plain.as_bytes(), |letter| {
                    window.push(token_hash(&[letter], seed))
                });
                let end = other.find(|character: char| character.is_ascii()).unwrap_or(other.len());
                let letters = other[..end].chars().filter(|character| is_letter(*character));
                letters.for_each(|character| window.push(char_hash(character, seed)));
                rest = &other[end..];
            }
        }
    }
}

/// Gives `sink` the words of `text`.
pub(crate) fn cut_words<S: Sink>(text: &str, cut: Cut, sink: &mut S) {
    match cut {
        Cut::Uax29 => words::words(text, sink),
        #[cfg(feature = "jieba")]
        Cut::Jieba => words::jieba::words_by_dictionary(text, sink),
        // Refused where a fingerprinter is made.
        #[cfg(not(feature = "jieba"))]
        Cut::Jieba => words::words(text, sink),
    }
}

/// Gives `give` where each token of `text` stands and its hash.
pub(crate) fn tokens(
    text: &str,
    tokens: Tokens,
    seed: u64,
    mut give: impl FnMut(std::ops::Range<usize>, u64),
) {
    match tokens {
        Tokens::Words(cut) => cut_words(text, cut, &mut |word: &[u8], start: usize| {
            give(start..start + word.len(), token_hash(word, seed));
        }),
        Tokens::Chars(keep) => {
            for (start, character) in text.char_indices() {
                if keep == Keep::All || is_letter(character) {
                    give(start..start + character.len_utf8(), char_hash(character, seed));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::combine;

    #[test]
    fn windows_are_polynomials_over_their_tokens() {
        let tokens: Vec<u64> = (1..200).map(|token| crate::hash::word(token, 0)).collect();
        for n in [1, 2, 3, 5, 63, 64] {
            let mut given = Vec::new();
            let mut window = Window::new(n, |feature| given.push(feature));
            tokens.iter().for_each(|token| window.push(*token));
            let expected: Vec<u64> =
                tokens.windows(n as usize).map(|tokens| combine(tokens.iter().copied())).collect();
            assert_eq!(given, expected, "{n}");
        }
    }
}
