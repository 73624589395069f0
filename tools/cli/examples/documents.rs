//! Writes a corpus with planted duplicates as JSON lines, compressed with zstd, to measure `corpus
//! dedup` by:
//!
//! ```sh
//! cargo run --release -p fpstore-cli --example documents 2000000 > corpus.jsonl.zst
//! fpstore corpus dedup corpus.jsonl.zst --id-column id --recipe onebit-256 -k 40 -o clean \
//!     --removed jsonl
//! grep -c '"id":"near' clean/removed.jsonl
//! ```
//!
//! Documents have some 2 KB of words of a skewed vocabulary. One in 20 is that of an earlier
//! document, and one in 20 has 1% to 4% of the words of an earlier one replaced; ids begin with
//! `equal`, `near` or `own`. The counts go to standard error.

use std::io::{self, Write};

/// Bytes of a document, and words of the vocabulary.
const BYTES: usize = 2000;
const WORDS: u64 = 200_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A word: the smaller its number, the more often.
    fn word(&mut self) -> u64 {
        let share = self.next() as f64 / u64::MAX as f64;
        ((WORDS as f64).powf(share) - 1.0) as u64
    }
}

/// A word of the vocabulary, in syllables.
fn spelt(word: u64, to: &mut String) {
    const SYLLABLES: [&str; 32] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su",
        "ta", "ve", "wi", "xo", "yu", "za", "ber", "con", "dis", "for", "gan", "hel", "ins",
        "ment", "tion", "ing", "est",
    ];
    let mut left = word + 1;
    while left > 0 {
        to.push_str(SYLLABLES[(left % 32) as usize]);
        left /= 32;
    }
}

/// The words of an own document.
fn words(number: u64) -> Vec<u64> {
    let mut random = Random(number << 20 | 7);
    let mut words = Vec::with_capacity(BYTES / 6);
    let mut bytes = 0;
    while bytes < BYTES {
        let word = random.word();
        bytes += 4 + 2 * (word > 31) as usize + 2 * (word > 1023) as usize;
        words.push(word);
    }
    words
}

fn main() -> io::Result<()> {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let count: u64 = count.ok_or_else(|| io::Error::other("give the number of documents"))?;
    let mut to = zstd::stream::write::Encoder::new(io::stdout().lock(), 3)?;
    let mut random = Random(1);
    let mut planted = [0u64; 3];
    let mut own: Vec<u64> = Vec::new();
    let mut text = String::new();
    for number in 0..count {
        let kind = match random.below(20) {
            0 if !own.is_empty() => 0,
            1 if !own.is_empty() => 1,
            _ => 2,
        };
        planted[kind] += 1;
        let words = match kind {
            2 => {
                own.push(number);
                words(number)
            }
            _ => {
                let mut words = words(own[random.below(own.len() as u64) as usize]);
                if kind == 1 {
                    let share = 1 + random.below(4);
                    for _ in 0..(words.len() as u64 * share / 100).max(1) {
                        let at = random.below(words.len() as u64) as usize;
                        words[at] = random.word();
                    }
                }
                words
            }
        };
        text.clear();
        for (at, word) in words.iter().enumerate() {
            text.push_str(
                ["", " ", ". "][usize::from(at > 0) + usize::from(at > 0 && at % 17 == 0)],
            );
            spelt(*word, &mut text);
        }
        let name = ["equal", "near", "own"][kind];
        writeln!(to, "{{\"id\":\"{name}-{number}\",\"source\":\"made\",\"text\":\"{text}\"}}")?;
    }
    to.finish()?.flush()?;
    eprintln!("{count} documents: {} own, {} equal, {} near", planted[2], planted[0], planted[1]);
    Ok(())
}
